"""From streamed tallies to rows with error bars; Python sees one row per group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount.contributions.groups import TOTAL
from headcount.contributions.listed import arrow_type
from headcount.results.facts import CONFIDENCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.contributions.group_totals import GroupTotals
    from headcount.contributions.groups import Grouped
    from headcount.mechanisms.chance import Chance
    from headcount.mechanisms.protocol import CountsEvery, CountsLarge

BELOW_ZERO = (
    "A count below 0 is noise on a small one: read it, and the end of a bar, as 0. It is left as "
    "it was drawn, so that sums of rows are right."
)


class Totals(Protocol):
    """Groups and their totals, part by part: a tally, or some of one."""

    @property
    def schema(self) -> pa.Schema:
        """The group columns and ``true_total``."""

    def parts(self, *, ordered: bool = False) -> Iterator[GroupTotals]:
        """Each part with the totals to ask for."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a tally alone."""

    schema: pa.Schema
    totals: GroupTotals

    def parts(self, *, ordered: bool = False) -> Iterator[GroupTotals]:
        """It alone."""
        yield self.totals


@dataclass(frozen=True, slots=True)
class EachGroup:
    """Rows that are drawn each by itself, from the total of its group and nothing else [WB1].

    It is all that whoever draws must know, and holds no table: it can be sent.
    """

    mechanism: CountsEvery | CountsLarge
    scale: int
    """A total of so much is one."""

    @property
    def sd(self) -> float:
        """Of one count."""
        return self.mechanism.sd / self.scale

    @property
    def half_width(self) -> float:
        """Of the interval around one count."""
        return self.mechanism.error_bound(CONFIDENCE) / self.scale

    def draw(self, true_totals: Totals, chance: Chance) -> pa.Table:
        """What is published of these groups, sorted by group, with error bars."""
        if self.mechanism.threshold is None:
            groups, noisy_totals = draw_known(true_totals, self.mechanism, chance)
        else:
            groups, noisy_totals = draw_found(true_totals, self.mechanism, chance)
        half_width = self.mechanism.error_bound(CONFIDENCE)
        return with_error_bars(groups, noisy_totals, self.scale, self.mechanism.sd, half_width)

    def schema(self, true_schema: pa.Schema) -> pa.Schema:
        """The columns of its rows, by those of the totals."""
        groups = pa.schema([field for field in true_schema if field.name != TOTAL])
        none = np.zeros(0, np.int64)
        return with_error_bars(groups.empty_table(), none, 1, 1.0, 1.0).schema


def draw_found(
    true_tally: Totals, mechanism: CountsLarge, chance: Chance
) -> tuple[pa.Table, NDArray[np.int64]]:
    """The groups whose noisy totals pass the threshold, and those totals."""
    kept_groups: list[pa.Table] = []
    kept_totals: list[NDArray[np.int64]] = []
    for part in true_tally.parts():
        kept, noisy_totals = mechanism.draw(part.query, chance)
        kept_groups.append(part.names(kept))
        kept_totals.append(noisy_totals)
    return _together(true_tally, kept_groups, kept_totals)


def draw_known(
    true_tally: Totals, mechanism: CountsEvery, chance: Chance, *, ordered: bool = False
) -> tuple[pa.Table, NDArray[np.int64]]:
    """Every public group with its noisy total; a group nobody is in has noise on 0.

    ordered:  in the order of the list
    """
    groups: list[pa.Table] = []
    totals: list[NDArray[np.int64]] = []
    for part in true_tally.parts(ordered=ordered):
        groups.append(part.every_name())
        totals.append(mechanism.draw(part.query, chance))
    return _together(true_tally, groups, totals)


def _together(
    true_tally: Totals, groups: list[pa.Table], totals: list[NDArray[np.int64]]
) -> tuple[pa.Table, NDArray[np.int64]]:
    schema = pa.schema([field for field in true_tally.schema if field.name != TOTAL])
    empty = np.zeros(0, np.int64)
    return pa.concat_tables([schema.empty_table(), *groups]), np.concatenate([empty, *totals])


def with_error_bars(
    groups: pa.Table,
    noisy_totals: NDArray[np.int64] | NDArray[np.float64],
    scale: int,
    sd: float | NDArray[np.float64],
    half_width: float | NDArray[np.float64],
) -> pa.Table:
    """Rows with the noise's interval around every count."""
    noisy_counts = noisy_totals / scale
    return sorted_rows(
        groups,
        count=np.rint(noisy_counts).astype(np.int64),
        low=np.floor(noisy_counts - half_width / scale).astype(np.int64),
        high=np.ceil(noisy_counts + half_width / scale).astype(np.int64),
        sd=np.broadcast_to(np.asarray(sd / scale, np.float64), noisy_counts.shape),
    )


def sorted_rows(groups: pa.Table, **columns: NDArray[np.int64] | NDArray[np.float64]) -> pa.Table:
    """Rows sorted by group, with these columns beside.

    Order of arrival says something about the table, so it never survives.
    """
    table = groups
    for name, values in columns.items():
        table = table.append_column(name, pa.array(values))
    order = pc.sort_indices(table, [(name, "ascending", "at_end") for name in groups.column_names])
    return table.take(order).combine_chunks()


def with_share_bars(
    groups: pa.Table,
    noisy_shares: NDArray[np.float64],
    sd: NDArray[np.float64],
    half_width: NDArray[np.float64],
) -> pa.Table:
    """Rows sorted by group: share, low, high and sd; a share is from 0 to 1."""
    return sorted_rows(
        groups,
        share=noisy_shares,
        low=np.maximum(noisy_shares - half_width, 0),
        high=np.minimum(noisy_shares + half_width, 1),
        sd=sd,
    )


def largest_rows(rows: pa.Table, top: int | None) -> pa.Table:
    """So many rows with the largest noisy counts, or all of them, still sorted by group."""
    if top is None:
        return rows
    order = pc.sort_indices(rows, [("count", "descending")])
    kept = np.sort(np.asarray(order)[:top])
    return rows.take(pa.array(kept)).combine_chunks()


def below_zero(rows: pa.Table) -> tuple[str, ...]:
    """A word on counts of listed groups below 0, where there are any."""
    return (BELOW_ZERO,) if (pc.min(rows["low"]).as_py() or 0) < 0 else ()


def none_of(grouped: Grouped) -> pa.Table:
    """A table with the columns of a release and no rows."""
    groups = pa.schema(
        [
            pa.field(name, arrow_type(kind))
            for name, kind in zip(grouped.names, grouped.kinds, strict=True)
        ]
    ).empty_table()
    empty = np.zeros(0)
    return with_error_bars(groups, empty, 1, empty, empty)
