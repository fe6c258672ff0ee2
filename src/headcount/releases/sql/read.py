"""A SELECT as the verb that answers it, and that verb's arguments.

Whatever is accepted means the same in both: the columns of the result are those that are selected,
in that order, then what every count has beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headcount.releases.sql.groups import COUNT, EVENTS, TAKEN, count_in, group_in
from headcount.releases.sql.parse import Parsed, bare, check_clauses, extra
from headcount.releases.sql.words import Refused, name_of
from headcount.tables.by import GroupBy, column_of

if TYPE_CHECKING:
    from headcount.tables.user_table import UserTable

MOST_ROWS = 1 << 20
LARGEST = "ORDER BY count DESC"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a query asks: the verb, its groups, how many of the largest, and of which rows."""

    verb: str
    by: tuple[GroupBy, ...]
    top: int | None = None
    where: str | None = None


def asked(query: Parsed, table: UserTable) -> Asked:
    """What a query asks of a table. What no verb answers is refused, with the reason."""
    tree = query.tree
    try:
        check_clauses(tree)
        _check_table(tree.args.get("from_"), table)
        verb, by = _selected(tree, table)
        _check_groups(tree, table, by)
        if not by and verb == EVENTS:
            raise Refused(
                "Rows are counted in groups, since no bound on a person's rows is known: add a "
                "column and GROUP BY"
            )
        if query.says_nulls:
            raise Refused("Where missing values are sorted is not asked: leave NULLS out")
        ordered, limit = _order(tree, table, verb, by), _limit(tree)
        _check_order(ordered, limit, by)
    except Refused as refused:
        refused.query = query
        raise
    return Asked(verb, by, limit, query.where)


def _check_table(start: Any, table: UserTable) -> None:
    called = ".".join(map(name_of, table.called))
    works = f"FROM names the table that was opened: FROM {name_of(table.called[-1])}"
    if start is None:
        raise Refused(works)
    named = start.this
    if type(named).__name__ == "Subquery":
        raise Refused(f"One SELECT over one table is read, without queries in it. {works}")
    if extra(named, {"this", "db"}) or extra(start, {"this"}):
        raise Refused(f"The table is named as it is, without another name or more. {works}")
    parts = [named.args.get("db"), named.this] if type(named).__name__ == "Table" else []
    names = [str(one.this) for one in parts if type(one).__name__ == "Identifier"]
    if len(names) != sum(one is not None for one in parts) or not names:
        raise Refused(works)
    if tuple(names) not in (table.called, table.called[-1:]):
        also = "" if len(table.called) == 1 else f", or FROM {called}"
        raise Refused(f"This is another table. {works}{also}")


def _selected(tree: Any, table: UserTable) -> tuple[str, tuple[GroupBy, ...]]:
    """The groups that are selected and, after them, what is counted."""
    by: list[GroupBy] = []
    verbs: list[str] = []
    user = name_of(table.user)
    for node in tree.expressions:
        value, alias = _unalias(node)
        verb = count_in(value, table)
        if verb is None:
            by.append(group_in(value, table))
        else:
            verbs.append(verb)
        named = COUNT if verb else column_of(by[-1])
        if alias is not None and alias != named:
            raise Refused(f"The result calls this column {named!r}: leave AS out")
        if verb is None and named in TAKEN:
            raise Refused(
                f"The name {named!r} is taken, so nothing can be counted by a column of that "
                "name. Open a view that calls it otherwise"
            )
        if verb is None and verbs:
            raise Refused("The result has its groups first and the count after them")
    if len(verbs) > 1:
        raise Refused("One count is answered at a time. Ask one query for each")
    if not verbs:
        raise Refused(f"Say what is counted: COUNT(DISTINCT {user}) for people, COUNT(*) for rows")
    names = [column_of(group) for group in by]
    if len(set(names)) < len(names):
        raise Refused("A column is selected twice")
    return verbs[0], tuple(by)


def _unalias(node: Any) -> tuple[Any, str | None]:
    if type(node).__name__ != "Alias":
        return node, None
    return node.this, str(node.alias)


def _check_groups(tree: Any, table: UserTable, by: tuple[GroupBy, ...]) -> None:
    clause = tree.args.get("group")
    if clause is not None and extra(clause, {"expressions"}):
        raise Refused("GROUP BY lists columns: there is no ALL, ROLLUP, CUBE or GROUPING SETS")
    listed = [] if clause is None else clause.expressions
    grouped = []
    for node in listed:
        place = _place(node)
        if place is None:
            grouped.append(group_in(node, table))
        elif 1 <= place <= len(by):
            grouped.append(by[place - 1])
        else:
            raise Refused(f"GROUP BY {place} names no group that is selected")
    if set(grouped) != set(by) or len(grouped) != len(by):
        raise Refused("What is selected beside the count and what is in GROUP BY must be the same")


def _place(node: Any) -> int | None:
    """The place in the list of columns that a number stands for."""
    is_number = type(node).__name__ == "Literal" and not node.is_string
    text = str(node.this) if is_number else ""
    return int(text) if text.isdecimal() and len(text) < 10 else None


def _limit(tree: Any) -> int | None:
    clause = tree.args.get("limit")
    if clause is None:
        return None
    if type(clause).__name__ != "Limit" or extra(clause, {"expression"}):
        raise Refused("So many rows are asked for by LIMIT 20, and nothing more is said of it")
    top = _place(bare(clause.expression))
    if top is None or not 1 <= top <= MOST_ROWS:
        raise Refused(f"LIMIT is a whole number from 1 to {MOST_ROWS:,}")
    return top


def _order(
    tree: Any, table: UserTable, verb: str, by: tuple[GroupBy, ...]
) -> list[tuple[int, bool]]:
    """What rows are sorted by: places in the list of columns, each with whether it is downwards."""
    clause = tree.args.get("order")
    if clause is None:
        return []
    if extra(clause, {"expressions"}):
        raise Refused("ORDER BY lists columns and nothing more")
    found = []
    for node in clause.expressions:
        if type(node).__name__ != "Ordered" or extra(node, {"this", "desc", "nulls_first"}):
            raise Refused("ORDER BY lists columns and nothing more")
        found.append((_ordered(node.this, tree, table, verb, by), bool(node.args.get("desc"))))
    return found


def _ordered(node: Any, tree: Any, table: UserTable, verb: str, by: tuple[GroupBy, ...]) -> int:
    place = _place(node)
    if place is not None and 1 <= place <= len(by) + 1:
        return place - 1
    name = str(node.this.this) if type(node).__name__ == "Column" else None
    aliases = [_unalias(one)[1] for one in tree.expressions]
    if name is not None and not extra(node, {"this"}) and name in (*aliases, COUNT):
        return aliases.index(name) if name in aliases else len(by)
    counted = count_in(node, table)
    if counted is not None and counted == verb:
        return len(by)
    group = None if counted is not None or place is not None else group_in(node, table)
    if group not in by:
        raise Refused("Rows are sorted by what is selected, and by nothing else")
    return by.index(group)


def _check_order(
    ordered: list[tuple[int, bool]], limit: int | None, by: tuple[GroupBy, ...]
) -> None:
    """With a limit, the largest counts first; without one, the order that all rows have."""
    if limit is not None:
        if not by:
            raise Refused("Without groups there is one row: leave LIMIT out")
        if ordered != [(len(by), True)]:
            raise Refused(f"LIMIT takes the largest counts, after {LARGEST} and nothing else")
    elif ordered and ordered != [(place, False) for place in range(len(ordered))]:
        raise Refused(
            "Rows are kept sorted by their groups and printed with the largest first: leave ORDER "
            f"BY out, or take the largest with {LARGEST} LIMIT 20"
        )
    elif len(ordered) > len(by):
        raise Refused("Rows are kept sorted by their groups: leave the count out of ORDER BY")
