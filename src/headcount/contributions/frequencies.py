"""How many groups have each count: summed by the engine, one row per different count."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headcount.contributions import read
from headcount.contributions.bounded import BoundedContributions
from headcount.contributions.encoding import encoded_column
from headcount.contributions.groups import TOTAL
from headcount.contributions.tally import Tally
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.query import Query
from headcount.privacy.sensitivity import Sensitivity
from headcount.tables.engine import cast_always

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

Runs = tuple["Integers", "Integers"]
GROUPS = "true_groups"
SEED = "headcount frequencies|"
"""Public and the same for every table: which groups collide says nothing about any user."""
DIGITS = "0123456789abcdef"
N_DIGITS = 13
"""Of the hash: 52 bits, so buckets are even to one part in millions, and fit every engine."""


@dataclass(frozen=True, slots=True)
class TrueFrequencies:
    """How large groups are, but not which; one reading answers both."""

    runs: Query[Runs]
    """The different counts, rising, and how many groups have each."""
    n_groups: Query[Integers]
    """How many groups there are: one number."""


def true_frequencies(
    contributions: BoundedContributions,
    buckets: int | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> TrueFrequencies:
    """How many groups have which count, before noise.

    With a public list, groups that nobody is in are counted at 0. With ``buckets``, groups are
    hashed into that many and the counts of those that meet are added up; buckets that nothing
    falls into are not in the result. A user moves bucket totals by no more than group totals in
    l1, and in no other norm: all of their groups may meet.
    """
    runs = cache(partial(_runs, contributions, buckets))

    def n_groups() -> Integers:
        true_counts, true_groups = runs()
        return np.array([true_groups[true_counts > 0].sum()], np.int64)

    sensitivity = contributions.sensitivity.under(neighbours)
    # Whoever comes may have groups of their own, and so may whoever goes: the numbers are apart.
    number = Sensitivity.of_sum(contributions.sensitivity.l0, neighbours)
    if buckets is not None:
        sensitivity = sensitivity.merged()
    return TrueFrequencies(Query(sensitivity, runs), Query(number, n_groups))


def _runs(contributions: BoundedContributions, buckets: int | None) -> Runs:
    tally = Tally(contributions)
    totals = tally.query(ordered=False)
    if buckets is not None:
        totals = _in_buckets(totals, contributions, buckets)
    counted = totals.group_by(TOTAL).agg(**{GROUPS: cast_always(totals.count(), "int64")})
    schema = pa.schema({TOTAL: pa.int64(), GROUPS: pa.int64()})
    engine = contributions.grouped.table.engine
    table = read.table(engine, counted, schema)
    true_counts = np.asarray(table.column(TOTAL), np.int64)
    order = np.argsort(true_counts, kind="stable")
    return true_counts[order], np.asarray(table.column(GROUPS), np.int64)[order]


def _in_buckets(totals: Any, contributions: BoundedContributions, buckets: int) -> Any:
    import ibis

    grouped = contributions.grouped
    texts = [
        encoded_column(totals[name], kind)
        for name, kind in zip(grouped.names, grouped.kinds, strict=True)
    ]
    hashed = grouped.table.engine.sha256_hex(ibis.literal(SEED).concat(*texts))
    placed = totals.select(hc_hash=hashed, **{TOTAL: totals[TOTAL]})
    digits = ibis.literal(DIGITS)
    number = ibis.literal(0, "int64")
    for index in range(N_DIGITS):
        # Engines read hexadecimal in ways of their own; all of them find a letter in a text.
        digit = cast_always(digits.find(placed["hc_hash"].substr(index, 1)), "int64")
        number = number * ibis.literal(16, "int64") + digit
    bucket = number % ibis.literal(buckets, "int64")
    placed = placed.select(hc_bucket=bucket, **{TOTAL: placed[TOTAL]})
    return placed.group_by("hc_bucket").agg(**{TOTAL: cast_always(placed[TOTAL].sum(), "int64")})
