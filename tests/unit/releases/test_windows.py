"""Releases of an account with windows: what pays, what is said of it, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headcount as hc
from headcount.ledger.ledger import Ledger
from headcount.ledger.statement.registry import registry_record
from headcount.ledger.statement.statement import statement
from headcount.privacy.event import Windowed
from headcount.privacy.unit import UserWithin

DAY = hc.Budget(rho=0.015, delta=1e-6, per="day")
LAST_SENTENCE = (
    "Facts that are the same every day, such as a home country, have the protection of all the "
    "days together"
)


def table(zone: str | None = "UTC") -> pa.Table:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    n = 600
    times = [start + timedelta(minutes=7 * i) for i in range(n)]
    return pa.table(
        {
            "person": [f"u{i % 100}" for i in range(n)],
            "page": ["abc"[i % 3] for i in range(n)],
            "amount": [i % 10 for i in range(n)],
            "time": pa.array(times, pa.timestamp("us", "UTC")).cast(pa.timestamp("us", zone)),
            "day": pa.array([one.date() for one in times], pa.date32()),
        }
    )


def opened(tmp_path: Path, source: Any = None, **options: Any) -> hc.Dataset:
    given: dict[str, Any] = {"window": hc.truncate("time", "day"), "budget": DAY, "account": "web"}
    given |= options
    return hc.open(
        table() if source is None else source,
        user="person",
        ledger=Ledger(tmp_path / "l.db", heads=tmp_path / "heads"),
        **given,
    )


def spent(data: hc.Dataset) -> dict[str, Fraction]:
    return {one.name: one.spent.rho for one in data.ledger.window_balances("web", 20_000, 30_000)}


def test_a_release_is_charged_to_its_window_alone(tmp_path: Path) -> None:
    data = opened(tmp_path)
    plan = data.during("2026-03-02").count_users("page", groups=["a", "b"], spend="2/3")
    release = plan.release()
    ((day, paid),) = spent(data).items()
    assert (day, round(paid, 9)) == ("2026-03-02", Fraction(1, 100))
    assert plan.spend.rho <= paid <= Fraction(1, 100)
    assert isinstance(plan.work.event, Windowed)
    assert (plan.work.event.first, plan.work.event.last) == (20514, 20514)
    assert [row["page"] for row in release] == ["a", "b"]
    with pytest.raises(hc.BudgetError, match=r"day 2026-03-02 of account 'web' has epsilon 0\.44"):
        data.during("2026-03-02").count_users("page", groups=["a"], spend="1/2")
    data.during("2026-03-03").count_users("page", groups=["a"], spend="1/2").release()
    assert sorted(spent(data)) == ["2026-03-02", "2026-03-03"]


def test_delta_that_is_not_said_is_a_share_of_the_windows(tmp_path: Path) -> None:
    data = opened(tmp_path, lifetime=hc.Budget(epsilon=25, delta=1e-2))
    plan = data.during("2026-03-02").count_users("page", bound=1, spend=hc.Budget(rho="0.0015"))
    assert plan.spend.delta <= Fraction(1, 10) * Fraction(1, 2 * 10**6)


def test_the_same_question_is_answered_once_and_others_by_themselves(tmp_path: Path) -> None:
    data = opened(tmp_path)

    def count(day: str) -> hc.Release:
        plan = data.during(day).count_users("page", groups=["a", "b"], spend="1/3")
        return plan.release()

    first, again, other = count("2026-03-01"), count("2026-03-01"), count("2026-03-02")
    assert first.to_arrow().equals(again.to_arrow())
    assert len(spent(data)) == 2
    assert first.key != other.key


def test_several_days_pay_each_and_a_person_for_all(tmp_path: Path) -> None:
    data = opened(tmp_path, lifetime=hc.Budget(rho=1, delta=1e-6))
    plan = data.during("2026-03-01", "2026-03-03").count_users(
        "page", groups=["a", "b"], spend=hc.Budget(rho=0.01)
    )
    plan.release()
    (each,) = set(spent(data).values())
    assert len(spent(data)) == 3
    assert data.account.spent.rho == 3 * each
    assert "pays 3 x that" in str(plan)
    events = data.during("2026-03-01", "2026-03-02").count_events(
        "page", groups=["a", "b"], spend=hc.Budget(rho="0.004")
    )
    assert "pays 1 x that" in str(events)
    assert "noise is that for a user who is exchanged" in events.explain()


def test_both_limits_hold_and_neither_is_charged_alone(tmp_path: Path) -> None:
    data = opened(tmp_path, lifetime=hc.Budget(rho="0.02", delta=1e-6))
    data.during("2026-03-01").count_users("page", groups=["a"], spend="1").release()
    before = spent(data), data.account.spent
    with pytest.raises(hc.BudgetError, match="Account 'web' has epsilon"):
        data.during("2026-03-02").count_users("page", groups=["a"], spend="1")
    assert (spent(data), data.account.spent) == before


def test_every_verb_gets_through_within_one_window(tmp_path: Path) -> None:
    data = opened(tmp_path, budget=hc.Budget(rho=50, delta=1e-2, per="day")).during("2026-03-02")
    verbs: list[Callable[[], Any]] = [
        lambda: data.count_users("page", spend="1/20"),
        lambda: data.count_users("page", within=0.5, spend="1/20"),
        lambda: data.count_users("page", bound=1, spend="1/20"),
        lambda: data.count_users("page", bound=1, method="sample", spend="1/20"),
        lambda: data.count_events("page", spend="1/20"),
        lambda: data.count_events("page", groups=["a"], spend="1/20"),
        lambda: data.distribution("page", groups=["a", "b"], spend="1/20"),
        lambda: data.profile("page", spend="1/20"),
        lambda: data.frequencies("page", spend="1/20"),
        lambda: data.quantiles("amount", bounds=(0, 10), spend="1/20"),
        lambda: data.count_ranges("amount", [0, 5, 10], spend="1/20"),
        lambda: data.sql("select page, count(*) from events group by page", spend="1/30"),
    ]
    for verb in verbs:
        release = verb().release()
        assert "within one day (UTC)" in release.facts.guarantee
        assert LAST_SENTENCE in release.facts.guarantee
        assert any("are in no window and are dropped" in note for note in release.facts.notes)


def test_the_unit_and_the_last_sentence_are_said_wherever_a_promise_is(tmp_path: Path) -> None:
    data = opened(tmp_path, window=hc.truncate("time", "day", zone="Europe/Stockholm"))
    plan = data.during("2026-03-02").count_users("page", groups=["a", "b"], spend="2/3")
    release = plan.release()
    receipt = release.receipt(tmp_path / "receipt.json")
    whole = "epsilon 0.7975 at delta 1e-06. Someone present in 7 days: 2.265 at delta 4e-06; in 30"
    for said in (
        *(str(plan), plan.explain(), plan.described(), str(release), str(hc.verify(receipt))),
        registry_record(data.ledger, "web"),
    ):
        assert whole in said
        assert LAST_SENTENCE in said
        assert "within one day (Europe/Stockholm)" in said
    page = statement(data.ledger, "web")
    assert "| present for | a day | a week | 30 days | a year | ten years |" in page
    assert "| epsilon | 0.7975 | 2.265 | 5.052 | 22.22 |" in page
    assert LAST_SENTENCE in page
    assert str(UserWithin("person", "day", " (Europe/Stockholm)")) in release.facts.guarantee


def test_a_naive_column_has_windows_of_its_own_clock(tmp_path: Path) -> None:
    data = opened(tmp_path, table(None))
    assert str(data.window) == "time:day"
    assert (
        "within one day,"
        in data.during("2026-03-01").profile("page", spend="1/2").release().facts.guarantee
    )


def test_an_account_that_is_open_says_its_windows(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.during("2026-03-01").profile("page", spend="1/2").release()
    again = opened(tmp_path, window=None, budget=None)
    assert again.window == first.window
    again.during("2026-03-02").profile("page", spend="1/2").release()


REFUSED: dict[str, tuple[str, Callable[[hc.Dataset], Any]]] = {
    "no during": ("say which", lambda data: data.count_users("page", spend="1/2")),
    "during twice": (
        "named already",
        lambda data: data.during("2026-03-01").during("2026-03-01"),
    ),
    "a target over several": (
        "nothing is proved of it for more than one day",
        lambda data: data.during("2026-03").count_users("page", within=0.1, spend="1/2"),
    ),
    "Laplace noise over several": (
        "nothing is proved",
        lambda data: data.during("2026-03").count_users(
            "page", bound=1, method="laplace", spend="1/2"
        ),
    ),
    "a sample over several": (
        "nothing is proved",
        lambda data: data.during("2026-03").count_users(
            "page", bound=1, method="sample", spend="1/2"
        ),
    ),
    "found sums over several": (
        "nothing is proved",
        lambda data: data.during("2026-03").count_events("page", spend="1/2"),
    ),
    "undone sums over several": (
        "nothing is proved",
        lambda data: data.during("2026-03").count_events(
            "page", groups=["a"], bound=2, debias=True, spend="1/2"
        ),
    ),
    "shares over several": (
        "nothing is proved",
        lambda data: data.during("2026-03").distribution("page", spend="1/2"),
    ),
    "quantiles over several": (
        "nothing is proved",
        lambda data: data.during("2026-03").quantiles("amount", bounds=(0, 9), spend="1/2"),
    ),
    "profiles over several": (
        "nothing is proved",
        lambda data: data.during("2026-03").profile("page", spend="1/2"),
    ),
    "frequencies over several": (
        "nothing is proved",
        lambda data: data.during("2026-03").frequencies("page", spend="1/2"),
    ),
    "public numbers of users": (
        "how many each day has is protected",
        lambda data: data.during("2026-03-01").distribution("page", users=9, spend="1/2"),
    ),
    "a spend of a window": (
        "leave per= out",
        lambda data: data.during("2026-03-01").profile("page", spend=DAY),
    ),
    "groups of a zone": (
        "groups are cut in UTC",
        lambda data: data.during("2026-03-01").count_users(
            hc.truncate("time", "day", zone="Europe/Stockholm"), spend="1/2"
        ),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_proof_is_refused_before_the_charge(name: str, tmp_path: Path) -> None:
    says, ask = REFUSED[name]
    data = opened(tmp_path)
    with pytest.raises(hc.UsageError, match=says):
        ask(data)
    assert not Path(tmp_path / "l.db").exists()


OPENINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "two columns": ("window=hc.truncate", {"user": ["person", "day"]}),
    "no per": ("Write budget=hc.Budget", {"budget": hc.Budget(rho=1)}),
    "another per": ("per='day'", {"budget": hc.Budget(rho=1, per="month")}),
    "per without a window": ("per= is for an account with windows", {"window": None}),
    "a lifetime without a window": (
        "lifetime= is for an account with windows",
        {"window": None, "budget": hc.Budget(rho=1), "lifetime": hc.Budget(rho=1)},
    ),
    "a lifetime of a window": ("no per=", {"lifetime": DAY}),
    "replacement": ("takes the number of users for public", {"neighbours": "replace"}),
    "sessions": ("not of what other rows say", {"window": "session"}),
    "a quarter": ("cut to one of", {"window": hc.truncate("time", "quarter")}),
    "a text": ("cannot be cut to windows", {"window": hc.truncate("page", "day")}),
    "hours of dates": (
        "cannot be cut to windows",
        {"window": hc.truncate("day", "hour"), "budget": hc.Budget(rho=1, per="hour")},
    ),
    "a zone of dates": ("Leave zone= out", {"window": hc.truncate("day", "day", zone="UTC")}),
}


@pytest.mark.parametrize("name", OPENINGS)
def test_an_opening_that_promises_less_is_refused(name: str, tmp_path: Path) -> None:
    says, options = OPENINGS[name]
    given: dict[str, Any] = {"window": hc.truncate("time", "day"), "budget": DAY}
    given |= {"user": "person"} | options
    with pytest.raises((hc.UsageError, hc.SchemaError), match=says):
        hc.open(table(), account="web", ledger=tmp_path / "l.db", **given)


def test_a_second_window_or_none_is_refused(tmp_path: Path) -> None:
    opened(tmp_path).during("2026-03-01").profile("page", spend="1/2").release()
    month = hc.Budget(rho=1, per="month")
    for options in (
        {"window": hc.truncate("time", "month"), "budget": month},
        {"window": hc.truncate("time", "day", zone="Europe/Stockholm")},
        {"window": hc.truncate("day", "day")},
    ):
        with pytest.raises(hc.UsageError, match="another window or another budget"):
            opened(tmp_path, **options)
    plain = opened(tmp_path, account="plain", window=None, budget=hc.Budget(rho=1))
    with pytest.raises(hc.UsageError, match="one budget for all time and no windows"):
        plain.during("2026-03-01")
    plain.profile("page", spend="1/2").release()
    with pytest.raises(hc.UsageError, match="no windows"):
        opened(tmp_path, account="plain")


def test_a_view_that_is_vouched_for_may_take_a_time_from_other_rows(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        rows = table()
        connection.register("rows", rows)
        connection.execute("create table events as select * from rows")
        connection.execute(
            "create view sessions as select person, page, min(time) over (partition by person) "
            "as time from events"
        )
    address = f"duckdb://{tmp_path}/t.duckdb?table=sessions"
    with pytest.raises(hc.UsageError, match=r"trusted_view"):
        opened(tmp_path, address)
    with pytest.raises(hc.UsageError, match="views that can be looked into"):
        opened(tmp_path, address, trusted_view="Ann Lee: a row of each user's own")
