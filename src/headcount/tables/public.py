"""``hc.public``: a table that holds nothing of any user, and may be joined to the rows of one."""

from __future__ import annotations

import weakref
from secrets import token_hex
from typing import Any

from headcount.errors import UsageError

SPARK_PREFIX = "headcount_public_"
_declared: weakref.WeakSet[Any] = weakref.WeakSet()


def public(table: Any) -> Any:
    """Declare that a table is public: a list of countries, a calendar, a price list.

    Join what this returns to the table of events. Whether it is public is yours to know: what
    depends on any user, their number included, is not. What a table in memory says is part of the
    question; a table in a database is known by its name.

    table:  an Ibis table or a Spark data frame
    """
    package = type(table).__module__.split(".")[0]
    if package == "ibis" and hasattr(table, "view"):
        declared = table.view()
        _declared.add(declared.op())
        return declared
    if package == "pyspark" and hasattr(table, "alias"):
        return table.alias(SPARK_PREFIX + token_hex(8))
    raise UsageError(
        "hc.public takes an Ibis table or a Spark data frame, to be joined to another one, "
        f"not a {type(table).__name__}. Join a table in memory before you open it, without "
        "hc.public. Nothing was charged."
    )


def is_declared(relation: Any) -> bool:
    """Whether a relation of an Ibis expression is one that ``public`` returned."""
    return relation in _declared


QUERIES = ("SQLQueryResult", "SQLStringView")
"""Texts of SQL, which nobody looks into."""


def private_leaves(expr: Any, *kinds: str) -> list[Any]:
    """The tables of these kinds that an expression reads, but for those within public ones."""
    import ibis.expr.operations as ops

    wanted = tuple(getattr(ops, kind) for kind in kinds)
    waiting, seen, leaves = [expr.op()], set(), []
    while waiting:
        op = waiting.pop()
        if op in seen or is_declared(op):
            continue
        seen.add(op)
        if isinstance(op, wanted):
            leaves.append(op)
        waiting.extend(op.__children__)
    return leaves
