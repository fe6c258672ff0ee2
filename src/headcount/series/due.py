"""What is to be done for each window of a series: from the calendar, the ledger and files' names.

Nothing here looks at a row. A window whose day has none is due as any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from pathlib import Path

from headcount.errors import LedgerError
from headcount.series.calendar import Window, over_by, windows
from headcount.series.file import Repeated, SeriesFile
from headcount.series.files import entry_in
from headcount.series.paid import Named, Paid, key_of

NOTICE = timedelta(days=14)
"""So long before rows are deleted it is said that a window has not been released."""


class State(Enum):
    """What a window waits for."""

    DONE = auto()
    WRITE = auto()
    """It was released, and its file is not there."""
    DRAW = auto()
    WAIT = auto()
    """The sign that its rows are complete is not there."""
    LOST = auto()
    """Its rows may have been deleted by now."""


@dataclass(frozen=True, slots=True)
class Due:
    """A window of a release, and what is to be done for it.

    paid:      the charge for it, if there is one
    lost_at:   when the first of its rows are deleted
    """

    release: Repeated
    window: Window
    state: State
    out: Path
    paid: Paid | None = None
    revision: int = 1
    lost_at: datetime | None = None

    @property
    def key(self) -> str:
        """What it is charged under, and goes by in messages."""
        return key_of(self.release.name, self.window.first, self.revision)

    @property
    def is_released(self) -> bool:
        """Whether its rows are stored."""
        return self.paid is not None and self.paid.result is not None

    def is_near(self, now: datetime) -> bool:
        """Whether its rows will be deleted soon."""
        return self.lost_at is not None and self.lost_at - now <= NOTICE


def due(
    file: SeriesFile, paid: Mapping[Named, list[Paid]], now: datetime, revise: Named | None = None
) -> list[Due]:
    """Every window of every release that is over, oldest first, and then as the file has them."""
    found = [one for release in file.releases for one in _of(file, release, paid, now, revise)]
    return sorted(found, key=lambda one: one.window.last)


def _of(
    file: SeriesFile,
    release: Repeated,
    paid: Mapping[Named, list[Paid]],
    now: datetime,
    revise: Named | None,
) -> Iterator[Due]:
    for window in over_by(release.every, release.start, now, file.lag, file.clock):
        named = (release.name, window.first)
        charges = paid.get(named, [])
        # The newest is what a window goes by, also where its rows have yet to be drawn.
        last = charges[-1] if charges else None
        revision, is_new = last.revision if last else 1, False
        out = file.out_of(release.name, window.first)
        if revise == named and last is not None:
            # What was begun before and did not reach its file is finished, not charged again.
            is_new = last.result is not None and entry_in(out) == last.entry
            revision += is_new
        one = Due(
            *(release, window, State.DRAW, out, None if is_new else last, revision),
            lost_at=_lost_at(file, window),
        )
        yield _with_state(file, one, charges, now)


def _with_state(file: SeriesFile, one: Due, charges: list[Paid], now: datetime) -> Due:
    if one.is_released:
        assert one.paid is not None  # noqa: S101  it is released
        is_there = one.out.exists()
        if is_there and one.revision > 1:
            is_there = entry_in(one.out) == one.paid.entry
        return replace(one, state=State.DONE if is_there else State.WRITE)
    if one.out.exists() and not any(paid.result is not None for paid in charges):
        raise LedgerError(
            f"{one.out.name!r} of {one.key} is there, and the ledger has no rows for that window. "
            "Another ledger has, or it is no file of this series. Nothing was charged. Name the "
            "ledger that paid (ledger: in the file), or move the file away."
        )
    if one.lost_at is not None and one.lost_at <= now:
        return replace(one, state=State.LOST)
    return one if _is_ready(file, one.window) else replace(one, state=State.WAIT)


def _lost_at(file: SeriesFile, window: Window) -> datetime | None:
    """When the rows of its first unit are deleted: what is left is no whole window."""
    if file.keep is None:
        return None
    unit = next(windows(file.window.to, window.first, window.last))
    return unit.over(file.clock) + file.keep


def _is_ready(file: SeriesFile, window: Window) -> bool:
    if file.ready is None:
        return True
    units = windows(file.window.to, window.first, window.last)
    return all((file.folder / file.ready.format(window=one.first)).exists() for one in units)
