"""How many groups have each count: summed by the engine, one row per different count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.contributions.bounded import BoundedContributions
from headcount.contributions.encoding import encoded_column
from headcount.contributions.groups import TOTAL
from headcount.contributions.tally import Tally
from headcount.tables.engine import cast_always

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GROUPS = "true_groups"
SEED = "headcount frequencies|"
"""Public and the same for every table: which groups collide says nothing about any user."""
DIGITS = "0123456789abcdef"
N_DIGITS = 13
"""Of the hash: 52 bits, so buckets are even to one part in millions, and fit every engine."""


def true_frequencies(
    contributions: BoundedContributions, buckets: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different counts, rising, and how many groups have each, before noise.

    With a public list, groups that nobody is in are counted at 0. With ``buckets``, groups are
    hashed into that many and the counts of those that meet are added up; buckets that nothing
    falls into are not in the result. A user moves bucket totals by no more than group totals.
    """
    import numpy as np
    import pyarrow as pa

    tally = Tally(contributions)
    totals = tally.query(ordered=False)
    if buckets is not None:
        totals = _in_buckets(totals, contributions, buckets)
    counted = totals.group_by(TOTAL).agg(**{GROUPS: cast_always(totals.count(), "int64")})
    schema = pa.schema({TOTAL: pa.int64(), GROUPS: pa.int64()})
    engine = contributions.grouped.table.engine
    table = pa.Table.from_batches(engine.stream(counted, schema), schema)
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
