"""What PostgreSQL says of a query's columns and of what it can store."""

from __future__ import annotations

from typing import Any

from headcount.errors import UsageError
from headcount.tables.engine import cast_always
from headcount.tables.kinds import Kind

NOTHING = "Nothing was read and nothing was charged."
PADDED = "bpchar"
KINDS = {
    "bool": ("boolean", Kind.BOOLEAN),
    "int2": ("int16", Kind.INTEGER),
    "int4": ("int32", Kind.INTEGER),
    "int8": ("int64", Kind.INTEGER),
    "float4": ("float32", Kind.FLOAT),
    "float8": ("float64", Kind.FLOAT),
    "numeric": ("decimal", Kind.DECIMAL),
    "text": ("string", Kind.TEXT),
    "varchar": ("string", Kind.TEXT),
    PADDED: ("string", Kind.TEXT),
    "name": ("string", Kind.TEXT),
    "citext": ("string", Kind.FOLDED_TEXT),
    "date": ("date", Kind.DATE),
    "timestamp": ("timestamp", Kind.TIME),
    "timestamptz": ("timestamp('UTC')", Kind.ZONED_TIME),
    "uuid": ("uuid", Kind.UUID),
    "an enum": ("string", Kind.TEXT),
}


def quoted(name: str) -> str:
    """A name in a query."""
    return '"' + name.replace('"', '""') + '"'


def check_encoding(connection: Any) -> None:
    """Refuse databases whose texts are not all UTF-8: a query fails on those that are not."""
    encoding = connection.con.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise UsageError(
            f"This PostgreSQL database keeps its texts in {encoding}; headcount reads databases in "
            f"UTF8, where every text can be read. {NOTHING}"
        )


def types_of(connection: Any, query: str) -> dict[str, str]:
    """The type of each column of a query by the name PostgreSQL has for it; no row is read.

    A domain has the type that it is made of. A padded text of no given length is none of ours.
    """
    with connection.con.cursor() as cursor:
        cursor.execute(f"select * from ({query}) as q limit 0")  # noqa: S608
        columns = cursor.description or []
        numbers = [column.type_code for column in columns]
        cursor.execute(
            "select oid, case when typtype = 'e' then 'an enum' else typname end from pg_type "
            "where oid = any(%s)",
            [numbers],
        )
        names = dict(cursor.fetchall())
    return {
        column.name: "text of no length"
        if names[column.type_code] == PADDED and column.display_size is None
        else names[column.type_code]
        for column in columns
    }


def table_on(connection: Any, name: str, schema: str | None) -> tuple[Any, tuple[str, ...]]:
    """A table of the columns that something can be counted by, and the names of the others."""
    import ibis
    import ibis.expr.operations as ops

    place = f"{quoted(schema)}.{quoted(name)}" if schema else quoted(name)
    types = types_of(connection, f"select * from {place}")  # noqa: S608
    known = {column: KINDS[kind][0] for column, kind in types.items() if kind in KINDS}
    table = ops.DatabaseTable(
        name=name,
        schema=ibis.schema(known),
        source=connection,
        namespace=ops.Namespace(database=schema),
    ).to_expr()
    enums = [column for column in known if types[column] == "an enum"]
    if enums:
        table = table.mutate(**{name: cast_always(table[name], "string") for name in enums})
    return table, tuple(column for column in types if column not in known)


def check_temporary(connection: Any) -> None:
    """Refuse a role that may not make temporary tables: every release makes some."""
    with connection.con.cursor() as cursor:
        cursor.execute("select has_database_privilege(current_database(), 'TEMPORARY')")
        may = cursor.fetchone()[0]
    if not may:
        raise UsageError(
            "This role may not make temporary tables in the PostgreSQL database, and a release "
            "needs them. Let its owner grant it: grant temporary on database name to role. "
            "Nothing was read and nothing was charged."
        )


def check_storable(table: Any) -> None:
    """Refuse a list that PostgreSQL cannot store."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for column in table.columns:
        if pa.types.is_string(column.type) and pc.any(pc.match_substring(column, "\0")).as_py():
            raise UsageError(
                "A listed group holds the character NUL, which no text of PostgreSQL can hold: "
                "leave it out. Nothing was read and nothing was charged."
            )
