"""What DuckDB says of the names in a view: which tables and views have them, and which macros."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, NamedTuple

from headcount.tables.view_columns import EVERY, Wanted
from headcount.tables.view_sql import check_value, check_view
from headcount.tables.views import merges_users, mixes_users

NAMED = """
select database_name, schema_name, view_name, temporary, true, coalesce(sql, '')
from duckdb_views() where not internal and lower(view_name) = lower($1)
union all
select database_name, schema_name, table_name, temporary, false, coalesce(sql, '')
from duckdb_tables() where not internal and lower(table_name) = lower($1)
"""
MACROS = """
select function_name, coalesce(macro_definition, ''), function_name in (
    select function_name from duckdb_functions() where internal
) from duckdb_functions() where not internal
"""


class Relation(NamedTuple):
    """A table or a view, with the text that made it."""

    database: str
    schema: str
    name: str
    temporary: bool
    is_view: bool
    sql: str


def named_relations(connection: Any, name: str, schema: str, catalog: str) -> list[Relation]:
    """All that a name could mean; what stands alone before it is a schema or a database."""
    rows = connection.con.execute(NAMED, [name]).fetchall()
    found = []
    for each in (Relation(*row) for row in rows):
        place = (each.database.lower(), each.schema.lower())
        if catalog and place != (catalog.lower(), schema.lower()):
            continue
        if catalog or not schema or schema.lower() in place:
            found.append(each)
    return found


class DuckDBRelations:
    """The tables, views and macros of a connection, as a check of the user column needs them."""

    def __init__(self, connection: Any, *, trusted: bool) -> None:
        self.connection, self.trusted = connection, trusted

    def check_leaf(self, op: Any, user: str | None) -> None:
        """Look into a table of an Ibis expression, which may be a view."""
        if type(op).__name__ != "DatabaseTable":
            return
        self.check_macros()
        catalog, schema = op.namespace.catalog or "", op.namespace.database or ""
        found = named_relations(self.connection, op.name, schema, catalog)
        if len(found) > 1:
            found = self.preferred(found, schema)
        for each in self.only(op.name, found):
            if each is None or each.is_view:
                text = "" if each is None else self.looked_into(each.sql)
                check_view(text, "duckdb", user, self, trusted=self.trusted)
            else:
                self.check_columns(each, user)

    def preferred(self, found: list[Relation], schema: str) -> list[Relation]:
        """The one that a query by this name reads, if that is sure."""
        asked = self.connection.con.execute("select current_database(), current_schema()")
        here = asked.fetchall()[0]
        place = (here[0].lower(), schema.lower() or here[1].lower())
        temporary = [each for each in found if each.temporary and not schema]
        near = [each for each in found if (each.database.lower(), each.schema.lower()) == place]
        return temporary or near or found

    def only(self, name: str, found: list[Relation]) -> list[Relation | None]:
        """What a name means, or a refusal if it could mean several things."""
        if len(found) > 1 and not self.trusted:
            raise mixes_users(f"the name {name!r}, which several schemas or databases have")
        return [*found] or [None]

    def named(self, table: Any) -> list[Relation | None]:
        """What a name within a view means."""
        found = named_relations(self.connection, table.name, table.db, table.catalog)
        return self.only(table.name, found)

    def texts_of(self, table: Any) -> list[str | None]:
        """The text of a view, None for a table, an empty text for what is neither."""
        return [
            "" if each is None else self.looked_into(each.sql) if each.is_view else None
            for each in self.named(table)
        ]

    def check_table(self, table: Any, user: Wanted) -> None:
        """Refuse a user column that is not one of the table's own."""
        for each in self.named(table):
            if each is not None and not each.is_view:
                self.check_columns(each, user)

    def check_columns(self, table: Relation, user: Wanted) -> None:
        """The user column is there and stored; what is generated looks at its own row."""
        place = [table.database, table.schema, table.name]
        columns = self.connection.con.execute(
            "select lower(column_name) from duckdb_columns() "
            "where database_name = ? and schema_name = ? and table_name = ?",
            place,
        ).fetchall()
        if isinstance(user, str) and (user.lower(),) not in columns and not self.trusted:
            raise merges_users(user, "something else than a column of the table")
        for name, value in self.generated(table).items():
            is_user = user == EVERY or (isinstance(user, str) and user.lower() == name.lower())
            if is_user and not self.trusted:
                raise merges_users(name, "a generated column")
            check_value(value, "duckdb", trusted=self.trusted)

    def generated(self, table: Relation) -> dict[str, Any]:
        """The expressions of the columns that are computed whenever they are read."""
        import sqlglot
        from sqlglot import exp

        if "generated" not in table.sql.lower():
            return {}
        try:
            tree = sqlglot.parse_one(self.looked_into(table.sql), read="duckdb")
        except (sqlglot.errors.SqlglotError, RecursionError):
            raise mixes_users("a generated column that headcount cannot read") from None
        return {
            column.name: constraint.kind.expression
            for column in tree.find_all(exp.ColumnDef)
            for constraint in column.constraints
            if isinstance(constraint.kind, exp.GeneratedAsIdentityColumnConstraint)
        }

    @cached_property
    def macros(self) -> list[tuple[str, str, bool]]:
        """Name, definition, and whether a function of DuckDB's own has the name as well."""
        found: list[tuple[str, str, bool]] = self.connection.con.execute(MACROS).fetchall()
        return found

    def check_macros(self) -> None:
        """No macro in place of DuckDB's own functions, which operators and our queries call."""
        for name, _, hides in self.macros:
            if hides and not self.trusted:
                raise mixes_users(f"the macro {name!r}, which hides a function of DuckDB")

    def looked_into(self, text: str) -> str:
        """The text, if it calls no macro; with somebody's word it may, if no macro draws lots."""
        import sqlglot

        waiting, seen = [text], {text}
        while waiting:
            calling = waiting.pop()
            for name, definition, _ in self.macros:
                if not calls(calling, name):
                    continue
                if not self.trusted:
                    raise mixes_users(f"the macro {name!r}")
                if definition not in seen:
                    seen.add(definition)
                    waiting.append(definition)
                    try:
                        tree = sqlglot.parse_one(definition, read="duckdb")
                    except (sqlglot.errors.SqlglotError, RecursionError):
                        continue
                    check_value(tree, "duckdb", trusted=True)
        return text


def calls(text: str, name: str) -> bool:
    """Whether a text may call a function of this name."""
    spelled = re.escape(name.replace('"', '""'))
    return re.search(rf'(?<!\w){spelled}"?\s*\(', text, re.IGNORECASE) is not None
