"""Whatever a handler of a signal raises ends a release, wherever it is: no rows, and the entry."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.tables import duckdb as engine_module
from headcount.tables import interrupts
from headcount.tables.duckdb import DuckDBEngine


class LimitError(Exception):
    """What a caller's own handler raises."""


@pytest.fixture
def plan(tmp_path: Path) -> hc.Plan:
    path = tmp_path / "events.parquet"
    users = list(range(700)) * 4
    pq.write_table(pa.table({"u": users, "g": [f"g{i % 6}" for i in range(2800)]}), path)
    budget = hc.Budget(rho=9, delta=1e-6)
    data = hc.open(path, user="u", budget=budget, ledger=tmp_path / "l.db")
    return data.count_users("g", within=0.1, spend=hc.Budget(rho=1, delta=1e-8))


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    def over(_number: int, _frame: Any) -> None:
        raise LimitError("time limit")

    before = signal.signal(signal.SIGALRM, over)
    yield
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("at", range(1, 8))
def test_a_time_limit_inside_a_query(
    at: int, plan: hc.Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As DuckDB has it: its own error, with what the handler raised as its cause."""
    n_queries = 0
    shipped = interrupts.execute

    def interrupted(connection: Any, query: str) -> Any:
        nonlocal n_queries
        n_queries += 1
        if n_queries == at:
            os.kill(os.getpid(), signal.SIGALRM)
        return shipped(connection, query)

    monkeypatch.setattr(engine_module, "execute", interrupted)
    with pytest.raises(LimitError, match="time limit") as raised:
        plan.release()
    assert raised.value.__context__ is None
    monkeypatch.undo()
    assert len(plan.release()) > 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGALRM])
def test_while_tables_are_dropped(
    number: int, plan: hc.Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = DuckDBEngine.drop

    def drop(engine: DuckDBEngine, name: str) -> None:
        try:
            os.kill(os.getpid(), number)
        except BaseException:
            raise RuntimeError(interrupts.TEXT) from None
        shipped(engine, name)

    monkeypatch.setattr(DuckDBEngine, "drop", drop)
    with pytest.raises((KeyboardInterrupt, LimitError)):
        plan.release()
    monkeypatch.undo()
    assert len(plan.release()) > 0
