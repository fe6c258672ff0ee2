"""A table opened for counting: which column names the user, and which rows take part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headcount.errors import SchemaError, UsageError
from headcount.tables.engine import Engine
from headcount.tables.kinds import Kind
from headcount.tables.rules import check_user, user_rules
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

    def __repr__(self) -> str:
        chosen = f" where {self.where}" if self.where else ""
        return (
            f"UserTable({self.source}{chosen}, one user per {self.user}, "
            f"{len(self.columns)} columns, on {self.engine.name})"
        )

    def kind(self, column: str) -> Kind:
        """What a column holds, or a refusal that lists the columns there are."""
        if column not in self.columns:
            raise SchemaError(missing(column, self.columns))
        return self.columns[column]


def open_table(source: object, *, user: str, where: str | None = None) -> UserTable:
    """Open a table for counting, without reading a row.

    ``source`` is the path or glob of Parquet or CSV files, a ``duckdb://`` or ``postgres://``
    address that ends in ``?table=name``, an Arrow, pandas or Polars table, an Ibis table, or a
    Spark data frame. Columns of CSV files are text.
    """
    engine, expr, name = find_source(source)
    columns = engine.kinds(expr)
    if user not in columns:
        raise SchemaError(missing(user, columns))
    check_user(user, columns[user])
    rules = user_rules(user, columns[user])
    rows = expr.filter(expr[user].notnull())
    if where is not None:
        if not where.strip():
            raise UsageError("The where clause is empty; leave it out. Nothing was charged.")
        rows = rows.filter(parse_where(where, rows, columns, engine))
        rules += (f"Only rows where {where} take part.",)
    return UserTable(user, rows, engine, columns, name, where, rules)


def missing(column: str, columns: Mapping[str, Kind]) -> str:
    """The refusal for a column that is not there."""
    return (
        f"The table has no column {column!r}. Its columns are {', '.join(columns)}. "
        "Nothing was read and nothing was charged."
    )
