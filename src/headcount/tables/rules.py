"""The rules that make one table mean the same on every engine.

Each rule is one function, holds for every row alike and cannot fail on any value: what a row
holds can change a tally, never stop it [R1]. The sentences are what a plan prints.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from headcount.errors import SchemaError
from headcount.tables.by import Bins, GroupBy, Truncate, column_of
from headcount.tables.engine import MAX_TEXT_BYTES, Engine, double
from headcount.tables.kinds import Kind

USER_KINDS = (Kind.INTEGER, Kind.TEXT, Kind.UUID)
GROUP_KINDS = (Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN, Kind.DATE)
TIME_KINDS = (Kind.DATE, Kind.TIME, Kind.ZONED_TIME)
NUMBER_KINDS = (Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL)
EXACT_INTEGERS = 1 << 53
LONGEST = f"{MAX_TEXT_BYTES >> 20} MiB"


def user_rules(user: str, kind: Kind) -> tuple[str, ...]:
    """The sentences that hold for the user column."""
    dropped = f"Rows without a {user} are dropped."
    if kind is Kind.TEXT:
        return (
            dropped,
            f"Two {user} values are one user only if their bytes are equal; a {user} that is not "
            f"UTF-8 or longer than {LONGEST} counts as missing.",
        )
    return (dropped,)


def group_rule(by: GroupBy, kind: Kind) -> str:
    """The sentence that holds for one group column."""
    name = column_of(by)
    if isinstance(by, Truncate):
        zone = " in UTC" if kind is Kind.ZONED_TIME else ""
        return (
            f"{name} is cut to the start of its {by.to}{zone}; "
            "times outside the years 1 to 9999 are counted as missing."
        )
    if isinstance(by, Bins):
        return (
            f"{name} is cut into bins of width {by.width:f}, numbered so that bin k begins at k "
            "times the width; values that are not finite or lie beyond 2**53 widths are counted "
            "as missing."
        )
    if kind is Kind.TEXT:
        return (
            f"{name} is compared in Unicode normal form C; what is not UTF-8 or longer than "
            f"{LONGEST} counts as missing; those without {name} are a group of their own."
        )
    if kind is Kind.DATE:
        return (
            f"{name} outside the years 1 to 9999 is counted as missing; "
            f"a missing {name} is its own group."
        )
    return f"A missing {name} is its own group."


def check_user(column: str, kind: Kind) -> None:
    """Users are integers, texts or uuids: values that are equal or not, without rounding."""
    if kind is Kind.FLOAT:
        raise SchemaError(
            f"The user column {column!r} holds floating-point numbers. Rounding can make one "
            "person look like two, or two like one. Store the ids as integers or text. Nothing "
            "was read and nothing was charged."
        )
    if kind not in USER_KINDS:
        raise SchemaError(
            f"The user column {column!r} holds {kind}; a user must be an integer (at most 64 "
            "bits, signed), a text or a uuid. Nothing was read and nothing was charged."
        )


def result_kind(by: GroupBy, kind: Kind) -> Kind:
    """What a group column holds after its rule, or a refusal that says how to count by it."""
    name = column_of(by)
    if isinstance(by, Truncate):
        if kind not in TIME_KINDS or (kind is Kind.DATE and by.to == "hour"):
            raise SchemaError(
                f"The column {name!r} holds {kind} and cannot be cut to the {by.to}; that needs a "
                "time. Where it is text in a CSV file or a folder's name, say what it is: "
                f"types={{{name!r}: 'timestamp'}}; elsewhere store it "
                "as a time, or open a view that casts it. Nothing was read and nothing was charged."
            )
        return Kind.TIME if by.to == "hour" else Kind.DATE
    if isinstance(by, Bins):
        if kind not in NUMBER_KINDS:
            raise SchemaError(
                f"The column {name!r} holds {kind} and cannot be cut into bins; that needs a "
                "number. Where it is text in a CSV file or a folder's name, say what it is: "
                f"types={{{name!r}: 'number'}}; elsewhere store it as a "
                "number, or open a view that casts it. Nothing was read and nothing was charged."
            )
        return Kind.INTEGER
    if kind in (Kind.FLOAT, Kind.DECIMAL):
        raise SchemaError(
            f"The column {name!r} holds {kind}s; nearly every value would be a group of its own. "
            f'Cut it into bins: headcount.bins("{name}", width=10). Nothing was read and nothing '
            "was charged."
        )
    if kind in (Kind.TIME, Kind.ZONED_TIME):
        raise SchemaError(
            f"The column {name!r} holds {kind}; nearly every value would be a group of its own. "
            f'Cut it to a unit: headcount.truncate("{name}", "day"). Nothing was read and nothing '
            "was charged."
        )
    if kind not in GROUP_KINDS:
        raise SchemaError(
            f"The column {name!r} holds {kind}; a group must be text, an integer, a boolean or a "
            "date. Nothing was read and nothing was charged."
        )
    return kind


def group_value(engine: Engine, value: Any, by: GroupBy, kind: Kind) -> Any:
    """The group a row falls in, with the rule of its kind applied."""
    import ibis

    if isinstance(by, Bins):
        return in_bins(as_number(engine, value, kind), by)
    if isinstance(by, Truncate):
        return truncated(engine, value, by.to, kind)
    if kind is Kind.TEXT:
        return ibis.cases((engine.readable(value), engine.nfc(value)))
    if kind is Kind.INTEGER:
        return value.cast("int64")
    if kind is Kind.DATE:
        return in_calendar_dates(value)
    return value


def ruled(engine: Engine, value: Any, kind: Kind) -> Any:
    """A value under the rule of its kind: as it is, or missing where it is beyond the rule."""
    if kind in (Kind.TIME, Kind.ZONED_TIME):
        return clock_time(engine, value, kind)
    if kind in (Kind.FLOAT, Kind.DECIMAL):
        return as_number(engine, value, kind)
    if kind is Kind.DATE:
        return in_calendar_dates(value)
    return readable_text(engine, value) if kind is Kind.TEXT else value


def readable_text(engine: Engine, value: Any) -> Any:
    """The text, or missing where no engine should be asked to take it further."""
    import ibis

    return ibis.cases((engine.readable(value), value))


def as_number(engine: Engine, value: Any, kind: Kind) -> Any:
    """A number as the double that is nearest to it, the same from every engine."""
    return engine.as_double(value) if kind is Kind.DECIMAL else value.cast("float64")


def clock_time(engine: Engine, value: Any, kind: Kind) -> Any:
    """A time of the years 1 to 9999 as a clock showed it, the one in UTC where there is a zone."""
    import ibis

    value = engine.in_utc(value) if kind is Kind.ZONED_TIME else engine.clock(value)
    first, last = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)
    return ibis.cases((value.between(engine.moment(first), engine.moment(last)), value))


def in_calendar_dates(value: Any) -> Any:
    """Dates of the years 1 to 9999; engines disagree on the rest, and some know infinity."""
    import ibis

    first, last = ibis.literal(date(1, 1, 1)), ibis.literal(date(9999, 12, 31))
    return ibis.cases((value.between(first, last), value))


def truncated(engine: Engine, value: Any, to: str, kind: Kind) -> Any:
    """The start of the calendar unit, for times of the years 1 to 9999."""
    if kind is Kind.DATE:
        return engine.truncate(in_calendar_dates(value).cast("timestamp"), to)
    return engine.truncate(clock_time(engine, value, kind), to)


def in_bins(x: Any, by: Bins) -> Any:
    """``floor(x / width)`` where it is exact enough to be an integer, missing elsewhere.

    The range is checked before the division, because some engines raise an error, not infinity,
    when a quotient overflows or underflows. NaN compares above every number, or not at all, so
    the two comparisons drop it on every engine. -0.0 is not below 0 and falls in bin 0.
    """
    import ibis

    width = double(float(by.width))
    limit = width * double(EXACT_INTEGERS)
    near = double(0)
    whole = (x / width).floor().cast("int64")
    return ibis.cases(
        ((x >= near) & (x < width), ibis.literal(0, "int64")),
        ((x < near) & (x >= near - width), ibis.literal(-1, "int64")),
        ((x > near - limit) & (x < limit), whole),
    )
