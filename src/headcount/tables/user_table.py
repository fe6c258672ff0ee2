"""A table opened for counting: which column names the user, and which rows take part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headcount.errors import SchemaError, UsageError
from headcount.screens import quoted
from headcount.tables.engine import Engine
from headcount.tables.identity import Identity
from headcount.tables.kinds import Kind, missing
from headcount.tables.rules import check_user, user_rules
from headcount.tables.source import Options
from headcount.tables.sources import find_source
from headcount.tables.where import parse_where


@dataclass(frozen=True, repr=False, eq=False)
class UserTable:
    """Rows that each belong to one user. Opening one reads the schema and no row."""

    user: str
    expr: Any
    engine: Engine
    columns: Mapping[str, Kind]
    source: str
    where: str | None = None
    rules: tuple[str, ...] = field(default=())
    lists_columns: bool = True
    identity: Identity = field(default_factory=Identity)
    said: tuple[tuple[str, str], ...] = ()
    """What whoever opened it said of how it is read, spelled for the request."""
    look_again: Callable[[], None] = field(default=lambda: None)
    """Refuses another source than was opened, or one that was made to mix users since."""
    described: Mapping[str, str] = field(default_factory=dict)
    """Its columns and their types when it was opened."""

    def __repr__(self) -> str:
        chosen = f" where {self.where}" if self.where else ""
        return (
            f"UserTable({self.source}{chosen}, one user per {self.user}, "
            f"{len(self.columns)} columns, on {self.engine.name})"
        )

    def kind(self, column: str) -> Kind:
        """What a column holds, or a refusal that lists the columns there are."""
        if column not in self.columns:
            raise SchemaError(missing(column, self.columns if self.lists_columns else ()))
        return self.columns[column]

    def check_columns(self) -> None:
        """Refuse a table that lacks a column by now; in a session, on its connection.

        Columns that were added do no harm.
        """
        try:
            now = self.engine.description(self.expr)
        except Exception:
            now = {}
        if any(now.get(name) != self.described.get(name) for name in self.expr.columns):
            raise SchemaError(
                f"{quoted(self.source)} does not have the columns any more, or not with the types, "
                "that it was opened with. Nothing was read and nothing was charged. Open the table "
                "again."
            )


def open_table(
    source: object, *, user: str, where: str | None = None, options: Options | None = None
) -> UserTable:
    """Open a table for counting, without reading a row.

    ``source`` is the path or glob of Parquet or CSV files, a ``duckdb://`` or ``postgres://``
    address that ends in ``?table=name``, an Arrow, pandas or Polars table, an Ibis table, or a
    Spark data frame. Columns of CSV files are text unless their types are declared.
    """
    options = options or Options()
    opened = find_source(source, user, options)
    engine, expr = opened.engine, opened.expr
    columns = {**engine.kinds(expr), **dict.fromkeys(opened.others, Kind.OTHER)}
    if user not in columns:
        raise SchemaError(missing(user, columns if opened.lists_columns else ()))
    check_user(user, columns[user])
    if opened.is_view:
        engine.check_rows(expr, user, trusted=options.trusted_view is not None)
    # A database is read through a handle, whatever is at its path by now.
    databases = [file for file in opened.identity.files if file.part]
    inodes = [file.inode for file in databases]

    def look_again() -> None:
        if opened.is_view:
            is_there = inodes == [file.inode for file in databases]
            if not is_there or not engine.identity(expr).is_at(opened.identity):
                raise UsageError(
                    f"{quoted(opened.name)} reads other tables or files than when it was opened. "
                    "Nothing was read and nothing was charged. Open the table again."
                )
            engine.check_rows(expr, user, trusted=options.trusted_view is not None)

    rows = expr.filter(expr[user].notnull())
    if columns[user] is Kind.TEXT:
        rows = rows.filter(engine.readable(rows[user]))
    rules = (*opened.rules, *user_rules(user, columns[user]))
    if options.trusted_view is not None:
        rules += (f"That no row of the view depends on two users: {options.trusted_view}.",)
    if where is not None:
        if not where.strip():
            raise UsageError("The where clause is empty; leave it out. Nothing was charged.")
        listed = opened.lists_columns
        rows = rows.filter(parse_where(where, rows, columns, engine, lists_columns=listed))
        rules += (f"Only rows where {where} take part.",)
    return UserTable(
        user,
        rows,
        engine,
        columns,
        opened.name,
        where,
        rules,
        opened.lists_columns,
        opened.identity,
        options.spelled(),
        look_again,
        engine.description(rows),
    )
