"""Windows are the same on every engine: rows at the edges of days of 23 and 25 hours, others."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from headcount.contributions.bound import bound, bound_each_window
from headcount.contributions.store import Store
from headcount.privacy.bounds import Bounds
from headcount.privacy.during import Window

ZONE = ZoneInfo("Europe/Stockholm")
TICK = timedelta(microseconds=1)
DAYS = [
    date(1969, 12, 31),
    date(1970, 1, 1),
    date(2026, 3, 1),
    date(2026, 3, 29),  # of 23 hours
    date(2026, 3, 30),
    date(2026, 10, 25),  # of 25 hours, one of which comes twice
    date(2026, 10, 26),
]


def edges() -> list[datetime]:
    """Both ends of each day, in UTC: 00:00 and 23:59:59.999999 local, and the hours of a change."""
    moments = set()
    for day in DAYS:
        for other in (day, day + timedelta(1)):
            midnight = datetime.combine(other, datetime.min.time(), ZONE).astimezone(UTC)
            moments |= {midnight, midnight - TICK, midnight + timedelta(hours=1)}
    return sorted(moments)


TIMES = [*edges(), None]
ROWS = [(f"u{i % 7}", "abc"[i % 3], time) for i, time in enumerate(TIMES)]


def table() -> pa.Table:
    times = [time for *_, time in ROWS]
    local = [None if time is None else time.astimezone(ZONE).replace(tzinfo=None) for time in times]
    return pa.table(
        {
            "person": [user for user, *_ in ROWS],
            "page": [page for _, page, _ in ROWS],
            "zoned": pa.array(times, pa.timestamp("us", "UTC")),
            "local": pa.array(local, pa.timestamp("us")),
            "day": pa.array([None if one is None else one.date() for one in local], pa.date32()),
        }
    )


WINDOWS = {
    "zoned": Window("zoned", "day", "Europe/Stockholm"),
    "utc": Window("zoned", "day", "UTC"),
    "local": Window("local", "day"),
    "day": Window("day", "day"),
    "week": Window("zoned", "week", "Europe/Stockholm"),
    "month": Window("day", "month"),
    "hour": Window("local", "hour"),
}


def day_of(time: datetime, window: Window) -> date:
    """The day that a clock on the wall shows: nothing of headcount's own calendar."""
    return time.astimezone(UTC if window.zone == "UTC" else ZONE).date()


def named(day: date, window: Window) -> str:
    if window.unit == "week":
        year, week, _ = day.isocalendar()
        return f"{year}-W{week:02}"
    return day.isoformat()[: 7 if window.unit == "month" else 10]


@pytest.mark.parametrize("name", WINDOWS)
def test_a_row_is_in_the_window_that_its_clock_shows(
    name: str, loader: Any, key: bytes, tally_of: Any
) -> None:
    window = WINDOWS[name]
    opened = loader.open(table, "windows", user="person")
    days = DAYS if name == "zoned" else [DAYS[0], DAYS[3], DAYS[5]]
    for which in dict.fromkeys(named(day, window) for day in days):
        within = [row for row in ROWS if row[2] and named(day_of(row[2], window), window) == which]
        true_users = Counter(page for _, page in {(user, page) for user, page, _ in within})
        narrowed = opened.during(window.during(which))
        tally = tally_of(bound(narrowed, "page", Bounds(5, 5), key=key))
        got = dict(zip(*(column.to_pylist() for column in tally.columns), strict=True))
        assert got == true_users, which


@pytest.mark.parametrize("full", [1, 3], ids=["some of them", "all groups of a day"])
def test_over_several_days_the_largest_weight_counts(
    full: int, loader: Any, key: bytes, tally_of: Any
) -> None:
    window, bounds = WINDOWS["zoned"], Bounds(3, full, 8)
    opened = loader.open(table, "windows", user="person")
    narrowed = opened.during(window.during("2026-03-01", "2026-10-26"))
    with Store(opened.engine) as store:
        tally = tally_of(
            bound_each_window(narrowed, "page", bounds, store, key=key, groups=list("abc"))
        )
    groups: dict[tuple[str, date], set[str]] = {}
    for user, page, time in ROWS:
        if time is not None and date(2026, 3, 1) <= day_of(time, window) <= date(2026, 10, 26):
            groups.setdefault((user, day_of(time, window)), set()).add(page)
    largest: dict[tuple[str, str], int] = {}
    for (user, _), pages in groups.items():
        for page in pages:
            before = largest.get((user, page), 0)
            largest[user, page] = max(before, bounds.weight(len(pages)))
    true_totals = {page: sum(w for (_, one), w in largest.items() if one == page) for page in "abc"}
    got = dict(zip(*(column.to_pylist() for column in tally.columns), strict=True))
    assert got == true_totals
