"""The nearest query that works: what can be read of one that does not, with the rest left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.errors import HeadcountError
from headcount.releases.sql.groups import EVENTS, TAKEN, USERS, count_in, group_in, written
from headcount.releases.sql.parse import Parsed, bare
from headcount.releases.sql.words import Refused, name_of
from headcount.tables.by import GroupBy, column_of

if TYPE_CHECKING:
    from headcount.tables.user_table import UserTable

ROWS = 20


def nearest(query: Parsed | None, table: UserTable) -> str:
    """A query that the verb answers which was meant, or the plainest one where none was read."""
    if query is None or not query.tree.args.get("from_"):
        return _spelled(USERS, [], table)
    tree = query.tree
    by = _groups(tree, table)
    verb = _verb(tree, table) if by else USERS
    top = _top(tree) if by else None
    return _spelled(verb, by, table, top=top, where=_where(query, table))


def _groups(tree: Any, table: UserTable) -> list[GroupBy]:
    """The groups that are selected or listed behind GROUP BY, as far as they can be counted by."""
    clause = tree.args.get("group")
    listed = [*tree.expressions, *([] if clause is None else clause.expressions)]
    found: list[GroupBy] = []
    for node in listed:
        node = node.this if type(node).__name__ == "Alias" else node
        group = _group(node, table)
        names = [column_of(one) for one in found]
        if group is not None and column_of(group) not in (*names, *TAKEN):
            found.append(group)
    return found


def _group(node: Any, table: UserTable) -> GroupBy | None:
    try:
        return group_in(node, table)
    except Refused as refused:
        return refused.instead


def _verb(tree: Any, table: UserTable) -> str:
    for node in tree.expressions:
        node = node.this if type(node).__name__ == "Alias" else node
        try:
            verb = count_in(node, table)
        except Refused:
            continue
        if verb is not None:
            return verb
    counts = [type(node.this).__name__ for node in tree.find_all(_count())]
    return USERS if not counts or "Distinct" in counts else EVENTS


def _count() -> Any:
    from sqlglot import exp

    return exp.Count


def _top(tree: Any) -> int | None:
    clause = tree.args.get("limit")
    if clause is None:
        return None
    given = clause.args.get("expression") or clause.args.get("count")
    text = str(bare(given).this) if given is not None else ""
    return int(text) if text.isdecimal() and len(text) < 7 and int(text) else ROWS


def _where(query: Parsed, table: UserTable) -> str | None:
    """The condition with blanks between its words, where it is one that may be asked."""
    if not query.words or table.where is not None:
        return None
    text = " ".join(query.words)
    try:
        table.narrowed(text)
    except HeadcountError:
        return None
    return text


def _spelled(
    verb: str,
    by: list[GroupBy],
    table: UserTable,
    *,
    top: int | None = None,
    where: str | None = None,
) -> str:
    groups = ", ".join(map(written, by))
    count = f"COUNT(DISTINCT {name_of(table.user)})" if verb == USERS else "COUNT(*)"
    parts = [
        f"SELECT {groups}, {count}" if by else f"SELECT {count}",
        f"FROM {name_of(table.called[-1])}",
        f"WHERE {where}" if where else "",
        f"GROUP BY {groups}" if by else "",
        f"ORDER BY count DESC LIMIT {top}" if top else "",
    ]
    return " ".join(part for part in parts if part)
