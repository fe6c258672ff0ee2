"""Accounts in which a user is replaced: a plan says what is charged, and no more is charged."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headcount as hc
from headcount.releases.plan import Plan

SPEND = hc.Budget(rho="0.01", delta="1e-7")
GROUPS = ["a", "b"]
CALLS: dict[str, Callable[[Any], Plan]] = {
    "count_users": lambda data: data.count_users("group", groups=GROUPS, spend=SPEND),
    "count_users laplace": lambda data: data.count_users("group", method="laplace", spend=SPEND),
    "count_users sample": lambda data: data.count_users(
        "group", method="sample", bound=1, spend=SPEND
    ),
    "count_events": lambda data: data.count_events("group", groups=GROUPS, spend=SPEND),
    "count_events found": lambda data: data.count_events("group", spend=SPEND),
    "debiased": lambda data: data.count_events(
        "group", groups=GROUPS, bound=1, debias=True, spend=SPEND
    ),
    "profile": lambda data: data.profile("group", spend=SPEND),
    "frequencies": lambda data: data.frequencies("group", spend=SPEND),
    "quantiles": lambda data: data.quantiles("value", bounds=(0, 100), spend=SPEND),
    "count_ranges": lambda data: data.count_ranges("value", [(0, 10)], spend=SPEND),
    "distribution": lambda data: data.distribution("group", groups=GROUPS, spend=SPEND),
}


@pytest.fixture
def data(tmp_path: Path) -> Any:
    n = 1000
    table = pa.table({"user": range(n), "group": GROUPS * (n // 2), "value": [3.5, 40.0] * 500})
    budget = hc.Budget(rho=1, delta=1e-6)
    return hc.open(
        table, user="user", account="r", budget=budget, ledger=tmp_path / "l.db",
        neighbours="replace",
    )  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_the_plan_says_what_is_charged(data: Any, call: str) -> None:
    plan = CALLS[call](data)
    release = plan.release()
    spent = data.account.spent.rho
    assert plan.spend.rho <= spent <= plan.spend.rho + Fraction(1, 10**11), "the ledger rounds up"
    assert Fraction(9, 1000) < spent <= Fraction(1, 100)
    assert "replacing one user" in release.guarantee
    assert Fraction(release.facts.rho) == plan.spend.rho


def test_all_that_is_left_can_be_spent(data: Any) -> None:
    data.quantiles("value", bounds=(0, 100), spend="1").release()
    assert data.account.left.rho < Fraction(1, 10**6)


@pytest.mark.parametrize("asked", [{}, {"within": 0.1}, {"method": "peel"}, {"top": 3}], ids=str)
def test_what_has_no_proof_here_is_refused_with_what_has(data: Any, asked: Any) -> None:
    with pytest.raises(hc.UsageError, match="method='laplace' or method='sample'"):
        data.count_users("group", spend=SPEND, **asked)
    assert data.account.spent.rho == 0
