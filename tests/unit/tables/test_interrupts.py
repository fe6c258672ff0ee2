"""Ctrl-C while DuckDB runs a query is no damaged file: it ends the release."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.tables import parquet_mend
from headcount.tables.interrupts import execute

FOR_EVER = "select count(*) from range(100_000_000_000) t(i) where hash(i) % 7 = 1"


class Interrupted:
    """A DuckDB connection on which a signal arrives."""

    def __init__(self, cause: BaseException | None) -> None:
        self.cause, self.interrupts, self.queries = cause, 0, 0

    def execute(self, _query: str) -> None:
        self.queries += 1
        raise RuntimeError("Query interrupted") from self.cause

    def interrupt(self) -> None:
        self.interrupts += 1


@pytest.mark.parametrize("cause", [KeyboardInterrupt("mine"), None])
def test_what_the_signal_raised_is_raised_and_the_query_is_told_to_end(
    cause: KeyboardInterrupt | None,
) -> None:
    connection = Interrupted(cause)
    with pytest.raises(KeyboardInterrupt) as raised:
        execute(connection, "select 1")
    assert cause is None or raised.value is cause
    assert (raised.value.__cause__, raised.value.__context__) == (None, None)
    assert connection.interrupts == 1


def test_other_errors_of_the_engine_stay_what_they_are() -> None:
    with pytest.raises(duckdb.CatalogException):
        execute(duckdb.connect(), "select * from nothing")


def test_a_file_is_not_called_unreadable_because_somebody_stopped() -> None:
    connection = Interrupted(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        parquet_mend.reads(connection, "file.parquet", ["page"], 1)
    assert connection.queries == 1


def test_a_connection_can_be_closed_at_once_after_a_real_signal() -> None:
    connection = duckdb.connect().cursor()
    begun = time.monotonic()
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        execute(connection, FOR_EVER)
    connection.close()
    assert time.monotonic() - begun < 30


def test_a_release_that_is_stopped_mends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(pa.table({"user": [1, 2], "page": ["a", "b"]}), tmp_path / "t.parquet")
    data = hc.open(
        tmp_path / "t.parquet",
        user="user",
        ledger=tmp_path / "l.db",
        budget=hc.Budget(epsilon=3),
    )
    plan = data.count_users("page", spend="1/10")
    mended: list[Any] = []
    monkeypatch.setattr(
        "headcount.tables.parquet_files.ParquetFiles.mend", lambda *_: mended.append(1)
    )

    def stopped(_connection: Any, query: str) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("headcount.tables.duckdb.execute", stopped)
        with pytest.raises(KeyboardInterrupt):
            plan.release()
    (entry,) = data.ledger.entries(data.account.name)
    assert (mended, entry.has_result) == ([], False)
    assert plan.release().entry == entry.sequence
    assert len(data.ledger.entries(data.account.name)) == 1
