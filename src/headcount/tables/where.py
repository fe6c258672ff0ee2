"""``where="country = 'SE' and age >= 18"``: a small, closed language for choosing rows.

Whatever can fail on a value, or look beyond one row, is refused before anything is read: no
functions, no arithmetic, no casts, no other tables. A constant must fit its column's kind by the
schema alone, so the engine never converts a cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from operator import eq, ge, gt, le, lt, ne
from typing import Any
from uuid import UUID

from headcount.errors import SchemaError, UsageError
from headcount.tables.engine import Engine, double
from headcount.tables.kinds import Kind, missing
from headcount.tables.rules import ruled

ALLOWED = (
    "A where clause may compare the table's own columns with constants (=, <>, <, <=, >, >=, in, "
    "between, is null) and join comparisons with and, or, not. Nothing was read and nothing was "
    "charged."
)
COMPARISONS = {"EQ": eq, "NEQ": ne, "LT": lt, "LTE": le, "GT": gt, "GTE": ge}
MIRRORED = {"EQ": "EQ", "NEQ": "NEQ", "LT": "GT", "LTE": "GTE", "GT": "LT", "GTE": "LTE"}
PATTERNS = {"Like": "LIKE", "ILike": "ILIKE", "RegexpLike": "a regular expression"}
UNORDERED = (Kind.TEXT, Kind.BOOLEAN, Kind.UUID)
INT64 = range(-(1 << 63), 1 << 63)


def parse_where(
    text: str, expr: Any, kinds: Mapping[str, Kind], engine: Engine, *, lists_columns: bool = True
) -> Any:
    """The clause as a condition on the table's rows.

    lists_columns:  whether a refusal may name the columns there are
    """
    import sqlglot

    try:
        trees = sqlglot.parse(text)
        if len(trees) != 1 or trees[0] is None:
            raise UsageError(f"The where clause must be one condition. {ALLOWED}")
        return _Reader(expr, kinds, engine, lists_columns).condition(trees[0])
    except sqlglot.errors.SqlglotError:
        raise UsageError(f"The where clause is not well formed. {ALLOWED}") from None
    except RecursionError:
        raise UsageError(f"The where clause is nested too deeply. {ALLOWED}") from None


def columns_in(text: str) -> set[str]:
    """The columns that a clause names which was parsed before."""
    import sqlglot
    from sqlglot import exp

    return {column.name for column in sqlglot.parse_one(text).find_all(exp.Column)}


class _Reader:
    def __init__(
        self, expr: Any, kinds: Mapping[str, Kind], engine: Engine, lists_columns: bool
    ) -> None:
        self.expr, self.kinds, self.engine = expr, kinds, engine
        self.lists_columns = lists_columns

    def condition(self, tree: Any) -> Any:
        name = type(tree).__name__
        if name == "Paren":
            return self.condition(tree.this)
        if name == "And":
            return self.condition(tree.this) & self.condition(tree.expression)
        if name == "Or":
            return self.condition(tree.this) | self.condition(tree.expression)
        if name == "Not":
            return ~self.condition(tree.this)
        if name in COMPARISONS:
            return self.comparison(name, tree.this, tree.expression)
        if name == "In" and tree.expressions and not _extra(tree, {"this", "expressions"}):
            column = self.column(tree.this)
            return self.value(column).isin([self.constant(column, x) for x in tree.expressions])
        if name == "Between" and not _extra(tree, {"this", "low", "high"}):
            low = self.comparison("GTE", tree.this, tree.args["low"])
            return low & self.comparison("LTE", tree.this, tree.args["high"])
        if name == "Is" and type(tree.expression).__name__ == "Null":
            return self.value(self.column(tree.this)).isnull()
        what = PATTERNS.get(name)
        if what is not None:
            raise UsageError(
                f"The where clause uses {what}, which engines read in different ways. List the "
                "values (page in ('/a', '/b')), or make a column of what it finds, in the table or "
                f"in a view, and compare that. {ALLOWED}"
            )
        raise UsageError(f"The where clause uses something that is not allowed. {ALLOWED}")

    def comparison(self, name: str, left: Any, right: Any) -> Any:
        if type(left).__name__ != "Column":
            name, left, right = MIRRORED[name], right, left
        column = self.column(left)
        kind = self.kinds[column]
        if kind in UNORDERED and name not in ("EQ", "NEQ"):
            raise SchemaError(
                f"The column {column!r} holds {kind}, which can be tested with =, <> and in but "
                "has no order that all engines share. Nothing was read and nothing was charged."
            )
        return COMPARISONS[name](self.value(column), self.constant(column, right))

    def column(self, tree: Any) -> str:
        if type(tree).__name__ != "Column" or _extra(tree, {"this"}):
            raise UsageError(f"The where clause compares something else than a column. {ALLOWED}")
        name = str(tree.this.this)
        if name not in self.kinds:
            raise SchemaError(missing(name, self.kinds if self.lists_columns else ()))
        if self.kinds[name] is Kind.OTHER:
            raise SchemaError(
                f"The column {name!r} is of a type that headcount does not read, so no rows can be "
                "chosen by it, not even by whether it is missing. Make a column of text, numbers "
                "or times from it, in the table or in a view. Nothing was read and nothing was "
                "charged."
            )
        return name

    def value(self, column: str) -> Any:
        """The column under the rule of its kind, so that what is missing there is missing here."""
        return ruled(self.engine, self.expr[column], self.kinds[column])

    def constant(self, column: str, tree: Any) -> Any:
        """The constant, in the column's own kind."""
        import ibis

        kind, name = self.kinds[column], type(tree).__name__
        negative = name == "Neg"
        if negative:
            tree, name = tree.this, type(tree.this).__name__
        refusal = SchemaError(
            f"The where clause compares the column {column!r}, which holds {kind}, with a constant "
            f"that does not fit it. {ALLOWED}"
        )
        if name == "Boolean" and kind is Kind.BOOLEAN and not negative:
            return ibis.literal(bool(tree.this))
        if name != "Literal" or (negative and tree.is_string):
            raise refusal
        text = str(tree.this)
        try:
            if tree.is_string:
                return self.from_text(kind, text)
            return _from_number(kind, -Decimal(text) if negative else Decimal(text))
        except (ValueError, ArithmeticError):
            raise refusal from None

    def from_text(self, kind: Kind, text: str) -> Any:
        import ibis

        if kind is Kind.TEXT:
            return ibis.literal(text)
        if kind is Kind.UUID:
            return ibis.literal(UUID(text))
        if kind is Kind.DATE:
            return ibis.literal(date.fromisoformat(text))
        if kind in (Kind.TIME, Kind.ZONED_TIME):
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is not None:
                if kind is Kind.TIME:
                    raise ValueError
                moment = moment.astimezone(UTC).replace(tzinfo=None)
            return self.engine.moment(moment)
        raise ValueError


def _from_number(kind: Kind, number: Decimal) -> Any:
    import ibis

    # Its size first: a few letters can spell a number that takes hours to write out.
    is_whole = number.adjusted() <= 18 and number == number.to_integral_value()
    if kind is Kind.INTEGER and is_whole and int(number) in INT64:
        return ibis.literal(int(number), "int64")
    # 15 digits make the same double on every engine.
    exact = len(number.as_tuple().digits) <= 15 and abs(number.adjusted()) <= 15
    if kind in (Kind.FLOAT, Kind.DECIMAL) and exact:
        return double(float(number))
    raise ValueError


def _extra(tree: Any, known: set[str]) -> bool:
    return any(value for name, value in tree.args.items() if name not in known)
