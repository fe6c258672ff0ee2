"""Windows of a table's own times: which moments each holds, and which of them a release names.

A window begins when the clock of the account's zone shows the first moment of its first day. All of
it is a calendar, and none of it data.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from headcount.errors import UsageError
from headcount.privacy.argument import NOTHING, refused, shown
from headcount.privacy.windows import MOST, UNITS, begins, name_of, number_of, span

FIRST_YEAR, LAST_YEAR = 2, 9998
"""Every window of these begins and ends within the years 1 to 9999, in every zone."""
DAYS = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")
WEEK = re.compile(r"(\d{4})-W(\d{2})")
HOUR = re.compile(r"(\d{4}-\d{2}-\d{2})T(\d{2})")
WRITTEN = {
    "hour": "'2026-03-01T05', or a day '2026-03-01'",
    "day": "'2026-03-01', or a month '2026-03'",
    "week": "'2026-W10', or its Monday '2026-03-02'",
    "month": "'2026-03', or a year '2026'",
}
"""How windows of each unit are written."""
MIDNIGHT = time()
Span = tuple[datetime, datetime]


def zone_of(name: str) -> ZoneInfo:
    """The zone of this name, or a refusal."""
    try:
        return ZoneInfo(name)
    except Exception:
        raise UsageError(
            f"There is no time zone {shown(name)} on this machine. Write a name such as "
            "zone='Europe/Stockholm'; where a machine has no zones at all, pip install tzdata. "
            f"{NOTHING}"
        ) from None


@dataclass(frozen=True, slots=True)
class Window:
    """A column of times, cut to a unit of the calendar.

    zone:  whose clock it is; nothing for dates, and for times that have no zone
    """

    column: str
    unit: str
    zone: str | None = None

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            needed = f"cut to one of {', '.join(UNITS)}"
            raise refused("window", needed, self.unit, f"hc.truncate({self.column!r}, 'day')")
        if self.zone is not None:
            zone_of(self.zone)
        if self.unit == "hour" and self.zone not in (None, "UTC"):
            # Clocks have gone from 00:01 to 02:01: hours of a zone are in no order.
            raise refused("the zone of windows of an hour", "UTC", self.zone, "no zone=")

    def __str__(self) -> str:
        return f"{self.column}:{self.unit}{self.clock}"

    @property
    def clock(self) -> str:
        """Whose clock it is, behind what it shows; nothing where the table has one of its own."""
        return f" ({self.zone})" if self.zone else ""

    def begins(self, number: int) -> datetime:
        """The moment that a window begins with [WN1]: in UTC where there is a zone.

        Where a change of the clock leaves it out, it is that of the clock before the change; where
        it comes twice, the first. No window begins before an earlier one, so that each moment is in
        one alone.
        """
        there = begins(number, self.unit)
        if self.zone is None:
            return there
        return there.replace(tzinfo=zone_of(self.zone)).astimezone(UTC).replace(tzinfo=None)

    def during(self, first: str | date, last: str | date | None = None) -> During:
        """The windows from one to another, both included, or those that a single text names."""
        begin, _ = self._span(first, "first")
        _, end = self._span(first if last is None else last, "last")
        if end <= begin:
            raise UsageError(
                f"The windows end with {shown(last)}, before they begin with {shown(first)}. "
                f"Exchange the two. {NOTHING}"
            )
        before_end = end - timedelta(microseconds=1)
        found = During(self, number_of(begin, self.unit), number_of(before_end, self.unit))
        if found.n > MOST:
            raise UsageError(
                f"These are {found.n:,} windows, and at most {MOST:,} can pay for one release. "
                f"{NOTHING}"
            )
        return found

    def _span(self, written: object, name: str) -> Span:
        """The moments on the clock that a text names, without the last, if they are windows."""
        if isinstance(written, date) and not isinstance(written, datetime):
            written = written.isoformat()
        read = _read(written) if isinstance(written, str) else None
        if read is None or not FIRST_YEAR <= read[0].year <= read[1].year <= LAST_YEAR + 1:
            needed = f"a part of the calendar, of the years {FIRST_YEAR} to {LAST_YEAR}"
            instead = f"during({WRITTEN[self.unit]})"
            raise refused(f"the {name} window of during", needed, written, instead)
        begin, end = read
        if self.unit == "week" and begin.weekday() == 0 and end - begin == timedelta(1):
            end = begin + timedelta(7)  # a week may go by its Monday
        last = number_of(end - timedelta(microseconds=1), self.unit)
        first = number_of(begin, self.unit)
        if begins(first, self.unit) != begin or begins(last + 1, self.unit) != end:
            raise UsageError(
                f"{shown(written)} is no whole {self.unit}, and the windows of this account are "
                f"{self.unit}s{self.clock}, of which each that is touched pays for all of it. "
                f"Write during({WRITTEN[self.unit]}); this begins in {name_of(first, self.unit)!r}."
                f" {NOTHING}"
            )
        return begin, end


def _read(written: str) -> Span | None:
    """The first moment of a year, month, week, day or hour, and the one after its last."""
    try:
        if week := WEEK.fullmatch(written):
            monday = datetime.combine(date.fromisocalendar(int(week[1]), int(week[2]), 1), MIDNIGHT)
            return monday, monday + timedelta(7)
        if hour := HOUR.fullmatch(written):
            start = datetime.fromisoformat(f"{hour[1]}T{hour[2]}:00:00")
            return start, start + timedelta(hours=1)
        if DAYS.fullmatch(written):
            first, last = span(written, "day")
            return begins(first, "day"), begins(last + 1, "day")
    except (ValueError, OverflowError, UsageError):
        return None
    return None  # of no form that there is


@dataclass(frozen=True, slots=True)
class During:
    """The windows of one release, by number, both ends included: each of them pays for it."""

    window: Window
    first: int
    last: int

    @property
    def n(self) -> int:
        """How many windows there are."""
        return self.last - self.first + 1

    @property
    def begins(self) -> datetime:
        """The first moment that is in."""
        return self.window.begins(self.first)

    @property
    def ends(self) -> datetime:
        """The first moment behind the last that is in."""
        return self.window.begins(self.last + 1)

    @property
    def edges(self) -> tuple[datetime, ...]:
        """The moments that windows after the first begin with."""
        return tuple(map(self.window.begins, range(self.first + 1, self.last + 1)))

    @property
    def named(self) -> str:
        """The windows for people."""
        first, last = (name_of(one, self.window.unit) for one in (self.first, self.last))
        return first if self.n == 1 else f"{first} to {last}"

    def __str__(self) -> str:
        """How many they are, and which: ``31 days, 2026-03-01 to 2026-03-31 (UTC)``."""
        many = "" if self.n == 1 else "s"
        return f"{self.n:,} {self.window.unit}{many}, {self.named}{self.window.clock}"
