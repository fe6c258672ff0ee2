"""How sources are opened where something is exchanged under them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

import headcount as hc
from headcount.ledger.ledger import Ledger

BUDGET, ONE = hc.Budget(rho=100, delta=1e-3), hc.Budget(rho=1)


ROWS = (
    "select 'u' || (i * 7 % 200) as user_id, 'p' || (i % 5) as page, i % 9 as n "
    "from range(4000) t(i)"
)


def write(path: str | Path, rows: str = ROWS) -> None:
    duckdb.sql(f"copy ({rows}) to '{path}'")


def opened(source: Any, account: str | None = None, **more: Any) -> hc.Dataset:
    return hc.open(source, user="user_id", account=account, budget=BUDGET, ledger="l.db", **more)


def planned(data: hc.Dataset) -> hc.Plan:
    return data.count_users("page", groups=["p0"], spend=ONE)


def spent() -> dict[str, int]:
    return {account.name: int(account.spent.rho) for account in Ledger("l.db").accounts()}
