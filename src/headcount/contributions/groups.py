"""One row per (user, group), with every rule applied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headcount.contributions.encoding import calendar_number, encoded_group
from headcount.contributions.listed import GroupList, Groups, group_list
from headcount.errors import UsageError
from headcount.tables import UserTable
from headcount.tables.by import GroupBy, as_groups, column_of
from headcount.tables.kinds import Kind
from headcount.tables.rules import group_rule, group_value, result_kind

USER = "hc_user"
WINDOW = "hc_window"
INDEX = "hc_index"
TEXT = "hc_text"
TOTAL = "true_total"

# What stands for a missing value in a join; the missing-flag beside it keeps them apart.
STAND_IN = {Kind.INTEGER: 0, Kind.TEXT: "", Kind.BOOLEAN: False}


@dataclass(frozen=True, repr=False, eq=False)
class Grouped:
    """The rows of a table, each with its user and its group, under names of our own.

    With a public list the group is its number in the list, so that the engine compares integers
    from there on; without one it is the group's own columns.
    """

    table: UserTable
    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    rows: Any
    columns: tuple[str, ...]
    rules: tuple[str, ...]
    listed: GroupList | None = None
    relation: Any = None
    unit: tuple[str, ...] = (USER,)
    """Whose groups are bounded: a user's, or a user's within one window [WN4]."""

    def pairs(self) -> Any:
        """One row per user and group, or per user, window and group.

        Spelled as a grouping: PostgreSQL runs a large DISTINCT in parallel and then merges the
        parts in the order of their hashes, which takes it quadratic time.
        """
        return self.rows.group_by([*self.unit, *self.columns]).agg()

    def named(self, pairs: Any = None, also: tuple[str, ...] = ()) -> Grouped:
        """Distinct pairs with the groups' own columns, whether or not there was a list.

        pairs:  one row per user and group, if there is more to say than that they are there
        also:   the columns that say it
        """
        rows = self.pairs() if pairs is None else pairs
        if self.listed is None:
            return replace(self, rows=rows)
        own = tuple(f"hc_group_{index}" for index in range(len(self.names)))
        joined = rows.inner_join(self.relation, INDEX)
        named = joined.select(joined[USER], *(joined[column] for column in (*own, *also)))
        return replace(self, rows=named, columns=own, listed=None, relation=None)

    @property
    def given(self) -> Groups | None:
        """The public list as it is counted, whatever it was given as."""
        return None if self.listed is None else self.listed.groups

    @property
    def n_listed(self) -> int:
        """How many groups the public list has; 0 without one."""
        return 0 if self.listed is None else len(self.listed)

    def most_groups(self, max_groups: int) -> int:
        """How many groups one user can be in at all, given the most that are kept."""
        return max_groups if self.listed is None else min(max_groups, len(self.listed))

    def can_exceed(self, max_groups: int) -> bool:
        """Whether any user could be in more groups than that; decided by public facts alone."""
        return self.listed is None or len(self.listed) > max_groups


def group_rows(
    table: UserTable,
    by: GroupBy | Sequence[GroupBy],
    groups: Iterable[Any] | None = None,
    *,
    each_window: bool = False,
) -> Grouped:
    """Apply the rules to every row; keep only listed groups if there is a list.

    each_window:  with the number of each row's window, of which there are several
    """
    parts = as_groups(by)
    names = tuple(column_of(part) for part in parts)
    _check_names(table, names)
    source_kinds = [table.kind(name) for name in names]
    kinds = tuple(result_kind(p, kind) for p, kind in zip(parts, source_kinds, strict=True))
    own = tuple(f"hc_group_{index}" for index in range(len(parts)))
    values = {
        column: group_value(table.engine, table.expr[name], part, kind)
        for column, name, part, kind in zip(own, names, parts, source_kinds, strict=True)
    }
    unit = (USER, WINDOW) if each_window else (USER,)
    if each_window:
        values[WINDOW] = table.window_number()
    rows = table.expr.select(**{USER: table.expr[table.user]}, **values)
    rules = (*table.rules, *(group_rule(p, k) for p, k in zip(parts, source_kinds, strict=True)))
    if groups is None:
        return Grouped(table, names, kinds, rows, own, rules, unit=unit)
    listed = group_list(list(groups), parts, kinds)
    extra: dict[str, list[Any]] = {
        INDEX: list(range(len(listed))),
        TEXT: [encoded_group(group, kinds) for group in listed.groups],
    }
    relation = table.engine.relation(listed.arrow(own, extra))
    rows = only_listed(rows, relation, own, listed, unit[1:])
    rules += (f"Only the {len(listed):,} listed groups are counted.",)
    return Grouped(table, names, kinds, rows, (INDEX,), rules, listed, relation, unit)


def _check_names(table: UserTable, names: tuple[str, ...]) -> None:
    for name in names:
        table.kind(name)
        if name == table.user:
            raise UsageError(
                f"The column {name!r} names the users; counting users by it would list them. "
                "Nothing was read and nothing was charged."
            )
        if name == TOTAL:
            raise UsageError(
                f"A group column cannot be called {TOTAL!r}; rename it. Nothing was charged."
            )


def only_listed(
    rows: Any,
    relation: Any,
    columns: tuple[str, ...],
    listed: GroupList,
    also: tuple[str, ...] = (),
) -> Any:
    """The rows of listed groups, each with the number of its group.

    also:  columns of the rows to keep beside user and number
    """
    joined = rows.inner_join(relation, matches(rows, relation, columns, listed))
    return joined.select(joined[USER], joined[INDEX], *(joined[name] for name in also))


def matches(rows: Any, relation: Any, columns: tuple[str, ...], listed: GroupList) -> list[Any]:
    """When a row is of a listed group. A plain equality wherever the list has no missing value."""
    conditions = []
    for column, kind, has_missing in zip(columns, listed.kinds, listed.has_missing, strict=True):
        left, right = rows[column], relation[column]
        if has_missing:
            # Engines cannot hash "is not distinct from"; two equalities they can.
            conditions.append(left.isnull() == right.isnull())
            left, right = _filled(left, kind), _filled(right, kind)
        conditions.append(left == right)
    return conditions


def _filled(value: Any, kind: Kind) -> Any:
    import ibis

    if kind in STAND_IN:
        return value.fill_null(ibis.literal(STAND_IN[kind]).cast(value.type()))
    return calendar_number(value, kind).fill_null(0)
