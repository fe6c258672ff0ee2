"""What PostgreSQL says of the names in a view: its text, its functions, the table's columns."""

from __future__ import annotations

from typing import Any

from headcount.tables.postgres_schema import quoted
from headcount.tables.view_columns import EVERY, Wanted
from headcount.tables.view_sql import check_view
from headcount.tables.views import merges_users, mixes_users

TEXT = """
select case when relkind in ('v', 'm') then pg_get_viewdef(oid, true)
            when relkind in ('r', 'p', 'f') then null else '' end
from pg_class where oid = to_regclass(%s)
"""
# The numbers below 16384 are PostgreSQL's own.
OWN_FUNCTIONS = """
with recursive reads(oid) as (
    select to_regclass(%s)::oid
  union
    select d.refobjid
    from reads join pg_rewrite w on w.ev_class = reads.oid and w.ev_type = '1'
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
     and d.refclassid = 'pg_class'::regclass
)
select pg_describe_object(d.refclassid, d.refobjid, 0)
from reads join pg_rewrite w on w.ev_class = reads.oid and w.ev_type = '1'
join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
where d.refclassid in ('pg_proc'::regclass, 'pg_operator'::regclass) and d.refobjid >= 16384
order by 1 limit 1
"""
COLUMNS = """
select attname, attgenerated <> '' from pg_attribute
where attrelid = to_regclass(%s) and attnum > 0 and not attisdropped
"""


class PostgresRelations:
    """The tables and views of a connection, as a check of the user column needs them."""

    def __init__(self, connection: Any, *, trusted: bool) -> None:
        self.connection, self.trusted = connection, trusted

    def asked(self, query: str, schema: str | None, name: str) -> list[Any]:
        """What the database answers for one name."""
        place = f"{quoted(schema)}.{quoted(name)}" if schema else quoted(name)
        with self.connection.con.cursor() as cursor:
            cursor.execute(query, [place])
            found: list[Any] = cursor.fetchall()
        return found

    def text(self, schema: str | None, name: str) -> str | None:
        """The query of a view, None for a table, an empty text for what is neither."""
        found = self.asked(TEXT, schema, name)
        return found[0][0] if found else ""

    def check_leaf(self, op: Any, user: str | None) -> None:
        """Look into a table of an Ibis expression, which may be a view."""
        if type(op).__name__ != "DatabaseTable":
            return
        schema = op.namespace.database
        text = self.text(schema, op.name)
        if text is None:
            self.check_columns(schema, op.name, user)
            return
        own = self.asked(OWN_FUNCTIONS, schema, op.name)
        if own and not self.trusted:
            raise mixes_users(f"the {own[0][0]}")
        check_view(text, "postgres", user, self, trusted=self.trusted)

    def texts_of(self, table: Any) -> list[str | None]:
        """The text of a view, given its name as it was parsed."""
        return [self.text(table.db or None, table.name)]

    def check_table(self, table: Any, user: Wanted) -> None:
        """Refuse a user column that is not one of the table's own."""
        self.check_columns(table.db or None, table.name, user)

    def check_columns(self, schema: str | None, name: str, user: Wanted) -> None:
        """The user column is there, and is not generated from others."""
        if self.trusted or user is None:
            return
        columns = [
            (column, generated)
            for column, generated in self.asked(COLUMNS, schema, name)
            if user == EVERY or column.lower() == str(user).lower()
        ]
        if not columns:
            raise merges_users(str(user), "something else than a column of the table")
        for column, generated in columns:
            if generated:
                raise merges_users(column, "a generated column")
