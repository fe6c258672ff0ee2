"""What a run of a series did, and what it could not do: in words and as an exit code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from headcount.errors import HeadcountError, OutputError
from headcount.series.due import Due

LOST, WAITING, NOT_WRITTEN = 6, 7, 1
ORDER = (LOST, 4, 3, 2, 5, NOT_WRITTEN, WAITING)
"""Exit codes, the most pressing first: one that only waits hides nothing else."""


@dataclass
class Ran:
    """What a run did. Print it; ``exit_code`` is what a scheduler looks at."""

    released: list[str] = field(default_factory=list)
    """Windows that were drawn now, by release and first day."""
    written: list[str] = field(default_factory=list)
    """Windows that had been released, of which the files were not there."""
    waiting: list[str] = field(default_factory=list)
    """Windows whose sign is not there: nothing was charged."""
    failed: dict[str, HeadcountError] = field(default_factory=dict)
    """Windows that could not be released or written, and why."""
    lost: list[str] = field(default_factory=list)
    """Windows whose rows may be deleted by now: they are not released any more."""
    in_danger: dict[str, datetime] = field(default_factory=dict)
    """Windows that are not released, and whose rows will be deleted within 14 days."""
    warnings: list[str] = field(default_factory=list)
    """What is not as expected of released rows."""
    manifest: str | None = None
    """The list of all that was released, where this run wrote it."""

    @property
    def exit_code(self) -> int:
        """0 where all that is due was released; else what is most pressing."""
        found = {_code(error) for error in self.failed.values()}
        found |= {LOST} if self.lost or self.in_danger else set()
        found |= {WAITING} if self.waiting else set()
        return next((code for code in ORDER if code in found), 1 if found else 0)

    def __str__(self) -> str:
        return "\n".join(self._said())

    def _said(self) -> Iterator[str]:
        yield from (f"released {key}" for key in self.released)
        yield from (f"written again {key}" for key in self.written)
        for release, days in _by_release(self.waiting):
            yield f"not ready {release}/{_from_to(days)}: nothing was charged"
        for text in dict.fromkeys(map(str, self.failed.values())):
            keys = [key for key, error in self.failed.items() if str(error) == text]
            yield f"failed {_from_to(keys)}: {text}"
        for key, when in self.in_danger.items():
            yield f"in danger {key}: not released, and its rows are kept until {when:%Y-%m-%d}"
        for release, days in _by_release(self.lost):
            yield (
                f"lost {release}/{_from_to(days)}: not released while the rows were kept, and not "
                "any more. Let the release start: later, or list such days under lost: in the file"
            )
        yield from (f"warning {text}" for text in self.warnings)
        if not any((self.released, self.written, self.waiting, self.failed, self.lost)):
            yield "nothing is due"


def look_at(ran: Ran, one: Due, now: datetime) -> None:
    """Note of a window that is not released when its rows will be gone."""
    is_open = not one.is_released and one.key not in ran.released
    if is_open and one.lost_at is not None and one.is_near(now):
        ran.in_danger[one.key] = one.lost_at


def _by_release(keys: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Names of releases, each with the windows that are listed for it."""
    for release in dict.fromkeys(key.split("/")[0] for key in keys):
        yield release, [key.split("/")[1] for key in keys if key.split("/")[0] == release]


def _from_to(names: list[str]) -> str:
    """The first of several, and how many follow."""
    others = names[1:]
    return names[0] + (f" and {len(others):,} more, up to {others[-1]}" if others else "")


def _code(error: HeadcountError) -> int:
    return NOT_WRITTEN if isinstance(error, OutputError) else error.exit_code
