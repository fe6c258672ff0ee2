"""An Ibis expression is walked before it is counted: every row of it must come from one record.

Row by row operations pass, and so do joins with public tables. What mixes the rows of users
(aggregates, windows, other joins) is refused unless somebody vouches for it. What may give other
rows each time it is read (samples, limits, random numbers) is refused in any case, because a
release reads its table more than once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from headcount.errors import UsageError
from headcount.tables.public import is_declared

NOTHING = "Nothing was read and nothing was charged."
INSTEAD = (
    "Open the table that it is made of and count that, join only what hc.public(...) declares, or "
    "say who vouches that no row of the result depends on two users: "
    f"trusted_view='name and reason'. {NOTHING}"
)
ROW_BY_ROW = (
    "Project",
    "Filter",
    "Sort",
    "DropColumns",
    "FillNull",
    "DropNull",
    "TableUnnest",
    "SelfReference",
    "JoinReference",
)
LEAVES = ("DatabaseTable", "InMemoryTable")
FLEETING = ("Limit", "Sample", "Impure")
PUBLIC = "a table that hc.public(...) declares to hold nothing of any user"
KEEPS_LEFT_ROWS = ("inner", "left", "semi", "anti", "cross", "any_inner", "any_left")


def mixes_users(what: str) -> UsageError:
    """The refusal of an operation by which one user's rows could depend on another's."""
    return UsageError(
        f"This view uses {what}, by which rows of one user can depend on those of another. "
        f"{INSTEAD}"
    )


def fleeting(what: str) -> UsageError:
    """The refusal of what need not be the same when it is read again."""
    return UsageError(
        f"This view uses {what}, which can give other rows each time it is read, and a release "
        "reads its table several times. Store the view as a table (Spark: frame.checkpoint()) and "
        f"open that. {NOTHING}"
    )


def merges_users(column: str, what: str) -> UsageError:
    """The refusal of a user column that is not one of the table's own."""
    return UsageError(
        f"The user column {column!r} is made by {what}, which can give two users one value; the "
        "bound on what one user gives would then hold for neither. Give a column of the table "
        f"itself. {NOTHING}"
    )


def check_expression(
    expr: Any, user: str, check_leaf: Callable[[Any, str | None], None], *, trusted: bool
) -> None:
    """Refuse an expression whose rows are not each a function of one record.

    check_leaf:  looks further into a table that may itself be a view; it gets the table's
                 operation and the name the user column has there, if it is there
    trusted:     whether somebody vouches for operations that mix users
    """
    _Walk(check_leaf, trusted).relation(expr.op(), user)


class _Walk:
    def __init__(self, check_leaf: Callable[[Any, str | None], None], trusted: bool) -> None:
        self.check_leaf, self.trusted = check_leaf, trusted

    def relation(self, op: Any, user: str | None) -> None:
        """Refuse what is not row by row; ``user`` is the user column's name here, if it is here."""
        import ibis.expr.operations as ops

        name = type(op).__name__
        if is_declared(op):
            if user is not None and not self.trusted:
                raise merges_users(user, PUBLIC)
            return
        if name in LEAVES:
            self.check_leaf(op, user)
            return
        if name in FLEETING:
            raise fleeting(_said(name))
        if isinstance(op, ops.JoinChain):
            self.join(op, user)
            return
        if isinstance(op, ops.Union) and not op.distinct:
            self.relation(op.left, user)
            self.relation(op.right, user)
            return
        if name not in ROW_BY_ROW and not self.trusted:
            raise mixes_users(_said(name))
        self.values(op)
        source = self.source_of(op, user)
        for parent in _relations(op):
            self.relation(parent, source)

    def join(self, op: Any, user: str | None) -> None:
        """Rows of one table, each with what public tables say of it."""
        import ibis.expr.operations as ops

        self.values(op)
        tables = [op.first, *(link.table for link in op.rest)]
        private = [table for table in tables if not self.is_public(table)]
        if not self.trusted:
            if len(private) > 1:
                raise mixes_users("a join with a table that is not declared public")
            kept = KEEPS_LEFT_ROWS if private == [op.first] else ("inner", "cross")
            for link in op.rest:
                if link.how not in kept:
                    raise mixes_users(f"a {link.how} join")
        source = self.source_of(op, user)
        owner = None
        if source is not None:
            owner = next(node.rel for node in op.values[user].find(ops.Field))
            if owner not in private and not self.trusted:
                raise merges_users(str(user), PUBLIC)
        for table in private:
            self.relation(table, source if table == owner else None)

    def is_public(self, op: Any) -> bool:
        """Whether everything that a relation is made of is public."""
        return is_declared(op) or (
            type(op).__name__ not in LEAVES and all(map(self.is_public, _relations(op) or [None]))
        )

    def values(self, op: Any) -> None:
        """Look at what is computed from the columns of one relation."""
        import ibis.expr.operations as ops

        stack = [node for node in op.__children__ if isinstance(node, ops.Value)]
        stack += [value for link in getattr(op, "rest", ()) for value in link.predicates]
        while stack:
            node = stack.pop()
            if isinstance(node, ops.Impure):
                raise fleeting(_said(type(node).__name__))
            stack += [child for child in node.__children__ if isinstance(child, ops.Value)]
            if isinstance(node, ops.Subquery):
                if self.is_public(node.rel):
                    continue
                self.relation(node.rel, None)
            mixed = ops.Reduction | ops.Analytic | ops.WindowFunction | ops.Subquery | ops.RowID
            if isinstance(node, mixed) and not self.trusted:
                raise mixes_users(_said(type(node).__name__))

    def source_of(self, op: Any, user: str | None) -> str | None:
        """The name of the user column one step down; it must be a column there, or its text."""
        import ibis.expr.operations as ops

        if user is None:
            return None
        value = op.values.get(user) if isinstance(op, ops.Project | ops.JoinChain) else None
        filled = getattr(op, "replacements", ())
        if filled != () and (not isinstance(filled, Mapping) or user in filled):
            raise merges_users(user, "filling missing values")
        if isinstance(op, ops.TableUnnest) and user in (op.column_name, op.offset):
            if not self.trusted:
                raise merges_users(user, _said("TableUnnest"))
            return None
        if value is None:
            return user
        while isinstance(value, ops.Cast) and _keeps_apart(value.arg.dtype, value.to):
            value = value.arg
        if isinstance(value, ops.Field):
            return str(value.name)
        if self.trusted:
            return None
        raise merges_users(user, _said(type(value).__name__))


def _keeps_apart(given: Any, to: Any) -> bool:
    """Whether a cast gives different values to different users."""
    if to.is_string():
        return bool(given.is_integer() or given.is_uuid() or given.is_string())
    return bool(given.is_integer() and to.is_integer() and given.nbytes < to.nbytes)


def _relations(op: Any) -> list[Any]:
    import ibis.expr.operations as ops

    return [child for child in op.__children__ if isinstance(child, ops.Relation)]


def _said(name: str) -> str:
    """An operation's class as words: SQLStringView, a SQL string view."""
    words = re.findall("[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+", name)
    said = " ".join(word if len(word) > 1 and word.isupper() else word.lower() for word in words)
    return f"the operation {said!r}"
