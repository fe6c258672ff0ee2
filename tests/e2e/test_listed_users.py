"""A column that named the people of an account is not counted by, however it is used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import headcount as hc
from headcount.errors import UsageError
from headcount.ledger.ledger import Ledger

ROWS = "select i * 7 % 200 as user_id, i % 5 as page, i % 40 as session from range(4000) t(i)"
BUDGET, ONE = hc.Budget(rho=100, delta=1e-3), hc.Budget(rho=1, delta=1e-6)


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., hc.Dataset]:
    monkeypatch.chdir(tmp_path)
    duckdb.sql(f"copy ({ROWS}) to 'e.parquet'")

    def opened(user: str, source: str = "e.parquet", **more: Any) -> hc.Dataset:
        return hc.open(source, user=user, account="web", budget=BUDGET, ledger="ledger.db", **more)

    return opened


USES: dict[str, Callable[[Callable[..., hc.Dataset]], hc.Plan]] = {
    "by": lambda opened: opened("session").count_users("user_id", spend=ONE),
    "by a cut": lambda opened: opened("session").count_users(hc.bins("user_id", 1), spend=ONE),
    "events": lambda opened: opened("session").count_events("user_id", spend=ONE),
    "where": lambda opened: opened("session", where="user_id = 7").count_users("page", spend=ONE),
    "ranges": lambda opened: opened("session").count_ranges(
        "user_id", [0, 1, 2, 3], per_user="max", spend=ONE
    ),
    "quantiles": lambda opened: opened("session").quantiles(
        "user_id", at=[0.5], bounds=(0, 200), per_user="max", spend=ONE
    ),
    "another case": lambda opened: opened("session", "upper.parquet").count_users(
        "USER_ID", spend=ONE
    ),
}


@pytest.mark.parametrize("how", USES)
def test_a_column_that_named_people_is_not_used(
    how: str, opened: Callable[..., hc.Dataset]
) -> None:
    duckdb.sql("copy (select user_id as USER_ID, session from 'e.parquet') to 'upper.parquet'")
    early = USES[how](opened)
    opened("user_id").count_users("page", groups=[0, 1], spend=ONE).release()
    with pytest.raises(UsageError, match="names the people"):
        USES[how](opened)
    # Planned before the first charge, and asked afresh.
    for fresh in (False, True):
        with pytest.raises(UsageError, match="names the people"):
            early.release(fresh=fresh)
    assert len(Ledger("ledger.db").entries("web")) == 1


def test_a_slip_in_the_first_command_can_be_said(opened: Callable[..., hc.Dataset]) -> None:
    opened("page").count_users("user_id", spend=ONE).release()
    with pytest.raises(UsageError, match="mistaken_users="):
        opened("user_id").count_users("page", spend=ONE)
    right = opened("user_id", mistaken_users=["page"])
    assert right.count_users("page", groups=[0, 1], spend=ONE).release().to_arrow().num_rows == 2


def test_a_people_column_may_be_counted_under_its_own_name(
    opened: Callable[..., hc.Dataset],
) -> None:
    plan = opened("user_id", where="user_id >= 0").count_users("page", groups=[0], spend=ONE)
    plan.release()
    opened("user_id", where="user_id >= 1").count_users("page", groups=[0], spend=ONE).release()
