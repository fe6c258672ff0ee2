"""A view in a database is read as text before it is counted, by the law of ``views``.

What passes is one SELECT over one table, row by row, or several of these with UNION ALL. All else
is refused by name. The text is the database's own spelling of the view.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headcount.tables.views import fleeting, merges_users, mixes_users

MAX_DEPTH = 32
ROW_BY_ROW = ("kind", "expressions", "from_", "where", "order")
MIXING = {
    "with_": "WITH",
    "joins": "a join",
    "laterals": "LATERAL",
    "group": "GROUP BY",
    "having": "HAVING",
    "distinct": "DISTINCT",
    "pivots": "PIVOT",
}
FLEETING = {"limit": "LIMIT", "offset": "OFFSET", "sample": "a sample"}
FLEETING_FUNCTIONS = (
    "Rand",
    "Randn",
    "Uuid",
    "CurrentDate",
    "CurrentDatetime",
    "CurrentTime",
    "CurrentTimestamp",
    "CurrentTimestampLTZ",
    "Localtime",
    "Localtimestamp",
)
FLEETING_NAMES = (
    "now",
    "today",
    "random",
    "uuid",
    "uuidv4",
    "uuidv7",
    "gen_random_uuid",
    "get_current_time",
    "get_current_timestamp",
    "transaction_timestamp",
    "statement_timestamp",
    "clock_timestamp",
    "timeofday",
    "nextval",
    "currval",
    "lastval",
    "setseed",
)
# Databases spell some functions of one row in ways that a parser takes for anybody's own.
ROW_FUNCTIONS = (
    "trim",
    "ltrim",
    "rtrim",
    "btrim",
    "substring",
    "substr",
    "left",
    "right",
    "upper",
    "lower",
    "length",
    "replace",
    "concat",
    "round",
    "floor",
    "ceil",
    "abs",
    "date_part",
    "date_trunc",
    "year",
    "month",
    "day",
    "hour",
    "strftime",
    "to_char",
    "timezone",
)
SHOWN = 40

TextOf = Callable[[Any], str | None]
"""The text of a view, given the name of a relation as it was parsed; None for a table, and an
empty text for what is neither."""


def check_view(
    text: str, dialect: str, user: str | None, text_of: TextOf, *, trusted: bool
) -> None:
    """Refuse a view whose rows are not each a function of one record.

    user:     the name that the user column has in it, if it is there
    trusted:  whether somebody vouches for operations that mix users
    """
    _View(dialect, text_of, trusted).text(text, user, 0)


class _View:
    def __init__(self, dialect: str, text_of: TextOf, trusted: bool) -> None:
        self.dialect, self.text_of, self.trusted = dialect, text_of, trusted

    def mixes(self, what: str) -> None:
        if not self.trusted:
            raise mixes_users(what)

    def shown(self, node: Any) -> str:
        return str(node.sql(dialect=self.dialect))[:SHOWN]

    def text(self, text: str, user: str | None, depth: int) -> None:
        import sqlglot
        from sqlglot import exp

        try:
            tree = sqlglot.parse_one(text, read=self.dialect)
        except (sqlglot.errors.SqlglotError, RecursionError):
            self.mixes("SQL that headcount cannot read")
            return
        self.query(tree.expression if isinstance(tree, exp.Create) else tree, user, depth)

    def query(self, tree: Any, user: str | None, depth: int) -> None:
        from sqlglot import exp

        if isinstance(tree, exp.Subquery):
            self.table(tree, user, depth)
        elif isinstance(tree, exp.Union) and tree.args.get("distinct") is False:
            self.query(tree.this, user, depth)
            self.query(tree.expression, user, depth)
        elif not isinstance(tree, exp.Select) or depth > MAX_DEPTH:
            self.mixes("something else than a SELECT over one table")
        else:
            self.clauses(tree)
            source, start = self.source_of(tree, user), tree.args.get("from_")
            if start is None:
                self.mixes("a SELECT without a table")
            else:
                self.table(start.this, source, depth)

    def clauses(self, select: Any) -> None:
        """No clause but those that look at one row, and in them no function that looks further."""
        self.refuse_clauses(select, ROW_BY_ROW)
        for part in (*select.expressions, select.args.get("where"), select.args.get("order")):
            for node in part.walk() if part is not None else ():
                self.function(node)

    def refuse_clauses(self, node: Any, allowed: tuple[str, ...]) -> None:
        for name, value in node.args.items():
            if value and name in FLEETING:
                raise fleeting(FLEETING[name])
            if value and name not in allowed:
                self.mixes(MIXING.get(name, f"the clause {name.strip('_').upper()}"))

    def function(self, node: Any) -> None:
        from sqlglot import exp

        called = node.name.lower() if isinstance(node, exp.Anonymous) else ""
        if type(node).__name__ in FLEETING_FUNCTIONS or called in FLEETING_NAMES:
            raise fleeting(self.shown(node))
        if called in ROW_FUNCTIONS:
            return
        if isinstance(node, exp.Query):
            self.mixes("a query within the query")
        elif isinstance(node, exp.AggFunc | exp.Window | exp.Anonymous | exp.UDTF):
            self.mixes(f"the function {self.shown(node)}")

    def source_of(self, select: Any, user: str | None) -> str | None:
        """The name of the user column in the table beneath; it must be a column there."""
        from sqlglot import exp

        for star in select.find_all(exp.Star):
            if star.args.get("replace") or star.args.get("rename"):
                self.mixes("* with REPLACE or RENAME")
        if user is None or any(part.is_star for part in select.expressions):
            return user
        for part in select.expressions:
            if part.alias_or_name == user:
                value = part.unalias()
                while isinstance(value, exp.Paren) or _to_text(value):
                    value = value.this
                if isinstance(value, exp.Column):
                    return str(value.name)
                if not self.trusted:
                    raise merges_users(user, self.shown(value))
        return None

    def table(self, table: Any, user: str | None, depth: int) -> None:
        """A table, a query in its place, or a view to look into."""
        from sqlglot import exp

        self.refuse_clauses(table, ("this", "db", "catalog", "alias", "only"))
        if isinstance(table, exp.Subquery):
            self.query(table.this, user, depth + 1)
        elif not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            self.mixes(f"{self.shown(table)} in place of a table")
        elif (text := self.text_of(table)) is not None:
            self.text(text, user, depth + 1)


def _to_text(value: Any) -> bool:
    """Whether this is a cast to text of any length, which keeps different values different."""
    from sqlglot import exp

    kind = value.args.get("to") if type(value) is exp.Cast else None
    return kind is not None and kind.is_type("text", "varchar") and not kind.expressions
