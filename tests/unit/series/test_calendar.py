"""Which windows there are, and when each is over: from the calendar alone."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from headcount.series.calendar import Window, over_by, window_of, windows

STOCKHOLM = ZoneInfo("Europe/Stockholm")


def test_every_day_is_in_one_window_of_each_length() -> None:
    day = date(2023, 12, 25)
    for _ in range(800):
        for every in ("day", "week", "month"):
            one = window_of(every, day)
            assert one.first <= day <= one.last
            assert window_of(every, one.first) == window_of(every, one.last) == one
        day += timedelta(days=1)


@pytest.mark.parametrize(
    ("every", "first", "n", "last"),
    [
        ("day", "2026-03-01", 61, "2026-04-30"),
        ("week", "2026-03-02", 8, "2026-04-20"),  # 1 March is a Sunday: its week began before
        ("month", "2026-03-01", 2, "2026-04-01"),
    ],
)
def test_windows_follow_each_other_without_a_gap(every: str, first: str, n: int, last: str) -> None:
    found = list(windows(every, date(2026, 3, 1), date(2026, 4, 30)))
    assert (str(found[0]), len(found), str(found[-1])) == (first, n, last)
    for one, other in pairwise(found):
        assert other.first == one.last + timedelta(days=1)


def test_a_month_that_was_under_way_at_the_start_is_left_out() -> None:
    found = list(windows("month", date(2024, 1, 31), date(2024, 3, 30)))
    assert found == [Window(date(2024, 2, 1), date(2024, 2, 29))]


@pytest.mark.parametrize(
    ("zone", "day", "over"),
    [
        (UTC, date(2026, 3, 28), "2026-03-29T00:00"),
        (STOCKHOLM, date(2026, 3, 28), "2026-03-28T23:00"),
        (STOCKHOLM, date(2026, 3, 29), "2026-03-29T22:00"),  # a day of 23 hours
        (STOCKHOLM, date(2026, 10, 25), "2026-10-25T23:00"),  # a day of 25
        (ZoneInfo("Pacific/Kiritimati"), date(2026, 3, 1), "2026-03-01T10:00"),
    ],
)
def test_a_day_is_over_at_midnight_of_its_zone(zone: ZoneInfo, day: date, over: str) -> None:
    assert Window(day, day).over(zone) == datetime.fromisoformat(f"{over}Z")


def test_a_window_is_due_at_the_moment_that_its_lag_has_passed() -> None:
    start, lag = date(2026, 3, 1), timedelta(days=2)
    moment = datetime(2026, 3, 9, 23, tzinfo=UTC)  # midnight of 10 March in Stockholm
    before = moment - timedelta(seconds=1)
    found = over_by("day", start, moment, lag, STOCKHOLM)
    assert str(found[-1]) == "2026-03-07"
    assert len(over_by("day", start, before, lag, STOCKHOLM)) == len(found) - 1
    assert over_by("week", start, before, timedelta(0), STOCKHOLM) == [
        Window(date(2026, 3, 2), date(2026, 3, 8))
    ]
    assert over_by("day", date(2026, 3, 10), moment, timedelta(0), STOCKHOLM) == []
