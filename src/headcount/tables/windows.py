"""Which window a row is in: a rule of its own time, the same on every engine."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from headcount.errors import SchemaError, UsageError
from headcount.privacy.argument import NOTHING, refused
from headcount.privacy.during import Window
from headcount.tables.by import Truncate
from headcount.tables.kinds import Kind
from headcount.tables.rules import TIME_KINDS, clock_time

if TYPE_CHECKING:
    from datetime import datetime

    from headcount.privacy.during import During
    from headcount.tables.engine import Engine

ZONE = "UTC"
"""Whose days they are, where a column has a zone and nobody says one."""


def window_of(cut: object, kind: Kind) -> Window:
    """The window that a cut of a column makes; ``kind``: what the column holds."""
    if not isinstance(cut, Truncate):
        raise refused(
            "window",
            "a cut of the table's own times: not of what is worked out of other rows, as sessions "
            "are",
            cut,
            "window=hc.truncate('time', 'day'), also for a column of dates",
        )
    if kind is not Kind.ZONED_TIME and cut.zone is not None:
        raise UsageError(
            f"The column {cut.column!r} holds {kind}, and zone={cut.zone!r} would say of it what "
            "it does not know: its windows are those of the clock that it shows. Leave zone= out. "
            f"{NOTHING}"
        )
    zone = cut.zone or (ZONE if kind is Kind.ZONED_TIME else None)
    return Window(cut.column, cut.to, zone)


def check_window(window: Window, kind: Kind) -> None:
    """Refuse windows that a column cannot be cut to."""
    name = window.column
    if kind not in TIME_KINDS or (kind is Kind.DATE and window.unit == "hour"):
        raise SchemaError(
            f"The column {name!r} holds {kind} and cannot be cut to windows of a {window.unit}; "
            "that needs a time or a date of the row's own. Where it is text in a CSV file or a "
            f"folder's name, say what it is: types={{{name!r}: 'timestamp'}}; elsewhere store it "
            "as a time, or open a view that casts it. Nothing was read and nothing was charged."
        )
    # A clock that says nothing of its zone is read as it is, and may be called that of UTC.
    has_zone = kind is Kind.ZONED_TIME
    if (window.zone is None) if has_zone else (window.zone not in (None, ZONE)):
        told = (
            "has a zone, and the windows of this account are those of a clock without one"
            if has_zone
            else f"names no zone, and the windows of this account are days of {window.zone}"
        )
        raise UsageError(
            f"The column {name!r} holds {kind}: it {told}. Open the column that the account was "
            f"opened for, with the times that it had. {NOTHING}"
        )


def within(engine: Engine, rows: Any, kind: Kind, during: During) -> Any:
    """Whether a row is in any of these windows: of its own time alone [WN1]."""
    value = rows[during.window.column]
    if kind is not Kind.DATE:
        value = clock_time(engine, value, kind)
    begin, end = (_moment(engine, one, kind) for one in (during.begins, during.ends))
    # What is missing, infinite or out of the calendar is in no window: neither comparison holds.
    return (value >= begin) & (value < end)


def window_number(engine: Engine, rows: Any, kind: Kind, during: During) -> Any:
    """How many of the windows begin after the first and at or before a row's time: which it is in.

    In two steps, so that a row is compared with few of the edges; they are those of ``within``. Not
    by halves: what is nested deeply takes Spark minutes to read.
    """
    import ibis

    value = rows[during.window.column]
    if kind is not Kind.DATE:
        value = clock_time(engine, value, kind)
    edges = [_moment(engine, one, kind) for one in during.edges]
    step = math.isqrt(len(edges)) + 1

    def numbered(first: int, last: int) -> Any:
        """Of a row that is in one of the windows from the first to the last."""
        number = ibis.literal(last, "int64")
        known = [(value < edges[i], ibis.literal(i, "int64")) for i in range(first, last)]
        return ibis.cases(*known, else_=number) if known else number

    starts = range(0, len(edges) + 1, step)
    parts = [numbered(i, min(i + step - 1, len(edges))) for i in starts]
    ends = [value < edges[i + step - 1] for i in starts[:-1]]
    known = list(zip(ends, parts, strict=False))
    return ibis.cases(*known, else_=parts[-1]) if known else parts[-1]


def _moment(engine: Engine, moment: datetime, kind: Kind) -> Any:
    """A constant to compare a column with; dates as they are, so that whole files are left out."""
    import ibis

    return ibis.literal(moment.date()) if kind is Kind.DATE else engine.moment(moment)


def window_rule(during: During, kind: Kind) -> str:
    """The sentence that holds for the windows of a release."""
    window = during.window
    whose = f" in {window.zone}" if window.zone else ""
    out = "a date" if kind is Kind.DATE else "a time"
    return (
        f"Only rows whose {window.column} is within {during.named}{whose} take part; those without "
        f"{out}, or with one outside the years 1 to 9999, are in no window and are dropped."
    )
