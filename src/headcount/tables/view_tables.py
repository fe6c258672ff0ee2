"""The tables that a query or a view reads, by name, through all the views between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

MAX_VIEWS = 1_000


def base_tables(
    text: str, dialect: str, texts_of: Callable[[Any], list[str]]
) -> Iterator[tuple[str, ...]]:
    """The parts of each name, and for a function that reads files the name and its first text.

    texts_of:  the texts of the views that a name could mean, none for a table
    """
    import sqlglot
    from sqlglot import exp

    waiting: list[str] = [text]
    seen: set[str] = set()
    while waiting and len(seen) < MAX_VIEWS:
        text = waiting.pop()
        if text in seen:
            continue
        seen.add(text)
        try:
            tree = sqlglot.parse_one(text, read=dialect)
        except (sqlglot.errors.SqlglotError, RecursionError):
            continue
        query = tree.expression if isinstance(tree, exp.Create) else tree
        for table in query.find_all(exp.Table):
            if not isinstance(table.this, exp.Identifier):
                yield from _texts(table.this)
                continue
            below = texts_of(table)
            waiting += below
            if not below:
                yield tuple(part for part in (table.catalog, table.db, table.name) if part)


def _texts(function: Any) -> Iterator[tuple[str, ...]]:
    from sqlglot import exp

    for literal in function.find_all(exp.Literal):
        if literal.is_string:
            yield ("", literal.this)
