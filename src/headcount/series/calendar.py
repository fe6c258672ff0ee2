"""Windows that repeat: from the calendar, a first day and the clock, and never from rows.

Which windows there are must not be seen in the data: the first and the last day that have rows
would be released with them, and a day that is left out would be known to be empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

DAY = timedelta(days=1)
EVERY = ("day", "week", "month")
"""How long a window of a release may be, and the unit of the account's windows."""
NESTED = {"day": EVERY, "week": ("week",), "month": ("month",)}
"""What is a whole number of each unit: no month is one of weeks."""


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """A stretch of whole days, both ends included; it goes by its first."""

    first: date
    last: date

    def __str__(self) -> str:
        return self.first.isoformat()

    def over(self, zone: tzinfo) -> datetime:
        """The moment that it is over: the midnight of the zone after its last day."""
        return datetime.combine(self.last + DAY, datetime.min.time(), zone).astimezone(UTC)


def window_of(every: str, day: date) -> Window:
    """The day, the week from Monday, or the month that a day is in."""
    if every == "week":
        first = day - DAY * day.weekday()
        return Window(first, first + 6 * DAY)
    if every == "month":
        first = day.replace(day=1)
        return Window(first, (first + 31 * DAY).replace(day=1) - DAY)
    return Window(day, day)


def windows(every: str, start: date, last: date) -> Iterator[Window]:
    """All windows that begin at ``start`` or later and end by ``last``, oldest first.

    A week or a month that was under way at the start is left out.
    """
    one = window_of(every, start)
    if one.first < start:
        one = window_of(every, one.last + DAY)
    while one.last <= last:
        yield one
        one = window_of(every, one.last + DAY)


def over_by(every: str, start: date, now: datetime, lag: timedelta, zone: tzinfo) -> list[Window]:
    """The windows that are taken to be complete: over for as long as rows may be late."""
    last = now.astimezone(zone).date()
    return [one for one in windows(every, start, last) if one.over(zone) + lag <= now]
