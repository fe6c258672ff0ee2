"""Releases that are not what the ledger knows by their name: a past that would be paid for again.

What is in a ledger goes by the name of its release. Whoever gives a release another name has a new
one, which would charge every window that the old one charged; whoever makes days of weeks has two
kinds of windows under one name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headcount.errors import UsageError
from headcount.series.calendar import window_of
from headcount.series.due import Due
from headcount.series.file import Repeated, SeriesFile
from headcount.series.paid import Named, Paid


def refused(
    file: SeriesFile, paid: Mapping[Named, list[Paid]], found: Iterable[Due], *, backfill: bool
) -> dict[str, UsageError]:
    """The releases that charge nothing until their file is mended, and why.

    backfill:  whether new names may pay for windows that names no longer in the file have paid for
    """
    reasons = {}
    for release in file.releases:
        own = {first: charges[0] for (name, first), charges in paid.items() if name == release.name}
        due = [one for one in found if one.release is release]
        why = _other_length(release, own.values())
        if why is None and not own and not backfill:
            why = _renamed(file, release, paid, due)
        if why is not None:
            reasons[release.name] = UsageError(why)
    return reasons


def _other_length(release: Repeated, charged: Iterable[Paid]) -> str | None:
    for one in charged:
        if one.window != window_of(release.every, one.window.first):
            return (
                f"{one.key} was released for {one.window.first} to {one.window.last}, and now "
                f"comes every {release.every}. Nothing was charged. Give the new one another name, "
                "and a start: of its own."
            )
    return None


def _renamed(
    file: SeriesFile, release: Repeated, paid: Mapping[Named, list[Paid]], due: list[Due]
) -> str | None:
    """Why a release without a charge may be one that was charged under a name that is gone."""
    names = {one.name for one in file.releases}
    gone = {charges[0].window: name for (name, _), charges in paid.items() if name not in names}
    again = [one.window for one in due if one.window in gone]
    if not again:
        return None
    return (
        f"{release.name} has released nothing so far, and {gone[again[0]]}, which is not in the "
        f"file any more, has paid for {again[0]} and others of its windows: {release.name} would "
        "pay for them again. Nothing was charged. If it was renamed, give it back its name: what "
        "is in the ledger goes by that. If it is new, give it a start: of its own, after "
        f"{max(gone).last}, or let it pay for the past: --backfill"
    )
