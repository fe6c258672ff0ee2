"""``count_events`` where groups are found in the data, as people call it."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import headcount as hc
from headcount.errors import UsageError

N_USERS = 6000


def events() -> pa.Table:
    rng = np.random.default_rng(9)
    n_each = np.minimum(
        rng.geometric(1 / 6, N_USERS) * rng.choice([1, 9], N_USERS, p=[0.97, 0.03]), 300
    )
    user = np.repeat(np.arange(N_USERS), n_each)
    page = np.minimum(rng.geometric(0.08, len(user)) - 1, 60)
    rare = rng.random(len(user)) < 0.01
    name = [
        f"own {u}" if own else f"page {p:02d}" for u, p, own in zip(user, page, rare, strict=True)
    ]
    return pa.table({"user": user, "page": name})


EVENTS = events()
TRUE = Counter(EVENTS.column("page").to_pylist())


def opened(tmp_path: Path, rho: object = 1, **more: Any) -> Any:
    budget = hc.Budget(rho=rho, delta=1e-6)  # type: ignore[arg-type]
    return hc.open(
        EVENTS, user="user", account="e", budget=budget, ledger=tmp_path / "l.db", **more
    )


def shown(data: Any, method: str) -> tuple[Any, list[dict[str, Any]]]:
    """A release of a fresh draw and its rows; what it cost is what the plan said."""
    before = data.account.spent
    plan = data.count_events("page", method=method, spend=hc.Budget(rho=1, delta="1e-7"))
    release = plan.release(fresh=True)
    spent = data.account.spent.rho - before.rho
    assert plan.spend.rho <= spent < plan.spend.rho + Fraction(1, 10**11)
    rows = release.to_arrow().to_pylist()
    assert not any(row["page"].startswith("own") for row in rows)
    assert release.facts.verb == "count_events"
    return release, rows


def covered(rows: list[dict[str, Any]]) -> float:
    return float(np.mean([row["low"] <= TRUE[row["page"]] <= row["high"] for row in rows]))


def test_bars_hold_by_default(tmp_path: Path) -> None:
    data, shares = opened(tmp_path, rho=5), []
    for _ in range(5):
        release, rows = shown(data, "auto")
        assert len(rows) >= 20
        assert release.facts.bars != "noise only"
        shares.append(covered(rows))
    assert np.mean(shares) > 0.85


@pytest.mark.parametrize("method", ["gaussian", "laplace"])
def test_one_bound_for_all_says_that_its_bars_cover_the_noise_only(
    tmp_path: Path, method: str
) -> None:
    data, shares = opened(tmp_path, rho=5), []
    for _ in range(5):
        release, rows = shown(data, method)
        assert len(rows) >= (20 if method == "gaussian" else 5)
        assert release.facts.bars == "noise only"
        assert any(f"Method {method!r}" in note for note in release.facts.notes)
        shares.append(covered(rows))
    # What the bound leaves out is one number for all rows, so they are off together or not at all.
    assert np.median(shares) > 0.75


def test_replacement_takes_laplace_noise_and_its_own_scale(tmp_path: Path) -> None:
    data = opened(tmp_path, neighbours="replace")
    with pytest.raises(UsageError, match="add-remove accounts"):
        data.count_events("page", method="gaussian", spend="1")
    with pytest.raises(UsageError, match="add-remove accounts"):
        data.count_events("page", within=0.1, spend="1")
    release = data.count_events("page", spend="1").release()
    assert "replacing one user" in release.guarantee
    assert "Laplace" in release.facts.noise


def test_top_keeps_the_largest(tmp_path: Path) -> None:
    release = opened(tmp_path).count_events("page", top=4, spend="1").release()
    rows = release.to_arrow().to_pylist()
    assert len(rows) == 4
    assert {row["page"] for row in rows} <= {f"page {p:02d}" for p in range(7)} | {"page 60"}


def test_within_keeps_its_promise(tmp_path: Path) -> None:
    tried = []
    for number in range(5):
        (tmp_path / str(number)).mkdir()
        data = opened(tmp_path / str(number), rho=4)
        plan = data.count_events("page", within=0.10, spend="1")
        assert "about nine in ten rows within 10% of the true count" in plan.explain()
        assert "count events within 0.1" in plan.explain()
        tried.append(plan.release())
    # One in thirty can keep the promise for a few rows only, and withholds the rest.
    release = sorted(tried, key=len)[2]
    rows = release.to_arrow().to_pylist()
    assert len(rows) > 10
    covered = [row["low"] <= TRUE[row["page"]] <= row["high"] for row in rows]
    assert np.mean(covered) > 0.8
    near = [abs(row["count"] / TRUE[row["page"]] - 1) <= 0.105 for row in rows]
    assert np.mean(near) > 0.7


def test_where_noise_exceeds_signal_the_release_says_so(tmp_path: Path) -> None:
    few = pa.table({"user": [1, 2, 3], "page": ["a", "b", "b"]})
    data = hc.open(
        few, user="user", account="few", budget=hc.Budget(rho=2, delta=1e-6), ledger=tmp_path / "f"
    )
    release = data.count_events("page", spend="1/2").release()
    assert len(release) == 0
    assert any("No group stands out from the noise" in note for note in release.facts.notes)
    bounded = data.count_events("page", method="gaussian", spend="1/2").release()
    assert len(bounded) == 0
    assert any("noise exceeds signal" in note for note in bounded.facts.notes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "peel"}, "method must be one of"),
        ({"method": "laplace", "within": 0.1}, "has no target"),
        ({"within": 0.7}, "within must be"),
        ({"top": 0}, "top must be"),
        ({"spend": hc.Budget(rho="0.000001")}, "at least about epsilon"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: dict[str, object], message: str, tmp_path: Path
) -> None:
    data = opened(tmp_path)
    with pytest.raises(UsageError, match=message):
        data.count_events("page", **{"spend": "1", **arguments})
    assert data.account.spent.rho == 0
