"""What DuckDB says of a table's columns: their types, and how their texts are compared."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from secrets import token_hex
from typing import Any

from headcount.tables.engine import cast_always
from headcount.tables.interrupts import execute
from headcount.tables.kinds import Kind, kind_of
from headcount.tables.parquet_links import identifier, quoted_text

BINARY = ("", "binary", "c", "posix")


def described(connection: Any, query: str) -> dict[str, str]:
    """The names and types of a query's columns, as DuckDB spells them."""
    rows = execute(connection, f"describe {query}").fetchall()
    return {name: kind for name, kind, *_ in rows}


def named(table: str, schema: str | None = None) -> str:
    """A table's name in a query; a schema may stand behind a database's name and a dot."""
    return ".".join(identifier(part) for part in (*(schema or "").split("."), table) if part)


def cursor_of(connection: Any) -> Any:
    """Another connection to the same database, with the same settings."""
    cursor = connection.cursor()
    # Not by SET, which fails in a notebook that has no widgets.
    cursor.execute("PRAGMA disable_progress_bar")
    settings = "select name, value from duckdb_settings()"
    own = dict(cursor.execute(settings).fetchall())
    for name, value in connection.execute(settings).fetchall():
        if value is not None and own.get(name) != value:
            # Some settings tell of the machine or were fixed when the database was opened.
            with suppress(Exception):
                cursor.execute(f"set {name} = {quoted_text(str(value))}")
    return cursor


def seen_by_cursors(connection: Any, expr: Any) -> bool:
    """Whether a new cursor reads the same tables: not temporary ones, and no others of that name.

    Tables in memory are registered wherever they are needed, so they do not matter.
    """
    import ibis.expr.operations as ops

    leaves = expr.op().find((ops.DatabaseTable, ops.SQLQueryResult))
    if any(not isinstance(leaf, ops.DatabaseTable) for leaf in leaves):
        return False
    temporary = {
        name.lower()
        for kind in ("table", "view")
        for (name,) in connection.con.execute(
            f"select {kind}_name from duckdb_{kind}s() where temporary"  # noqa: S608
        ).fetchall()
    }
    return not any(leaf.name.lower() in temporary for leaf in leaves)


def table_on(
    connection: Any, name: str, types: Mapping[str, str], schema: str | None = None
) -> tuple[Any, tuple[str, ...]]:
    """A table of the columns that something can be counted by, and the names of the others.

    Ibis is not asked what a type means unless it is one of ours: for some it loads extensions.
    """
    import ibis
    import ibis.expr.operations as ops
    from ibis.backends.sql.datatypes import DuckDBType

    known, enums, others = {}, [], []
    for column, kind in types.items():
        dtype = None if _is_strange(kind) else DuckDBType.from_string(kind)
        if dtype is None or kind_of(dtype) is Kind.OTHER:
            others.append(column)
            continue
        known[column] = dtype
        if kind.startswith("ENUM"):
            enums.append(column)
    catalog, _, database = (schema or "").rpartition(".")
    table = ops.DatabaseTable(
        name=name,
        schema=ibis.schema(known),
        source=connection,
        namespace=ops.Namespace(catalog=catalog or None, database=database or None),
    ).to_expr()
    if enums:
        table = table.mutate(**{name: cast_always(table[name], "string") for name in enums})
    return table, tuple(others)


def _is_strange(kind: str) -> bool:
    plain = ("ENUM", "DECIMAL(", "TIMESTAMP", "BOOLEAN", "VARCHAR", "DATE", "UUID", "FLOAT")
    whole = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT")
    known = (*plain, *whole, "UINTEGER", "DOUBLE")
    return kind.endswith("]") or not kind.startswith(known)


def collated(connection: Any, expr: Any) -> set[str]:
    """The text columns of an expression that are not compared by their bytes.

    A view or an expression may bring a collation along, so the compiled query itself is asked: an
    empty table made of it is declared with the collation that each column would be compared under.
    """
    import sqlglot
    from sqlglot import exp

    # All rows are fetched, of answers of one too: what is left unread blocks the connection.
    asked = connection.con.execute("select current_setting('default_collation')").fetchall()
    if asked[0][0].lower() not in BINARY:
        return set(expr.columns)
    name = f"headcount_{token_hex(8)}"
    connection._register_in_memory_tables(expr)
    connection.con.execute(
        f"create temporary table {name} as select * from ({connection.compile(expr)}) limit 0"  # noqa: S608
    )
    try:
        text = connection.con.execute(
            "select sql from duckdb_tables() where table_name = ?", [name]
        ).fetchall()[0][0]
    finally:
        connection.con.execute(f"drop table {name}")
    declared = sqlglot.parse_one(text, read="duckdb").find_all(exp.ColumnDef)
    return {column.name for column in declared if column.find(exp.CollateColumnConstraint)}
