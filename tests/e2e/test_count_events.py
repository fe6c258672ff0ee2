"""``count_events`` as a user calls it, from Python and from a shell."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import headcount as hc
from headcount.cli.commands import app
from headcount.errors import UsageError

N_USERS, N_GROUPS = 4000, 30
GROUPS = [f"page {g:02d}" for g in range(N_GROUPS)]


def events() -> pa.Table:
    rng = np.random.default_rng(8)
    n_each = np.minimum(
        rng.geometric(1 / 12, N_USERS) * rng.choice([1, 8], N_USERS, p=[0.95, 0.05]), 400
    )
    user = np.repeat(np.arange(N_USERS), n_each)
    page = np.minimum(rng.geometric(0.12, len(user)) - 1, N_GROUPS + 2)
    return pa.table({"user": user, "page": [f"page {g:02d}" for g in page]})


EVENTS = events()
TRUE = Counter(EVENTS.column("page").to_pylist())


def opened(tmp_path: Path, **more: Any) -> Any:
    budget = hc.Budget(epsilon=20, delta=1e-6)
    return hc.open(
        EVENTS, user="user", account="e", budget=budget, ledger=tmp_path / "l.db", **more
    )


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("method", ["auto", "laplace"])
def test_bars_cover_the_true_counts(tmp_path: Path, neighbours: str, method: str) -> None:
    data = opened(tmp_path, neighbours=neighbours)
    plan = data.count_events("page", groups=GROUPS, method=method, spend=hc.Budget(epsilon=2))
    assert "chosen privately" in plan.explain()
    # About one in a hundred chooses a bound of no use, says so, and shows nothing.
    release = sorted((plan.release(fresh=True) for _ in range(3)), key=len)[1]
    assert neighbours.replace("-", " ")[:3] in release.guarantee
    rows = release.to_arrow().to_pylist()
    assert [row["page"] for row in rows] == GROUPS
    covered = sum(row["low"] <= TRUE[row["page"]] <= row["high"] for row in rows)
    # The choice of a bound is random, and what it leaves out moves all rows together.
    assert covered >= 20
    biggest = rows[0]
    assert abs(biggest["count"] / TRUE[biggest["page"]] - 1) < 0.6
    assert "as measured privately" in release.facts.notes[0]


def test_the_plan_costs_what_was_asked_and_no_more(tmp_path: Path) -> None:
    data = opened(tmp_path)
    before = data.account.left
    plan = data.count_events("page", groups=GROUPS, spend=hc.Budget(rho=0.01))
    assert 0.0099 < plan.spend.rho <= 0.01
    assert plan.spend.delta == 0
    release = plan.release()
    spent = before.rho - data.account.left.rho
    assert plan.spend.rho <= spent <= 0.01, "the ledger rounds up to whole units"
    assert len(plan.release()) == len(release), "the same plan shows the same rows"


def test_a_public_bound_is_not_chosen_again(tmp_path: Path) -> None:
    plan = opened(tmp_path).count_events(
        "page", groups=GROUPS, bound=40, spend=hc.Budget(epsilon=1)
    )
    assert len(plan.work.event.events) == 2
    assert "up to 40 events" in plan.explain()
    assert "up to 40 events" in plan.release().facts.bounds


def test_the_largest_rows(tmp_path: Path) -> None:
    plan = opened(tmp_path).count_events("page", groups=GROUPS, top=4, spend=hc.Budget(epsilon=3))
    rows = plan.release().to_arrow().column("page").to_pylist()
    assert rows == sorted(rows)
    assert len(rows) == 4
    assert set(rows) <= set(GROUPS[:7])


def test_noise_that_exceeds_the_signal_releases_no_rows_and_says_so(tmp_path: Path) -> None:
    many = [f"page {g:05d}" for g in range(20_000)]
    plan = opened(tmp_path).count_events("page", groups=many, spend=hc.Budget(epsilon=0.05))
    release = plan.release()
    assert len(release) == 0
    assert release.to_arrow().column_names == ["page", "count", "low", "high", "sd"]
    assert "Noise exceeds the signal" in release.facts.notes[0]
    assert "Spend more" in release.facts.notes[0]


def test_a_bound_that_is_undone(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    rows = rng.poisson([2.0, 1.0, 4.0], (20_000, 3))
    user = np.repeat(np.arange(20_000), rows.sum(axis=1))
    page = np.concatenate([np.repeat(["a", "b", "c"], row) for row in rows])
    data = hc.open(
        pa.table({"user": user, "page": page}), user="user", account="p",
        budget=hc.Budget(epsilon=9, delta=1e-6), ledger=tmp_path / "l.db",
    )  # fmt: skip
    call: Any = {"by": "page", "groups": ["a", "b", "c"], "bound": 3, "spend": hc.Budget(epsilon=1)}
    plan = data.count_events(debias=True, **call)
    assert "as if every user's rows" in plan.explain()
    release = plan.release()
    got = release.to_arrow().column("count").to_pylist()
    assert got == pytest.approx(rows.sum(axis=0), rel=0.05)
    assert release.facts.bars == "noise only"
    assert data.count_events(**call).release().facts.bars == "noise only"


def test_listed_groups_can_have_a_target(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    user = np.repeat(np.arange(6_000), 12)
    page = rng.choice(["a", "b", "c", "d"], len(user), p=[0.5, 0.3, 0.15, 0.05])
    data = hc.open(
        pa.table({"user": user, "page": page}), user="user", account="t",
        budget=hc.Budget(rho=2, delta=1e-6), ledger=tmp_path / "l.db",
    )  # fmt: skip
    plan = data.count_events("page", groups=["a", "c", "nobody"], within=0.10, spend="1")
    assert "3 listed" in plan.explain()
    rows = plan.release().to_arrow().to_pylist()
    truth = {name: int((page == name).sum()) for name in "ac"}
    assert {row["page"] for row in rows} == {"a", "c"}
    assert all(abs(row["count"] / truth[row["page"]] - 1) < 0.2 for row in rows)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"groups": GROUPS, "method": "magic"}, "method must be one of"),
        ({"groups": GROUPS, "within": 0.1, "bound": 3}, "without a target"),
        ({"groups": GROUPS, "bound": 0}, "bound must be"),
        ({"groups": GROUPS, "top": 0}, "top must be a whole number from 1"),
        ({"groups": GROUPS, "debias": True}, "debias=True needs bound="),
        ({"groups": GROUPS, "debias": True, "bound": 2.5}, "whole number"),
        ({"groups": GROUPS, "debias": True, "bound": 2, "method": "laplace"}, "leave method="),
        ({"bound": 4}, "are for known groups"),
        ({"groups": GROUPS, "spend": hc.Budget(rho=1e-9)}, "at least about epsilon"),
    ],
)
def test_what_is_refused_and_how(tmp_path: Path, arguments: Any, says: str) -> None:
    data = opened(tmp_path)
    with pytest.raises(UsageError, match=says):
        data.count_events("page", **{"spend": "1", **arguments})
    assert data.account.spent.rho == 0


def test_from_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet as pq

    monkeypatch.setenv("HEADCOUNT_LEDGER", str(tmp_path / "l.db"))
    pq.write_table(EVENTS, tmp_path / "events.parquet")
    (tmp_path / "pages.txt").write_text("\n".join(GROUPS), encoding="utf-8")
    result = CliRunner().invoke(
        app,
        ["count-events", str(tmp_path / "events.parquet"), "--user", "user", "--by", "page",
         "--groups", str(tmp_path / "pages.txt"), "--top", "5", "--epsilon", "2", "--budget", "2",
         "--out", str(tmp_path / "out.parquet"), "--explain"],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "chosen privately" in result.output
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 5
