"""Ctrl-C while a release runs: what was charged, and how to have what was paid for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

from headcount.errors import HeadcountError

if TYPE_CHECKING:
    from headcount.releases.plan import Plan

UNKNOWN = "Whether something was charged is in the ledger: headcount ledger show."


class StoppedError(HeadcountError):
    """A command was stopped by whoever gave it."""

    exit_code: ClassVar[int] = 130


class _Releases:
    """Whether one was begun: from then on nobody says from memory that nothing was charged."""

    begun = False


def last_words() -> str:
    """What is said of a command that was stopped where nobody can look into the ledger."""
    return f"Stopped. {UNKNOWN if _Releases.begun else 'Nothing was charged.'}"


@contextmanager
def saying_what_was_charged(plan: Plan, *, key: str | None, fresh: bool) -> Iterator[None]:
    """Let Ctrl-C end the block with words on the ledger, which are public, and nothing else."""
    before = _last(plan) if fresh else 0
    _Releases.begun = True
    try:
        yield
    except KeyboardInterrupt:
        try:
            words = _words(plan, before, without_fresh=fresh and key is None)
        except (HeadcountError, KeyboardInterrupt):
            words = UNKNOWN
    else:
        return
    raise StoppedError(f"Stopped. {words}")


@contextmanager
def saying_that_a_run_goes_on() -> Iterator[None]:
    """Let Ctrl-C end a run of a series with what the next run will do."""
    _Releases.begun = True
    try:
        yield
    except KeyboardInterrupt:
        pass
    else:
        return
    raise StoppedError(
        "Stopped. What was charged is finished by the next run, without a second charge."
    )


def _words(plan: Plan, before: int, *, without_fresh: bool) -> str:
    charge = plan.charged()
    if charge is None or charge.sequence <= before:
        return "Nothing was charged."
    same = "the same command without --fresh" if without_fresh else "the same command"
    if charge.result is not None:
        return f"Entry {charge.sequence} was charged. To see its rows, free, give {same} again."
    return (
        f"Entry {charge.sequence} was charged and has no rows yet. Give {same} again: it is "
        "finished without a second charge."
    )


def _last(plan: Plan) -> int:
    charge = plan.charged()
    return 0 if charge is None else charge.sequence
