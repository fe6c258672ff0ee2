"""Which moments a window holds, and which windows a text names."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from itertools import pairwise

import pytest

from headcount.errors import UsageError
from headcount.privacy.during import Window

STOCKHOLM = Window("time", "day", "Europe/Stockholm")
ODD_ZONES = [
    "America/St_Johns",  # clocks went back from 00:01 to 23:01
    "Pacific/Apia",  # 30 December 2011 was left out
    "America/Sao_Paulo",  # summer time begins at midnight
    "America/Toronto",  # and once did at 23:30
    "Africa/Cairo",
]


@pytest.mark.parametrize(
    ("written", "first", "last", "hours"),
    [
        (("2026-03-29",), 20541, 20541, 23),
        (("2026-10-25",), 20751, 20751, 25),
        (("1969-12-31",), -1, -1, 24),
        (("2026-03",), 20513, 20543, 31 * 24 - 1),
        (("2026",), 20454, 20818, 365 * 24),
        (("2026-03-01", "2026-03-02"), 20513, 20514, 48),
        ((date(2026, 3, 1), date(2026, 3, 2)), 20513, 20514, 48),
        (("2026-W10",), 20514, 20520, 7 * 24),
    ],
)
def test_days_are_those_of_the_zone(
    written: tuple[str, ...], first: int, last: int, hours: int
) -> None:
    during = STOCKHOLM.during(*written)
    assert (during.first, during.last, during.n) == (first, last, last - first + 1)
    assert during.ends - during.begins == timedelta(hours=hours)


def test_what_people_read() -> None:
    assert str(STOCKHOLM.during("2026-03")) == (
        "31 days, 2026-03-01 to 2026-03-31 (Europe/Stockholm)"
    )
    assert str(Window("day", "week").during("2026-03-02")) == "1 week, 2026-W10"
    assert Window("time", "month").during("2026").n == 12
    assert Window("time", "hour").during("2026-03-01T05").begins == datetime(2026, 3, 1, 5)


@pytest.mark.parametrize("zone", ODD_ZONES)
def test_no_window_begins_before_an_earlier_one(zone: str) -> None:
    """Else a row would be in two windows, and pay in one of them alone."""
    window = Window("time", "day", zone)
    begins = [window.begins(number) for number in range(-22_000, 22_000)]
    assert all(one <= next_one for one, next_one in pairwise(begins))


def test_hours_are_those_of_utc() -> None:
    """Clocks of a zone have skipped two of them at once."""
    with pytest.raises(UsageError, match="windows of an hour must be UTC"):
        Window("time", "hour", "America/St_Johns")


@pytest.mark.parametrize(
    ("unit", "written", "says"),
    [
        ("week", "2026-03", r"no whole week.*begins in '2026-W09'"),
        ("week", "2026-03-03", "no whole week"),
        ("month", "2026-03-01", r"no whole month.*during\('2026-03'"),
        ("day", "2026-02-30", "a part of the calendar"),
        ("day", "2026-W60", "a part of the calendar"),
        ("day", "0001-01-01", "of the years 2 to 9998"),
        ("day", "9999", "of the years 2 to 9998"),
        ("day", "yesterday", "a part of the calendar"),
        ("day", 20541, "a part of the calendar"),
        ("day", datetime(2026, 3, 1, 12), "a part of the calendar"),
    ],
)
def test_what_names_no_windows_is_refused(unit: str, written: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Window("time", unit).during(written)


def test_windows_that_end_before_they_begin_are_refused() -> None:
    with pytest.raises(UsageError, match="before they begin"):
        STOCKHOLM.during("2026-03-02", "2026-03-01")


def test_a_zone_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="no time zone 'Mars/Olympus' on this machine"):
        Window("time", "day", "Mars/Olympus")
