"""Sizes of groups that were released before for the same rows: they are public by now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.releases.expected import NO_ROWS_KNOWN
from headcount.releases.facts import request_of
from headcount.releases.released_numbers import released_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.releases.expected import Case
    from headcount.releases.opened import Opened

MOST_GROUPS = 10_000_000
"""Noise may say that there are more; nobody plans by these."""
N_LATEST = 10
"""So many counts are looked at: a daily job leaves one for each day."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """About how many users groups have, and the entry that paid for it.

    whole:  whether there are small groups too; a count shows the largest alone
    """

    users: NDArray[np.float64]
    entry: int
    whole: bool

    def at_least(self, least: float) -> int:
        """How many groups have so many users."""
        return int(np.count_nonzero(self.users >= least))


def released_sizes(dataset: Opened, by: Any, verb: str = "count_users") -> Sizes | None:
    """The latest frequencies of these rows, or else the longest of the latest counts.

    verb:  what sizes are counted in; frequencies are of users
    """
    for one in _released(dataset, by, "frequencies") if verb == "count_users" else ():
        if one.whole:
            return one
    counts = islice(_released(dataset, by, verb), N_LATEST)
    return max(counts, key=lambda one: len(one.users), default=None)


def with_sizes(case: Case, sizes: Sizes | None) -> Case:
    """How many rows to expect, where sizes of groups are known: those that are shown mostly."""
    if sizes is None or case.least is None:
        return replace(case, notes=(*case.notes, NO_ROWS_KNOWN))
    n_rows = sizes.at_least(case.least)
    more = not sizes.whole and n_rows == len(sizes.users)
    return replace(case, rows=n_rows, more=more, sizes=sizes.entry)


def _released(dataset: Opened, by: Any, verb: str) -> Iterator[Sizes]:
    """From the latest on; a result is loaded when it is looked at."""
    rows = request_of(dataset, dataset.account_name, verb, by).rows
    for entry in reversed(dataset.ledger.entries(dataset.account_name, verb)):
        # Of a list nobody learns how large other groups are.
        if not entry.has_result or entry.about.get("rows") != rows or "groups" in entry.about:
            continue
        names = ("count", "groups") if verb == "frequencies" else ("count",)
        numbers = released_numbers(dataset, entry, names)
        if numbers is not None:
            yield _sizes(entry.sequence, *numbers)


def _sizes(
    entry: int, users: NDArray[np.float64], groups: NDArray[np.float64] | None = None
) -> Sizes:
    if groups is None:
        return Sizes(users, entry, whole=False)
    groups = np.where(users > 0, np.maximum(np.rint(groups), 0), 0)
    is_sound = groups.sum() <= MOST_GROUPS
    each = groups.astype(np.int64) if is_sound else np.zeros(len(users), np.int64)
    return Sizes(np.repeat(users, each), entry, whole=bool(is_sound))
