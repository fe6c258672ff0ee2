"""What a DuckDB table is to the ledger: the file of its database, its schema and its name."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from headcount.errors import UsageError
from headcount.screens import quoted
from headcount.tables.duckdb_views import DuckDBRelations, Relation, calls, named_relations
from headcount.tables.identity import FilePart, Identity, Read
from headcount.tables.public import QUERIES, private_leaves
from headcount.tables.view_tables import base_tables

FILED = ("duckdb", "sqlite")
"""Kinds of databases that are one file."""


def identity_of(connection: Any, expr: Any) -> Identity:
    """The tables of an expression, and those that its views read, in the files that hold them."""
    tracing = _Tracing(connection)
    for leaf in private_leaves(expr, "DatabaseTable"):
        tracing.add(leaf.namespace.catalog or "", leaf.namespace.database or "", leaf.name)
    if private_leaves(expr, *QUERIES):
        tracing.untraced = "a query in SQL"
    return Identity(
        files=tuple(dict.fromkeys(tracing.files)),
        rows=tuple(tracing.rows),
        untraced=tracing.untraced,
    )


class _Tracing:
    """From names to the files behind them, through all views."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.files: list[FilePart] = []
        self.rows: list[Read] = []
        self.untraced = ""

    def add(self, catalog: str, schema: str, name: str) -> None:
        """Take in a relation by its name, with all that it reads."""
        found = named_relations(self._connection, name, schema, catalog)
        if not found:
            self.untraced = f"the name {name!r}, which no table has"
        relations = DuckDBRelations(self._connection, trusted=True)
        meant = relations.preferred(found, schema) if len(found) > 1 else found
        self.rows += [Read(self._place(each)[1]) for each in meant]
        # What a name could mean shares the budget, whichever of it is meant.
        for each in found:
            self._add(each)

    def _add(self, relation: Relation) -> None:
        file, _ = self._place(relation)
        if file is not None:
            self.files.append(file)
        if not relation.is_view:
            return
        reads = base_tables(relation.sql, "duckdb", self._texts)
        self.untraced = self.untraced or reads.untraced
        self._refuse_macros((relation.sql, *reads.texts))
        for catalog, schema, name in reads.tables:
            below = named_relations(self._connection, name, schema, catalog)
            for each in below:
                part, _ = self._place(each)
                self.files += [part] if part is not None else []
            if not below:
                # A part of a query may have the name of a file that another part reads.
                self._add_files(name, must_be=name not in reads.own)
        for text in reads.files:
            self._add_files(text)

    def _texts(self, table: Any) -> list[str]:
        """The texts of all views that a name could mean."""
        found = named_relations(self._connection, table.name, table.db, table.catalog)
        return [each.sql for each in found if each.is_view]

    def _refuse_macros(self, texts: Iterable[str]) -> None:
        """A macro may read anything, by any name."""
        for name, _, hides in DuckDBRelations(self._connection, trusted=True).macros:
            if hides or any(calls(text, name) for text in texts):
                self.untraced = self.untraced or f"the macro {name!r}"

    def _add_files(self, text: str, *, must_be: bool = True) -> None:
        """The files that DuckDB finds by a text."""
        # By its own rules: which files are hidden, and what stands for a home, are DuckDB's to say.
        try:
            rows = self._connection.con.execute("select file from glob(?)", [text]).fetchall()
            found = [path.removeprefix("file://") for (path,) in rows]
        except Exception:
            found = []
        files = [FilePart(os.path.realpath(each)) for each in found]
        self.files += files
        # One that is open and deleted has no place that others would know it by.
        if (must_be and not files) or any(file.inode is None for file in files):
            self.untraced = self.untraced or f"{Path(text).name!r}, which is no file here"

    def _place(self, relation: Relation) -> tuple[FilePart | None, str]:
        """The file that a relation is in, and a name for it; no file for what is in memory."""
        found = self._connection.con.execute(
            "select type, path from duckdb_databases() where database_name = ?",
            [relation.database],
        ).fetchall()
        kind, path = found[0] if found else ("duckdb", None)
        part = f"#{relation.schema}.{relation.name}".lower()
        if kind not in FILED:
            self.untraced = self.untraced or f"a database of {kind}"
            return None, f"{relation.database}{part}"
        if path is None:
            return None, f"memory{part}"
        if kind == "duckdb" and not is_open_at(path):
            raise UsageError(
                f"The database that is open as {quoted(path)} is not the file that is there now: "
                "files were moved. Nothing was read and nothing was charged. Close what has it "
                "open in this program, and open the table again."
            )
        file = FilePart(os.path.realpath(path), part)
        return file, file.key


def is_open_at(path: str) -> bool:
    """Whether this process has the file open that is at a path now.

    DuckDB reads through its handle, and hands it on to whoever opens the same path again.
    """
    try:
        there = os.stat(path)
        handles = os.listdir("/dev/fd")
    except OSError:
        return False
    for handle in handles:
        with suppress(OSError, ValueError):
            if os.path.samestat(os.fstat(int(handle)), there):
                return True
    return False
