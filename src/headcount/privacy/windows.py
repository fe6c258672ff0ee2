"""Windows of time by number: so many hours, days, weeks or months since 1970, by a local calendar.

A window is a function of a row's own time. Numbers are of the wall clock in the zone of the
account: a day of 23 or 25 hours is one window, and so are both hours that a clock shows twice.
Weeks begin on Monday; week 0 is the one that 1 January 1970 is in.
"""

from __future__ import annotations

import calendar
import re
from datetime import date, datetime, timedelta

from headcount.errors import UsageError
from headcount.privacy.argument import shown

UNITS = ("hour", "day", "week", "month")
FIRST = date(1970, 1, 1)
MONDAY = date(1969, 12, 29)
FARTHEST = 10**8
"""Beyond any year of four digits, also in hours."""
MOST = 1 << 17
"""So many windows may pay for one release: ten years of hours are 87,600."""
SPELLED = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")


def number_of(moment: date | datetime, unit: str) -> int:
    """The window that a local moment is in."""
    day = moment.date() if isinstance(moment, datetime) else moment
    if unit == "month":
        return (day.year - FIRST.year) * 12 + day.month - FIRST.month
    if unit == "week":
        return (day - MONDAY).days // 7
    days = (day - FIRST).days
    if unit == "day":
        return days
    return days * 24 + (moment.hour if isinstance(moment, datetime) else 0)


def begins(number: int, unit: str) -> datetime:
    """The first local moment of a window."""
    midnight = datetime.min.time()
    if unit == "month":
        years, months = divmod(number, 12)
        return datetime(FIRST.year + years, 1 + months, 1)
    if unit == "week":
        return datetime.combine(MONDAY + timedelta(weeks=number), midnight)
    first = datetime.combine(FIRST, midnight)
    return first + (timedelta(days=number) if unit == "day" else timedelta(hours=number))


def name_of(number: int, unit: str) -> str:
    """What people call a window: 2026-03-01, 2026-03, 2026-W09 or 2026-03-01T05."""
    try:
        start = begins(number, unit)
    except (OverflowError, ValueError):
        # Charged by hand, and in no calendar.
        return f"{unit} {number}"
    if unit == "week":
        year, week, _ = start.isocalendar()
        return f"{year:04}-W{week:02}"
    whole = start.isoformat(timespec="hours")
    return whole[: {"month": 7, "day": 10, "hour": 13}[unit]]


def span(text: str, unit: str) -> tuple[int, int]:
    """The first and the last window of a year, a month or a day; those it cuts are in it."""
    found = SPELLED.fullmatch(text)
    try:
        # A year of zero is none, and so is what is not written like one.
        year, month, day = (int(part or 0) for part in (found.groups() if found else (0, 0, 0)))
        first = date(year, month or 1, day or 1)
        last = date(year, month or 12, day or calendar.monthrange(year, month or 12)[1])
    except ValueError:
        raise UsageError(
            f"{shown(text)} is no day, month or year of a calendar. Write 2026-03-01, 2026-03 or "
            "2026. Nothing was charged."
        ) from None
    end = datetime.combine(last, datetime.max.time())
    return number_of(first, unit), number_of(end, unit)


def ranges(text: str, unit: str) -> tuple[int, int]:
    """The same for one of them, or for a first and a last with two points between."""
    first, _, last = text.partition("..")
    return span(first, unit)[0], span(last or first, unit)[1]
