"""What a DuckDB table is to the ledger: the file of its database, its schema and its name."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from typing import Any

from headcount.tables.duckdb_views import named_relations
from headcount.tables.identity import FilePart, Identity
from headcount.tables.public import private_leaves
from headcount.tables.view_tables import base_tables


def identity_of(connection: Any, expr: Any) -> Identity:
    """The tables of an expression, and those that its views read, in the files that hold them."""
    files: list[FilePart] = []
    for leaf in private_leaves(expr):
        name = (leaf.namespace.catalog or "", leaf.namespace.database or "", leaf.name)
        files += _within(connection, name)
    return Identity(files=tuple(dict.fromkeys(files)))


def _within(connection: Any, name: tuple[str, ...]) -> Iterator[FilePart]:
    def texts_of(table: Any) -> list[str]:
        return _texts(connection, (table.catalog, table.db, table.name))

    yield from _place(connection, name)
    for text in _texts(connection, name):
        for below in base_tables(text, "duckdb", texts_of):
            if below[0]:
                yield from _place(connection, below)
            else:
                yield from (FilePart(os.path.realpath(path)) for path in glob.glob(below[-1]))


def _texts(connection: Any, name: tuple[str, ...]) -> list[str]:
    """The texts of all views that a name could mean."""
    catalog, schema, table = ("", "", *name)[-3:]
    found = named_relations(connection, table, schema, catalog)
    return [each.sql for each in found if each.is_view and each.sql]


def _place(connection: Any, name: tuple[str, ...]) -> Iterator[FilePart]:
    """Where a table or view is; nothing for what is only in memory."""
    catalog, schema, table = ("", "", *name)[-3:]
    for kind in ("table", "view"):
        rows = connection.con.execute(
            f"select path, schema_name, {kind}_name from duckdb_{kind}s() join duckdb_databases() "  # noqa: S608
            f"using (database_name) where lower({kind}_name) = lower(?) "
            "and (? = '' or lower(schema_name) = lower(?)) "
            "and (? = '' or lower(database_name) = lower(?)) and path is not null",
            [table, schema, schema, catalog, catalog],
        ).fetchall()
        for path, found_schema, found in rows:
            yield FilePart(os.path.realpath(path), f"#{found_schema}.{found}".lower())
