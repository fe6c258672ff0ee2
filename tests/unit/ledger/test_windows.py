"""Windows by number and by name, the records of their events, and what a shell says of them."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headcount.accounting.compose import cost
from headcount.cli.commands import app
from headcount.errors import LedgerError, UsageError
from headcount.ledger.ledger import Ledger
from headcount.privacy.event import (
    Composed,
    Event,
    GaussianThreshold,
    Windowed,
    from_record,
    to_record,
)
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp
from headcount.privacy.windows import UNITS, begins, name_of, number_of, ranges, span

EVENT = GaussianThreshold(Fraction(1), Fraction(100), Fraction(1, 10**7))
DAY = 20513
"""1 March 2026."""


@pytest.mark.parametrize(
    ("number", "unit", "name"),
    [
        (0, "day", "1970-01-01"),
        (-1, "day", "1969-12-31"),
        (DAY, "day", "2026-03-01"),
        (0, "week", "1970-W01"),
        (-1, "week", "1969-W52"),
        (0, "month", "1970-01"),
        (-1, "month", "1969-12"),
        (674, "month", "2026-03"),
        (DAY * 24 + 5, "hour", "2026-03-01T05"),
        (-1, "hour", "1969-12-31T23"),
        (10**8, "day", "day 100000000"),
    ],
)
def test_windows_have_names(number: int, unit: str, name: str) -> None:
    assert name_of(number, unit) == name


@pytest.mark.parametrize("unit", UNITS)
def test_each_moment_is_in_the_window_that_begins_before_it(unit: str) -> None:
    for number in (-100_000 // 24, -25, -1, 0, 1, 679, 2_000):
        start, then = begins(number, unit), begins(number + 1, unit)
        assert number_of(start, unit) == number
        assert number_of(then - timedelta(microseconds=1), unit) == number
        assert number_of(then, unit) == number + 1


def test_a_range_is_that_of_a_calendar() -> None:
    assert ranges("2026-03", "day") == (DAY, DAY + 30)
    assert ranges("2026-03-01", "day") == (DAY, DAY)
    assert ranges("2026-03-01..2026-03-07", "day") == (DAY, DAY + 6)
    assert span("2024", "day") == (number_of(date(2024, 1, 1), "day"), 20088)
    assert ranges("2026-03-01", "month") == (674, 674), "the month that a day cuts"
    assert ranges("2026-03-01", "hour") == (DAY * 24, DAY * 24 + 23)
    assert number_of(datetime(2026, 3, 1, 5, 59), "hour") == DAY * 24 + 5
    for odd in ("", "2026-13", "2026-02-30", "march", "0000", "2026-3", "20260301"):
        with pytest.raises(UsageError, match="Write 2026-03-01"):
            ranges(odd, "day")


def test_a_windowed_event_costs_so_many_times_what_is_in_it_and_is_read_back() -> None:
    event = Windowed(-3, 6, 100, EVENT)
    assert cost(event) == Zcdp(Fraction(1, 2), Fraction(1, 10**5))
    record = json.loads(json.dumps(to_record(event)))
    assert record == {
        "kind": "windowed",
        "first": "-3",
        "last": "6",
        "times": "100",
        "event": to_record(EVENT),
    }
    assert from_record(record) == event


ODD: list[tuple[str, object]] = [
    *((name, odd) for name in ("first", "last", "times") for odd in ("x", "1/2", "", "01", 1)),
    *(("first", "7"), ("last", "200000"), ("last", "9" * 11), ("times", "0"), ("times", "-1")),
    *(("event", None), ("event", "x"), ("event", []), ("event", {}), ("event", {"kind": "free"})),
]


@pytest.mark.parametrize(("name", "odd"), ODD)
def test_windows_that_no_version_wrote_are_refused(name: str, odd: object) -> None:
    record = to_record(Windowed(1, 3, 3, EVENT))
    with pytest.raises(LedgerError, match="cannot be paid for"):
        from_record({**record, name: odd})


def test_windows_are_said_once_around_all_of_an_event() -> None:
    inner = Windowed(1, 1, 1, EVENT)
    for around in (lambda: Windowed(1, 1, 1, inner), lambda: Composed((EVENT, inner))):
        with pytest.raises(LedgerError, match="said once"):
            around()
    record = to_record(inner)
    with pytest.raises(LedgerError):
        from_record({**record, "event": record})


def charge(ledger: Ledger, key: str, event: Event) -> None:
    asked = {"request_hash": key, "verb": "count_users", "neighbours": Neighbours.ADD_REMOVE}
    ledger.charge(ledger.opening("web"), key=key, event=event, **asked)  # type: ignore[arg-type]


def test_a_shell_opens_windows_and_shows_what_each_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADCOUNT_LEDGER", str(tmp_path / "ledger.db"))

    def run(*words: str) -> str:
        ran = CliRunner().invoke(app, ["ledger", *words])
        if ran.exception is not None:
            raise ran.exception
        return ran.output

    opening = ("open", "web", "--window", "time:day", "--zone", "Europe/Stockholm")
    said = run(*opening, "--budget-per-window", "0.8")
    assert "each day of 'time' in Europe/Stockholm has a budget of its own: epsilon 0.8" in said
    ledger = Ledger(tmp_path / "ledger.db")
    for day in range(DAY, DAY + 40):
        charge(ledger, f"pages/{name_of(day, 'day')}", Windowed(day, day, 1, EVENT))
    charge(ledger, "weekly", Windowed(DAY, DAY + 6, 7, EVENT))
    said = run("show", "web")
    assert "40 charged so far, 2026-03-01 to 2026-04-09, the fullest to 66.3 %" in said
    assert "one by one: --windows 2026-04" in said
    said = run("show", "web", "--windows", "2026-04-02..2026-04-03")
    assert said.count("rho 0.005 of 0.0150875 (33.1 %), delta 1e-07 of 5e-07; epsilon 0.6") == 2
    assert "2026-04-02  rho" in said
    assert "key of entry 35: pages/2026-04-02" in said
    assert "weekly" not in said
    assert "weekly" in run("show", "web", "--windows", "2026-03-07")
    assert "no day of 2031 was charged" in run("show", "--windows", "2031")
    assert "epsilon 9." not in run("show"), "no limit is shown where there is none"
    with pytest.raises(UsageError, match="does not change"):
        run("open", "web", "--window", "time:week", "--budget-per-window", "0.8")
    with pytest.raises(UsageError, match="the name of a time zone"):
        run("open", "other", *opening[2:-1], "Nowhere", "--budget-per-window", "0.8")
    for odd in (("--zone", "UTC"), ("--window", "time"), ("--window", "time:day")):
        with pytest.raises(UsageError, match="Nothing was opened"):
            run("open", "web", *odd)
