"""A profile that was released before for the same table and grouping: it is public by now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.contributions.profile import CELLS
from headcount.mechanisms.equal_error.reading import Profile
from headcount.releases.facts import request_of
from headcount.releases.released_numbers import released_numbers

if TYPE_CHECKING:
    from headcount.releases.opened import Opened

LEAST = [1, *(most + 1 for most in CELLS[:-1])]
MOST_USERS = 1 << 53
"""Larger numbers are no whole ones."""


def released_profile(dataset: Opened, by: Any) -> tuple[Profile, int] | None:
    """The latest such profile and the entry that paid for it; nothing is read or charged."""
    rows = request_of(dataset, dataset.account_name, "profile", by).rows
    for entry in reversed(dataset.ledger.entries(dataset.account_name, "profile")):
        same = entry.about.get("rows") == rows
        if not entry.has_result or not same:
            continue
        numbers = released_numbers(dataset, entry, ("at_least", "count", "sd"))
        if numbers is None:
            continue
        at_least, noisy_users, sds = numbers
        if sorted(at_least) == LEAST and (sds > 0).all() and np.abs(noisy_users).max() < MOST_USERS:
            in_order = np.rint(noisy_users[np.argsort(at_least)]).astype(np.int64)
            return Profile(tuple(in_order.tolist()), float(sds[0])), entry.sequence
    return None
