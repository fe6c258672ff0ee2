"""A profile that was released before for the same table and grouping: it is public by now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.mechanisms.equal_error_public import Profile
from headcount.releases.facts import spelled_by
from headcount.releases.release import Release

if TYPE_CHECKING:
    from headcount.releases.dataset import Dataset


def released_profile(dataset: Dataset, by: Any) -> tuple[Profile, int] | None:
    """The latest such profile and the entry that paid for it; nothing is read or charged."""
    asked = {
        "source": dataset.source,
        "user": dataset.table.user,
        "by": ", ".join(spelled_by(by)),
        "where": dataset.where,
    }
    for entry in reversed(dataset.ledger.entries(dataset.account_name, "profile")):
        same = all(entry.about.get(name) == value for name, value in asked.items())
        if not entry.has_result or not same:
            continue
        stored = dataset.ledger.stored_result(entry.sequence)
        if stored is not None:
            rows = Release.from_bytes(stored).to_arrow().sort_by("at_least")
            noisy_users = tuple(rows.column("count").to_pylist())
            return Profile(noisy_users, rows.column("sd")[0].as_py()), entry.sequence
    return None
