"""``quantiles`` and ``count_ranges`` as people call them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import headcount as hc
from headcount.cli.commands import app
from headcount.privacy.event import Composed, SampleThreshold, Selection

N = 6000


def table() -> pa.Table:
    """Users with one to three rows; the median of a user's ages is the user's age."""
    rng = np.random.default_rng(8)
    age = rng.integers(18, 90, N)
    rows = rng.integers(1, 4, N)
    user = np.repeat(np.arange(N), rows)
    return pa.table(
        {"user": user, "age": np.repeat(age, rows), "spent": rng.lognormal(3, 1, len(user))}
    )


def holds(row: dict[str, Any], truth: float) -> bool:
    """Bars are for 95 in 100: three times as long, they hold the truth in any run."""
    length = row["high"] - row["low"]
    return bool(row["low"] - length <= truth <= row["high"] + length)


@pytest.fixture
def data(tmp_path: Path) -> Any:
    budget = hc.Budget(epsilon=10, delta=1e-6)
    return hc.open(table(), user="user", account="q", budget=budget, ledger=tmp_path / "l.db")


@pytest.mark.parametrize("method", ["auto", "hierarchy", "exponential"])
def test_quantiles_are_near_the_truth(data: Any, method: str) -> None:
    spend = hc.Budget(epsilon=2)
    plan = data.quantiles("age", at=[0.9, 0.25, 0.5], bounds=(0, 120), method=method, spend=spend)
    release = plan.release()
    # The ledger rounds up.
    assert plan.spend.rho <= data.account.spent.rho < plan.spend.rho + Fraction(1, 10**6)
    rows = release.to_arrow()
    assert rows.column_names == ["quantile", "value", "low", "high"]
    assert rows.column("quantile").to_pylist() == [0.25, 0.5, 0.9]
    assert rows.schema.field("value").type == pa.int64()
    assert rows.column("value").to_pylist() == pytest.approx([35.5, 53.5, 82.5], abs=3)
    for row in rows.to_pylist():
        assert row["low"] <= row["value"] <= row["high"]
        assert row["high"] - row["low"] < 10
    assert release.facts.value == "value"
    assert "users" in plan.explain()


@pytest.mark.parametrize("method", ["sample", "sample-levels", "sample-search"])
def test_quantiles_of_samples_hold_the_truth(data: Any, method: str) -> None:
    plan = data.quantiles(
        "age", at=[0.5], bounds=(0, 128), step=8, method=method, spend=hc.Budget(epsilon=3)
    )
    assert isinstance(plan.work.event, SampleThreshold)
    assert "noise on all users is closer" in plan.explain()
    (row,) = plan.release().to_arrow().to_pylist()
    assert holds(row, 53.5)
    assert row["high"] - row["low"] < 60
    assert row["low"] <= row["value"] <= row["high"]


@pytest.mark.parametrize("method", ["sample", "sample-levels"])
def test_ranges_of_samples_hold_the_truth(data: Any, method: str) -> None:
    ranges = [(18, 54), (54, 90), (18, 90), (100, 110)]
    release = data.count_ranges("age", ranges, method=method, spend=hc.Budget(epsilon=3)).release()
    rows = {row["at_least"]: row for row in release.to_arrow().to_pylist() if row["below"] != 90}
    age = np.random.default_rng(8).integers(18, 90, N)
    assert holds(rows[18], (age < 54).sum())
    assert rows[100]["low"] == rows[100]["count"] == 0 < rows[100]["high"]


def test_the_plan_says_what_is_described_and_why(data: Any) -> None:
    plan = data.quantiles("spent", bounds=(0, 500), per_user="mean", spend="1")
    text = plan.explain()
    for words in ("the mean of the user's values", "distribution over users", "4,096 from 0 to 500",
                  "closest", "nothing was read"):  # fmt: skip
        assert words in text
    events = plan.work.event
    assert isinstance(events, Composed)
    assert isinstance(events.events[-1], Selection)
    many = data.quantiles("spent", bounds=(0, 500), at=[i / 20 for i in range(1, 20)], spend="1")
    assert not isinstance(many.work.event, Composed)


def test_rows_per_user(data: Any) -> None:
    rows = data.quantiles(None, bounds=(0, 10), at=0.5, spend=hc.Budget(epsilon=2)).release()
    assert rows.to_arrow().column("value").to_pylist() == [2]


def test_ranges_may_overlap(data: Any, tmp_path: Path) -> None:
    plan = data.count_ranges("age", [(18, 30), (18, 90), (65, None)], spend=hc.Budget(epsilon=2))
    release = plan.release()
    rows = release.to_arrow()
    assert rows.column_names == ["at_least", "below", "count", "low", "high", "sd"]
    assert rows.column("below").to_pylist() == [30, 90, None]
    wanted = [N * 12 / 72, N, N * 25 / 72]
    assert rows.column("count").to_pylist() == pytest.approx(wanted, abs=150)
    assert 5950 < rows.column("count").to_pylist()[1] < 6050
    side_by_side = data.count_ranges("age", [18, 30, 90], spend=hc.Budget(epsilon=1)).release()
    assert side_by_side.to_arrow().column("at_least").to_pylist() == [18, 30]
    assert "30" in release.plot(tmp_path / "r.svg").read_text(encoding="utf-8")


def test_a_chart_of_quantiles_has_a_mark_for_each(data: Any, tmp_path: Path) -> None:
    release = data.quantiles("age", bounds=(0, 120), at=[0.25, 0.75], spend="1").release()
    drawn = release.plot(tmp_path / "q.svg").read_text(encoding="utf-8")
    assert "75 %" in drawn
    assert "share of users below" in drawn


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda d: d.quantiles("age", bounds=(5, 5), spend="1"), "bounds must go"),
        (lambda d: d.quantiles("user", bounds=(0, 5), spend="1"), "names the users"),
        (lambda d: d.quantiles("none", bounds=(0, 5), spend="1"), "no column"),
        (lambda d: d.quantiles("age", bounds=(0, 5), at=[], spend="1"), "an empty one"),
        (lambda d: d.quantiles("age", bounds=(0, 5), at=[0.5, 0.5], spend="1"), "each once"),
        (lambda d: d.quantiles("age", bounds=(0, 5), at=[1], spend="1"), "between 0 and 1"),
        (lambda d: d.quantiles("age", bounds=(0, 5), per_user="mode", spend="1"), "per_user"),
        (lambda d: d.quantiles("age", bounds=(0, 5), method="guess", spend="1"), "method"),
        (lambda d: d.count_ranges("age", [], spend="1"), "ranges"),
        (lambda d: d.count_ranges("age", [(2, 1)], spend="1"), "range"),
    ],
)
def test_what_makes_no_sense_is_refused_before_a_charge(data: Any, call: Any, words: str) -> None:
    with pytest.raises(hc.UsageError, match=words):
        call(data)
    assert data.account.spent.rho == 0


def test_a_repeated_release_is_not_charged_twice(data: Any) -> None:
    plan = data.quantiles("age", bounds=(0, 120), spend=hc.Budget(epsilon=1))
    first = plan.release().to_arrow()
    spent = data.account.spent
    assert plan.release().to_arrow().equals(first)
    assert data.account.spent == spent


def test_the_shell_has_the_same_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet as pq

    monkeypatch.chdir(tmp_path)
    pq.write_table(table(), "t.parquet")
    shared = ["t.parquet", "--user", "user", "--of", "age", "--epsilon", "1", "--budget", "5",
              "--ledger", "l.db", "--account", "a"]  # fmt: skip
    run = CliRunner().invoke
    asked = run(
        app, ["quantiles", *shared, "--low", "0", "--high", "120", "--at", "0.5", "--out", "q.csv"]
    )
    assert asked.exit_code == 0, asked.output
    assert (tmp_path / "q.csv").read_text().splitlines()[0].replace(
        '"', ""
    ) == "quantile,value,low,high"
    counted = run(app, ["count-ranges", *shared, "--range", "18:30", "--range", ":65"])
    assert counted.exit_code == 0, counted.output
    assert "at_least" in counted.output
