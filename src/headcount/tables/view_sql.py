"""A view in a database is read as text before it is counted, by the law of ``views``.

What passes is one SELECT over one table, row by row, or several of these with UNION ALL. All else
is refused by name. The text is the database's own spelling of the view.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from headcount.tables.view_columns import Unclear, Wanted, beneath, branches
from headcount.tables.view_functions import refuse_fleeting, refuse_function, shown
from headcount.tables.views import fleeting, merges_users, mixes_users

MAX_DEPTH = 32
ROW_BY_ROW = ("kind", "expressions", "from_", "where", "order")
UNION = ("this", "expression", "distinct", "by_name", "order")
TABLE = ("this", "db", "catalog", "alias", "only")
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


class Relations(Protocol):
    """What a database says of the names in a view."""

    def texts_of(self, table: Any) -> list[str | None]:
        """The text of a view, given a name as it was parsed.

        None for a table, and an empty text for what is neither. There are several only if
        somebody vouches for what mixes users.
        """
        ...

    def check_table(self, table: Any, user: Wanted) -> None:
        """Refuse a user column that is not one of the table's own."""
        ...


def check_view(
    text: str, dialect: str, user: str | None, relations: Relations, *, trusted: bool
) -> None:
    """Refuse a view whose rows are not each a function of one record.

    user:     the name that the user column has in it, if it is there
    trusted:  whether somebody vouches for operations that mix users
    """
    _View(dialect, user, relations, trusted).text(text, user, 0)


def check_value(value: Any, dialect: str, *, trusted: bool) -> None:
    """Refuse an expression, as it was parsed, that does not look at its own row alone."""
    for node in value.walk():
        if trusted:
            refuse_fleeting(node, dialect)
        else:
            refuse_function(node, dialect, _mixes)


def _mixes(what: str) -> None:
    raise mixes_users(what)


class _View:
    def __init__(self, dialect: str, user: str | None, relations: Relations, trusted: bool) -> None:
        self.dialect, self.user, self.relations = dialect, user, relations
        self.trusted = trusted
        self.seen: set[str] = set()

    def text(self, text: str, user: Wanted, depth: int) -> None:
        import sqlglot
        from sqlglot import exp

        try:
            tree = sqlglot.parse_one(text, read=self.dialect)
        except (sqlglot.errors.SqlglotError, RecursionError):
            if not self.trusted:
                raise mixes_users("SQL that headcount cannot read") from None
            return
        if self.trusted:
            self.repeats(tree, text)
            return
        if isinstance(tree, exp.Create):
            if user is not None and isinstance(tree.this, exp.Schema):
                raise merges_users(str(self.user), "a list of names behind the view's own")
            tree = tree.expression
        self.query(tree, user, depth)

    def repeats(self, tree: Any, text: str) -> None:
        """Refuse what need not be the same when it is read again, wherever it stands."""
        from sqlglot import exp

        self.seen.add(text)
        for node in tree.walk():
            refuse_fleeting(node, self.dialect)
            if isinstance(node, exp.Limit | exp.Fetch | exp.Offset | exp.TableSample):
                raise fleeting(FLEETING.get(node.key, "a sample or a limit"))
            if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
                for below in self.relations.texts_of(node):
                    if below is None:
                        self.relations.check_table(node, None)
                    elif below not in self.seen:
                        self.text(below, None, 0)

    def query(self, tree: Any, user: Wanted, depth: int) -> None:
        from sqlglot import exp

        if isinstance(tree, exp.Subquery):
            self.table(tree, user, depth)
        elif isinstance(tree, exp.Union) and tree.args.get("distinct") is False:
            self.clauses(tree, UNION)
            left, right = self.clear(lambda: branches(tree, user))
            self.query(tree.this, left, depth)
            self.query(tree.expression, right, depth)
        elif not isinstance(tree, exp.Select) or depth > MAX_DEPTH:
            raise mixes_users("something else than a SELECT over one table")
        else:
            self.clauses(tree, ROW_BY_ROW)
            source, start = self.clear(lambda: beneath(tree, user)), tree.args.get("from_")
            if start is None:
                raise mixes_users("a SELECT without a table")
            self.table(start.this, source, depth)

    def clear(self, find: Callable[[], Any]) -> Any:
        """What is found, or the refusal of a user column that is not clearly one of the table."""
        try:
            return find()
        except Unclear as unclear:
            what = unclear.made_by
            what = what if isinstance(what, str) else shown(what, self.dialect)
        raise merges_users(str(self.user), what)

    def clauses(self, query: Any, allowed: tuple[str, ...]) -> None:
        """No clause but those that look at one row, and in them no function that looks further."""
        self.refuse_clauses(query, allowed)
        parts = () if "this" in allowed else query.expressions
        for part in (*parts, query.args.get("where"), query.args.get("order")):
            for node in part.walk() if part is not None else ():
                refuse_function(node, self.dialect, _mixes)

    def refuse_clauses(self, node: Any, allowed: tuple[str, ...]) -> None:
        for name, value in node.args.items():
            if value and name in FLEETING:
                raise fleeting(FLEETING[name])
            if value and name not in allowed:
                raise mixes_users(MIXING.get(name, f"the clause {name.strip('_').upper()}"))

    def table(self, table: Any, user: Wanted, depth: int) -> None:
        """A table, a query in its place, or a view to look into."""
        from sqlglot import exp

        self.refuse_clauses(table, TABLE)
        alias = table.args.get("alias")
        if user is not None and alias is not None and alias.args.get("columns"):
            raise merges_users(str(self.user), f"a list of names behind {alias.name!r}")
        if isinstance(table, exp.Subquery):
            self.query(table.this, user, depth + 1)
            return
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            raise mixes_users(f"{shown(table, self.dialect)} in place of a table")
        for text in self.relations.texts_of(table):
            if text is None:
                self.relations.check_table(table, user)
            else:
                self.text(text, user, depth + 1)
