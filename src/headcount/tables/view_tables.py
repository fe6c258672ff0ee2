"""The tables that a query or a view reads, by name, through all the views between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MAX_VIEWS = 1_000
READERS = frozenset(
    {"read_parquet", "parquet_scan", "read_csv", "read_csv_auto", "read_json", "read_json_auto"}
)
OF_NOTHING = frozenset({"range", "generate_series", "unnest"})
"""Functions that make rows and read none."""


@dataclass(slots=True)
class Reads:
    """What is read: tables by the parts of their names, and files by what functions are given.

    own:       the names that queries give to parts of themselves
    texts:     the texts that were read to find this out
    untraced:  the first thing that could read anything
    """

    tables: list[tuple[str, ...]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    own: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    untraced: str = ""


def base_tables(text: str, dialect: str, texts_of: Callable[[Any], list[str]]) -> Reads:
    """All that a query reads.

    texts_of:  the texts of the views that a name could mean, none for a table
    """
    import sqlglot
    from sqlglot import exp

    reads = Reads()
    waiting: list[str] = [text]
    seen = reads.texts
    while waiting:
        text = waiting.pop()
        if text in seen:
            continue
        seen.add(text)
        try:
            tree = sqlglot.parse_one(text, read=dialect)
        except (sqlglot.errors.SqlglotError, RecursionError):
            reads.untraced = reads.untraced or "a view whose text cannot be read"
            continue
        if len(seen) > MAX_VIEWS:
            reads.untraced = reads.untraced or "too many views"
            break
        query = tree.expression if isinstance(tree, exp.Create) else tree
        for table in query.find_all(exp.Table):
            if not isinstance(table.this, exp.Identifier):
                _add_function(table.this, reads)
                continue
            waiting += texts_of(table)
            reads.tables.append((table.catalog, table.db, table.name))
        reads.own |= {each.alias for each in query.find_all(exp.CTE)}
    return reads


def _add_function(function: Any, reads: Reads) -> None:
    """The files that a function is told to read, if it says so in plain texts."""
    from sqlglot import exp

    name = (function.name or "").lower() if isinstance(function, exp.Anonymous) else ""
    name = name or getattr(function, "sql_name", lambda: "")().lower()
    if name in OF_NOTHING:
        return
    first = function.expressions[0] if function.expressions else function.this
    parts = first.expressions if isinstance(first, exp.Array) else [first]
    if name not in READERS or not all(isinstance(p, exp.Literal) and p.is_string for p in parts):
        reads.untraced = reads.untraced or f"the function {name or 'of a view'}"
        return
    reads.files += [part.this for part in parts]
