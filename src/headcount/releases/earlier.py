"""The latest count of the same groups, which is public by now, for those who plan another."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from headcount.accounting.convert import shown
from headcount.ledger.statement.statement import epsilon_alone
from headcount.mechanisms.equal_error.reading import reached
from headcount.releases.facts import request_of
from headcount.releases.released_numbers import numbers_of, stored_release
from headcount.releases.released_sizes import N_LATEST

if TYPE_CHECKING:
    from fractions import Fraction

    from headcount.releases.opened import Opened


OTHERS = {"groups", "top", "within"}
"""Counts of other rows than all that can be measured."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """One count that was released, how it was made, and how exact it is."""

    method: str
    rho: float
    error: float
    note: str

    def error_at(self, rho: Fraction, least: float) -> float:
        """The error at another spend: what is above the least grows as the spend shrinks."""
        above = max(0.0, self.error**2 - least**2) * self.rho / float(rho)
        return math.sqrt(least**2 + above)


def earlier_count(dataset: Opened, verb: str, by: Any, methods: Collection[str]) -> Earlier | None:
    """Of the latest such counts of these rows by these columns, the one that cost most."""
    counts = islice(_counts(dataset, verb, by, methods), N_LATEST)
    return max(counts, key=lambda one: one.rho, default=None)


def _counts(dataset: Opened, verb: str, by: Any, methods: Collection[str]) -> Iterator[Earlier]:
    rows = request_of(dataset, dataset.account_name, verb, by).rows
    for entry in reversed(dataset.ledger.entries(dataset.account_name, verb)):
        about = entry.about
        if not entry.has_result or about.get("rows") != rows or OTHERS & {*about}:
            continue
        release = stored_release(dataset, entry)
        numbers = None if release is None else numbers_of(release, ("count", "sd"))
        if release is None or numbers is None or release.facts.method not in methods:
            continue
        counts, sds = numbers
        is_shown = counts > 0
        # What is stored may be anything: a deviation of nothing is none of ours.
        if not is_shown.any() or not (sds > 0).all():
            continue
        error = reached(counts[is_shown], sds[is_shown])
        epsilon = shown(epsilon_alone(dataset.account, entry.spend))
        note = (
            f"entry {entry.sequence} was such a count at epsilon {epsilon}: {len(release):,} rows, "
            f"nine in ten expected within {error:.0%} of the true count"
        )
        yield Earlier(release.facts.method, float(entry.spend.rho), error, note)
