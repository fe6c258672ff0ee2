"""A Spark data frame is walked before it is counted, by the law of ``views``.

Spark keeps how a frame was made as a tree, which is asked for here without running anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headcount.tables.public import SPARK_PREFIX
from headcount.tables.views import KEEPS_LEFT_ROWS, PUBLIC, fleeting, merges_users, mixes_users

ROW_BY_ROW = (
    "Project",
    "Filter",
    "Sort",
    "SubqueryAlias",
    "View",
    "Union",
    "Generate",
    "Repartition",
    "RepartitionByExpression",
    "RebalancePartitions",
    "ResolvedHint",
)
LEAVES = (
    "LogicalRelation",
    "LocalRelation",
    "LogicalRDD",
    "HiveTableRelation",
    "DataSourceV2Relation",
    "DataSourceV2ScanRelation",
    "Range",
    "OneRowRelation",
)
FLEETING = ("GlobalLimit", "LocalLimit", "Limit", "Tail", "Offset", "Sample")
CLOCKS = ("CurrentDate", "CurrentTime", "CurrentTimestamp", "LocalTimestamp", "Now")
JOINS = {
    "Inner": "inner",
    "Cross": "cross",
    "LeftOuter": "left",
    "LeftSemi": "semi",
    "LeftAnti": "anti",
}


def check_plan(plan: Any, user: str | None, *, trusted: bool) -> None:
    """Refuse a frame whose rows are not each a function of one record.

    plan:     the analyzed plan of a frame
    user:     the name that the user column has in it, if it is there
    trusted:  whether somebody vouches for operations that mix users
    """
    walk = _Walk(trusted)
    walk.node(plan)
    named = [column for column in _items(plan.output()) if column.name() == user]
    if user is not None and not trusted:
        if len(named) != 1:
            raise merges_users(user, "something else than a column of the frame")
        walk.user_column(plan, int(named[0].exprId().id()), user)


class _Walk:
    def __init__(self, trusted: bool) -> None:
        self.trusted = trusted

    def mixes(self, what: str) -> None:
        if not self.trusted:
            raise mixes_users(what)

    def node(self, plan: Any) -> None:
        name = plan.nodeName()
        if _is_public(plan):
            return
        if name in FLEETING:
            raise fleeting(f"the operation {name!r}")
        if name == "Join":
            self.join(plan)
        elif name not in ROW_BY_ROW and name not in LEAVES:
            self.mixes(f"the operation {name!r}")
        for value in _items(plan.expressions()):
            self.value(value)
        for child in _items(plan.children()):
            self.node(child)

    def join(self, plan: Any) -> None:
        """Rows of one side, each with what a public table says of it."""
        left, right = _items(plan.children())
        how = JOINS.get(plan.joinType().toString(), plan.joinType().toString())
        if not _is_public(right) and not _is_public(left):
            self.mixes("a join with a table that is not declared public")
        elif how not in (KEEPS_LEFT_ROWS if _is_public(right) else ("inner", "cross")):
            self.mixes(f"a {how} join")

    def value(self, value: Any) -> None:
        """Refuse a function that looks beyond its row; the innermost one is named."""
        children = list(_items(value.children()))
        for child in children:
            self.value(child)
        name = value.getClass().getSimpleName()
        if name in CLOCKS or not value.deterministic():
            raise fleeting(f"the function {value.prettyName()}")
        if name.endswith("Subquery") or name in ("Exists", "ListQuery"):
            self.mixes("a query within the query")
        elif name in ("PythonUDF", "ScalaUDF", "PythonUDAF"):
            self.mixes("a user-defined function")

    def user_column(self, plan: Any, number: int, user: str) -> None:
        """The user column must be a column of the table that the frame is made of, or its text."""
        if _is_public(plan):
            raise merges_users(user, PUBLIC)
        children = list(_items(plan.children()))
        if plan.nodeName() == "Union":
            place = _numbers(plan).index(number)
            for child in children:
                self.user_column(child, _numbers(child)[place], user)
            return
        if plan.nodeName() == "Project":
            for value in _items(plan.projectList()):
                if value.exprId().id() == number and value.getClass().getSimpleName() == "Alias":
                    number = _source(value.child(), user)
        within = [child for child in children if number in _numbers(child)]
        if children and not within:
            raise merges_users(user, f"the operation {plan.nodeName()!r}")
        for child in within:
            self.user_column(child, number, user)


def _source(value: Any, user: str) -> int:
    """The number of the column that a value is, or is the text of."""
    while value.getClass().getSimpleName() == "Cast" and _keeps_apart(value):
        value = value.child()
    if value.getClass().getSimpleName() != "AttributeReference":
        raise merges_users(user, f"the function {value.prettyName()}")
    return int(value.exprId().id())


def _numbers(plan: Any) -> list[int]:
    """The numbers that Spark has given to the columns of a plan."""
    return [int(column.exprId().id()) for column in _items(plan.output())]


def _keeps_apart(cast: Any) -> bool:
    """Whether a cast gives different values to different users."""
    given, to = cast.child().dataType().typeName(), cast.dataType().typeName()
    whole = ["byte", "short", "integer", "long"]
    if given not in (*whole, "string"):
        return False
    return to == "string" or (
        given in whole and to in whole and whole.index(given) <= whole.index(to)
    )


def _is_public(plan: Any) -> bool:
    """Whether everything that a plan is made of was declared public."""
    if plan.nodeName() == "SubqueryAlias" and plan.alias().startswith(SPARK_PREFIX):
        return True
    children = list(_items(plan.children()))
    return bool(children) and all(map(_is_public, children))


def _items(sequence: Any) -> Iterator[Any]:
    """The items of a Scala sequence."""
    for index in range(sequence.size()):
        yield sequence.apply(index)
