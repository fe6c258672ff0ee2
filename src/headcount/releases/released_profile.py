"""A profile that was released before for the same table and grouping: it is public by now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.mechanisms.equal_error.reading import Profile
from headcount.releases.facts import request_of
from headcount.results.release import Release

if TYPE_CHECKING:
    from headcount.releases.opened import Opened


def released_profile(dataset: Opened, by: Any) -> tuple[Profile, int] | None:
    """The latest such profile and the entry that paid for it; nothing is read or charged."""
    rows = request_of(dataset, dataset.account_name, "profile", by).rows
    for entry in reversed(dataset.ledger.entries(dataset.account_name, "profile")):
        same = entry.about.get("rows") == rows
        if not entry.has_result or not same:
            continue
        stored = dataset.ledger.stored_result(entry.sequence)
        if stored is not None:
            cells = Release.from_bytes(stored).to_arrow().sort_by("at_least")
            noisy_users = tuple(cells.column("count").to_pylist())
            return Profile(noisy_users, cells.column("sd")[0].as_py()), entry.sequence
    return None
