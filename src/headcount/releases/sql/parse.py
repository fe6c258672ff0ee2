"""The text of a query as one SELECT over one table, and nothing else.

The text is read here and goes no further: no engine sees it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headcount.releases.sql.words import Refused, unread

FOREIGN = {
    "WITH": "WITH names a query within the query, and one SELECT over one table is read",
    "FROM": "A query begins with SELECT",
    "(": "Parentheses around a query have no meaning here",
    "VALUES": "VALUES makes rows of its own, and only rows of the opened table are counted",
}
CLAUSES = {
    "with_": "WITH names a query within the query, and one SELECT over one table is read",
    "distinct": "SELECT DISTINCT has no meaning beside a count: every group is one row",
    "joins": "Only the opened table is read: a join or a second table can mix the rows of people. "
    "Join in a view, and open that",
    "laterals": "Only the opened table is read, row by row: LATERAL has no meaning here",
    "having": "HAVING chooses rows by their counts, and a count is known only with its noise. "
    "Choose among the rows of the release, which is free, or say how good rows must be: within=0.1",
    "qualify": "QUALIFY chooses rows by their counts, and a count is known only with its noise. "
    "Choose among the rows of the release, which is free",
    "windows": "There are no window functions: each group has one count",
    "offset": "OFFSET leaves out the largest rows. Take more of them, and leave them out of the "
    "release, which is free",
    "sample": "A sample of rows would not hide whose they are. A secret sample of people is "
    "method='sample'",
    "into": "Nothing is written by a query: write the rows of the release",
    "locks": "Nothing is locked by a query",
    "pivots": "Counts are not turned into columns: turn the rows of the release",
    "connect": "Only the opened table is read, row by row: CONNECT BY has no meaning here",
    "hint": "Hints to an engine have no meaning here",
}
BREAKS = {
    "SELECT", "DISTINCT", "FROM", "WHERE", "GROUP_BY", "ORDER_BY", "LIMIT", "OFFSET", "FETCH",
    "HAVING", "QUALIFY", "WINDOW", "COMMA",
}  # fmt: skip
"""Beside these a comma has nothing to part; the parser reads past some of them."""
KNOWN = {"expressions", "from_", "where", "group", "order", "limit"}


@dataclass(frozen=True, slots=True)
class Parsed:
    """One SELECT as a tree, and its WHERE as it was written, on one line and without comments."""

    tree: Any
    where: str | None
    words: tuple[str, ...]
    """The words of its WHERE."""
    says_nulls: bool
    """Whether it says where missing values are sorted."""


def parsed(query: str) -> Parsed:
    """Read a query; what is no SELECT over a table, or has a clause of no meaning, is refused."""
    import sqlglot
    from sqlglot import exp

    tokens = _read(lambda: sqlglot.tokenize(query))
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    if any(token.token_type.name == "SEMICOLON" for token in tokens):
        raise Refused("One query is answered at a time, and here are several")
    first = tokens[0].text.upper() if tokens else ""
    if first != "SELECT":
        raise Refused(FOREIGN.get(first, "Only SELECT asks something"))
    _refuse_stray_commas(tokens)
    tree = _read(lambda: sqlglot.parse_one(query[: tokens[-1].end + 1]))
    if isinstance(tree, exp.SetOperation):
        raise Refused("UNION, INTERSECT and EXCEPT join queries, and one is answered at a time")
    if not isinstance(tree, exp.Select):
        raise unread()
    where, words = _where(query, tokens, tree)
    in_order = _between(tokens, "ORDER_BY", ("LIMIT", "FETCH", "OFFSET"))
    return Parsed(tree, where, words, any(one.text.upper() == "NULLS" for one in in_order))


def check_clauses(tree: Any) -> None:
    """Refuse every clause that no verb has."""
    for name in extra(tree, KNOWN):
        clause = name.strip("_").replace("_", " ").upper()
        raise Refused(CLAUSES.get(name, f"{clause} has no meaning here"))


def extra(node: Any, known: set[str]) -> list[str]:
    """What a node has beside what is known."""
    return [name for name, value in node.args.items() if value and name not in known]


def bare(node: Any) -> Any:
    """What stands in parentheses."""
    while type(node).__name__ == "Paren":
        node = node.this
    return node


def _read(read: Callable[[], Any]) -> Any:
    """What the parser makes of it. Its errors repeat the text, so they go no further."""
    try:
        return read()
    except RecursionError:
        refusal = Refused("The query is nested too deeply")
    except Exception as error:  # of any kind: texts have been found that it stumbles over
        found = getattr(error, "errors", None) or [{}]
        refusal = unread(found[0].get("line"), found[0].get("col"))
    raise refusal


def _refuse_stray_commas(tokens: list[Any]) -> None:
    kinds = ["COMMA", *(token.token_type.name for token in tokens), "COMMA"]
    for before, kind, after in zip(kinds, kinds[1:], kinds[2:], strict=False):
        if kind == "COMMA" and (before in {*BREAKS, "L_PAREN"} or after in {*BREAKS, "R_PAREN"}):
            raise Refused("A comma stands where nothing is before it, or nothing after it")


def _where(query: str, tokens: list[Any], tree: Any) -> tuple[str | None, tuple[str, ...]]:
    """The condition as it was written: the same words are the same question when opened with it."""
    import sqlglot

    ends = ("GROUP_BY", "ORDER_BY", "LIMIT", "FETCH", "OFFSET", "HAVING", "QUALIFY", "WINDOW")
    written, clause = _between(tokens, "WHERE", ends), tree.args.get("where")
    if clause is None:
        return None, ()
    text, end = "", None
    for token in written:
        text += " " * (end is not None and token.start > end) + query[token.start : token.end + 1]
        end = token.end + 1
    if not text or _read(lambda: sqlglot.parse_one(text)) != clause.this:
        raise Refused("The condition after WHERE cannot be told from the rest of the query")
    return text, tuple(query[token.start : token.end + 1] for token in written)


def _between(tokens: list[Any], start: str, ends: tuple[str, ...]) -> list[Any]:
    """The words of one clause, outside of all parentheses."""
    found: list[Any] = []
    depth, inside = 0, False
    for token in tokens:
        kind = token.token_type.name
        depth += (kind == "L_PAREN") - (kind == "R_PAREN")
        if depth == 0 and kind == start:
            inside = True
        elif inside and depth == 0 and kind in ends:
            break
        elif inside:
            found.append(token)
    return found
