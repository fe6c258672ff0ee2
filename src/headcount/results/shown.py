"""Which rows of a release people are shown, in which order, and what each of them is called.

Screens, notebooks and pictures show the same rows by the same names. All rows stay in the release.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headcount.results.cells import label

if TYPE_CHECKING:
    import pyarrow as pa

    from headcount.results.facts import Facts

IN_ORDER = {
    "profile": "groups a user",
    "count_ranges": "range",
    "quantiles": "share of users below",
    "frequencies": "count",
}
"""Verbs whose rows have an order and one name of their own, and what that name says."""
FINDS_GROUPS = ("count_users", "count_events", "distribution")
OTHER, OTHER_GROUPS = "other", "other groups"
LARGEST, FIRST = "largest", "first"


@dataclass(frozen=True, slots=True)
class Shown:
    """Some rows of a release: the names of each, its value, and its bar from low to high."""

    headings: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    bars: tuple[tuple[Any, Any, Any], ...]
    value: str
    n_rows: int
    which: str
    """Which rows these are, where they are not all."""

    @property
    def counted(self) -> str:
        """How many rows these are of how many, in words."""
        rows = "row" if self.n_rows == 1 else "rows"
        if not self.which:
            return f"{self.n_rows:,} {rows}"
        return f"{len(self.names):,} of {self.n_rows:,} {rows}, the {self.which}"


def shown(table: pa.Table, facts: Facts, most: int) -> Shown:
    """At most so many rows, with what each of them is called."""
    groups = group_columns(table, facts)
    some, which = chosen(table, facts, most)
    rows = some.to_pylist()
    named = facts.verb in IN_ORDER
    return Shown(
        headings=(IN_ORDER[facts.verb],) if named else tuple(map(label, groups)),
        names=tuple(names_of(row, groups, facts.verb) for row in rows),
        bars=tuple((row[facts.value], row["low"], row["high"]) for row in rows),
        value=facts.value,
        n_rows=table.num_rows,
        which=which,
    )


def chosen(table: pa.Table, facts: Facts, most: int) -> tuple[pa.Table, str]:
    """At most so many rows: the first of those that have an order, else the largest; and which.

    The largest come first, unless their groups are times: these stay in order.
    """
    if facts.verb in IN_ORDER:
        return table.slice(0, most), FIRST if table.num_rows > most else ""
    groups = group_columns(table, facts)
    some = table.sort_by([(facts.value, "descending")]).slice(0, most)
    if is_time(table, groups):
        some = some.sort_by([(groups[0], "ascending")])
    return some, LARGEST if table.num_rows > most else ""


def group_columns(table: pa.Table, facts: Facts) -> list[str]:
    """The columns that say what a row is about."""
    if facts.verb == "frequencies":
        return ["count"]
    columns = [column for column in table.column_names if column not in facts.numbers]
    # No group may be called so there: this one says which row holds all groups without a row.
    return [column for column in columns if facts.verb != "distribution" or column != OTHER]


def is_time(table: pa.Table, groups: list[str]) -> bool:
    """Whether a release has one column of groups, of days or times."""
    import pyarrow as pa

    kinds = [table.schema.field(group).type for group in groups]
    return len(kinds) == 1 and (pa.types.is_date(kinds[0]) or pa.types.is_timestamp(kinds[0]))


def names_of(row: dict[str, Any], groups: list[str], verb: str) -> tuple[str, ...]:
    """What a row is called, under each heading."""
    if verb == "distribution" and row.get(OTHER):
        return (OTHER_GROUPS, *("" for _ in groups[1:]))
    if verb == "quantiles":
        return (f"{100 * row['quantile']:g} %",)
    if verb == "count_ranges":
        return (f"{_end(row['at_least'])} to {_end(row['below'])}",)
    if verb == "profile":
        return (_cell_of_profile(row["at_least"], row["at_most"]),)
    return tuple(name(row[column]) for column in groups)


def _cell_of_profile(least: int, most: int | None) -> str:
    if most is None:
        return f"{least} and more"
    return f"{least}" if least == most else f"{least} to {most}"


def _end(value: float | None) -> str:
    return "…" if value is None else name(value)


def name(value: Any) -> str:
    """A group, or an end of one: an id or a number of it has no separators inside."""
    return f"{value:.15g}" if isinstance(value, float) else label(value)


def number(value: Any) -> str:
    """A value or an end of its bar. Groups are not numbers, whatever they are made of."""
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return label(value)
