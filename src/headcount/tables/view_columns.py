"""Which column of the table beneath a view's user column is: known with certainty, or refused."""

from __future__ import annotations

import re
from typing import Any

EVERY = -1
Wanted = str | int | None
"""A column's name, its place in the list, ``EVERY`` where any could be it, None if it is not
there."""

# PostgreSQL quotes columns of these names; without quotes they are functions.
KEYWORDS = (
    "user",
    "current_user",
    "session_user",
    "system_user",
    "current_role",
    "current_catalog",
    "current_schema",
)


class Unclear(Exception):  # noqa: N818
    """What a user column is made by, where that is not one column of the table."""

    def __init__(self, made_by: Any) -> None:
        super().__init__(made_by)
        self.made_by = made_by


def beneath(select: Any, user: Wanted) -> Wanted:
    """What to look for in the table that a SELECT reads."""
    if user is None:
        return None
    outputs = select.expressions
    for part in outputs:
        if _computes_columns(part):
            raise Unclear(part)
    stars = [part for part in outputs if part.is_star]
    listed = [part for part in outputs if not part.is_star]
    for star in stars:
        _check_qualifier(select, star)
    if isinstance(user, str):
        return _star(stars, listed, user) if stars else _named(select, listed, user)
    if user == EVERY:
        for part in listed:
            _source(select, part)
        return EVERY
    if stars or user >= len(listed):
        raise Unclear("a column that is not listed")
    return _source(select, listed[user])


def branches(union: Any, user: Wanted) -> tuple[Wanted, Wanted]:
    """What to look for on both sides of a UNION ALL: columns match by place unless BY NAME."""
    if user is None:
        return None, None
    if union.args.get("by_name"):
        return (user, user) if isinstance(user, str) else (EVERY, EVERY)
    left, right = _listed(union.this), _listed(union.expression)
    if left is None or right is None or len(left) != len(right):
        return (user if isinstance(user, str) or left is not None else EVERY), EVERY
    if isinstance(user, int):
        return user, user
    places = [place for place, part in enumerate(left) if _is_named(part, user)]
    if len(places) != 1:
        raise Unclear("a column that is not listed once")
    return places[0], places[0]


def _listed(tree: Any) -> list[Any] | None:
    """The columns of a query, if all of them are listed."""
    from sqlglot import exp

    if isinstance(tree, exp.Subquery):
        return _listed(tree.this)
    if isinstance(tree, exp.Union):
        return None if tree.args.get("by_name") else _listed(tree.this)
    if not isinstance(tree, exp.Select) or any(part.find(exp.Star) for part in tree.expressions):
        return None
    return list(tree.expressions)


def _computes_columns(part: Any) -> bool:
    """Whether this is a star with changes, or an expression over many columns at once."""
    from sqlglot import exp

    star = part.this if isinstance(part, exp.Column) else part
    if isinstance(star, exp.Star):
        return any(star.args.values())
    return part.find(exp.Star, exp.Columns) is not None


def _star(stars: list[Any], listed: list[Any], user: str) -> str:
    """A column that comes with the star, since nothing listed beside it can have its name."""
    from sqlglot import exp

    if len(stars) > 1:
        raise Unclear("one * beside another")
    for part in listed:
        if not isinstance(part, exp.Column | exp.Alias) or _could_be(part, user):
            raise Unclear(part)
    return user


def _named(select: Any, listed: list[Any], user: str) -> str:
    names = [name.lower() for part in listed for name in _names(part)]
    found = [
        part
        for part in listed
        if _is_named(part, user)
        or (_could_be(part, user) and any(names.count(name.lower()) > 1 for name in _names(part)))
    ]
    sources = {_source(select, part) for part in found}
    if len({source.lower() for source in sources}) != 1:
        raise Unclear("a column that is not listed once")
    return sources.pop()


def _source(select: Any, part: Any) -> str:
    """The name of the column beneath that an output is, or is the text of."""
    from sqlglot import exp

    value = part.unalias()
    while isinstance(value, exp.Paren) or _to_text(value):
        value = value.this
    if not isinstance(value, exp.Column) or value.is_star:
        raise Unclear(value)
    name = str(value.name)
    if value.table:
        _check_qualifier(select, value)
    elif not value.this.args.get("quoted") and name.lower() in KEYWORDS:
        raise Unclear(value)
    for other in select.expressions:
        is_alias = isinstance(other, exp.Alias) and other is not part
        if is_alias and not value.table and other.alias.lower() == name.lower():
            raise Unclear(other.this)
    return name


def _check_qualifier(select: Any, column: Any) -> None:
    """What stands before the dot must be the table, since it could be a column with fields."""
    start = select.args.get("from_")
    known = start.this.alias_or_name.lower() if start is not None else ""
    if column.args.get("table") and (column.args.get("db") or column.table.lower() != known):
        raise Unclear(column)


def _names(part: Any) -> set[str]:
    return {part.alias_or_name, part.output_name} - {""}


def _is_named(part: Any, user: str) -> bool:
    return user.lower() in {name.lower() for name in _names(part)}


def _could_be(part: Any, user: str) -> bool:
    """Whether a column may have this name: a second one of a name gets a number behind it."""
    return any(
        re.fullmatch(re.escape(name.lower()) + r"([_:]\d+)*", user.lower()) for name in _names(part)
    )


def _to_text(value: Any) -> bool:
    """Whether this is a cast to text of any length, which keeps different values different."""
    from sqlglot import exp

    kind = value.args.get("to") if type(value) is exp.Cast else None
    return kind is not None and kind.is_type("text", "varchar") and not kind.expressions
