"""D12: a release's secret key is data; no text of a query holds any part of it, on any engine."""

from __future__ import annotations

import io
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headcount as hc
from headcount.releases import run as door

PART = 8
"""So many hex digits in a row are found in another text once in 4e9 places."""
SPEND = hc.Budget(epsilon=5)
VERBS: dict[str, Callable[[hc.Dataset], Any]] = {
    "threshold": lambda data: data.count_users("item", bound=1, spend=SPEND),
    "weighted": lambda data: data.count_users("item", bound=2, method="threshold", spend=SPEND),
    "laplace": lambda data: data.count_users("item", bound=1, method="laplace", spend=SPEND),
    "known": lambda data: data.count_users("item", groups=["g0", "g1", "g2"], bound=1, spend=SPEND),
    "sample": lambda data: data.count_users("item", bound=1, method="sample", spend=SPEND),
    "equal": lambda data: data.count_users("item", within=0.3, method="equal", spend=SPEND),
    "peel": lambda data: data.count_users("item", top=2, method="peel", spend=SPEND),
    "events": lambda data: data.count_events("item", groups=["g0", "g1"], bound=2, spend=SPEND),
    "events, chosen": lambda data: data.count_events("item", spend=SPEND),
    "frequencies": lambda data: data.frequencies("item", bound=1, at_most=20, spend=SPEND),
    "distribution": lambda data: data.distribution("item", spend=SPEND),
    "one value": lambda data: data.quantiles(
        "size", at=[0.5], bounds=(0, 64), step=1, per_user="sampled", spend=SPEND
    ),
    "fresh samples": lambda data: data.quantiles(
        "size", at=[0.5], bounds=(0, 64), step=1, method="sample-levels", spend=SPEND
    ),
}


def events() -> pa.Table:
    rows = [
        (f"user {i}", f"g{(i * (j + 1)) % 7}", (i + j) % 50)
        for i in range(400)
        for j in (0, 1, 2, 4)
    ]
    return pa.table(
        {
            name: list(column)
            for name, column in zip(("who", "item", "size"), zip(*rows, strict=True), strict=True)
        }
    )


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys that the door draws, as the hex digits that are hashed."""
    drawn: list[str] = []

    def token_bytes(n: int) -> bytes:
        key = secrets.token_bytes(n)
        drawn.append(key.hex())
        return key

    monkeypatch.setattr(door, "secrets", type("Secrets", (), {"token_bytes": token_bytes}))
    return drawn


def parts_found(keys: list[str], texts: str) -> list[str]:
    """Parts of the keys that stand in the texts, in hex digits or as their own bytes."""
    parts = {key[at : at + PART] for key in keys for at in range(len(key) - PART + 1)}
    return [part for part in parts if part in texts.lower()]


def release_all(data: hc.Dataset, keys: list[str]) -> None:
    for name, plan in VERBS.items():
        before = len(keys)
        assert plan(data).release() is not None, name
        assert len(keys) == before + 1, name


@contextmanager
def executed_by_duckdb(connection: Any) -> Iterator[list[str]]:
    """What DuckDB itself writes down of all it runs."""
    texts: list[str] = []
    connection.con.execute("CALL enable_logging('QueryLog')")
    yield texts
    found = connection.con.execute("SELECT message FROM duckdb_logs WHERE type = 'QueryLog'")
    texts += [text for (text,) in found.fetchall()]
    connection.con.execute("CALL disable_logging()")


def test_d12_duckdb_logs_no_key(tmp_path: Path, keys: list[str]) -> None:
    import ibis

    connection = ibis.duckdb.connect()
    connection.con.register("arrived", events())
    connection.con.execute("CREATE TABLE events AS SELECT * FROM arrived")
    data = opened(connection.table("events"), tmp_path)
    with executed_by_duckdb(connection) as texts:
        release_all(data, keys)
    assert sum("sha256" in text.lower() for text in texts) >= len(VERBS)
    assert any("hc_key" in text for text in texts)
    assert parts_found(keys, "\n".join(texts)) == []
    assert parts_found(keys, keys[0])  # the search finds what is there


@pytest.mark.postgres
def test_d12_postgres_logs_no_key(
    loader_of: Callable[[str], Any], tmp_path: Path, keys: list[str]
) -> None:
    import psycopg

    loader = loader_of("postgres")
    loader.open(events(), "keyed", user="who")
    address = loader.server_at.replace("postgres://", "postgresql://")
    settings = {
        "log_statement": "all",
        "log_parameter_max_length": "-1",
        "log_min_duration_statement": "0",
        "debug_print_plan": "on",
        "log_min_messages": "log",
    }
    with psycopg.connect(address, autocommit=True) as owner:
        for name, value in settings.items():
            owner.execute(f"ALTER SYSTEM SET {name} = '{value}'")
        owner.execute("SELECT pg_reload_conf()")
        row = owner.execute("SHOW data_directory").fetchone()
        assert row is not None
        log = Path(row[0]).parent / "log"
        begin = log.stat().st_size
        try:
            release_all(opened(f"{loader.server_at}?table=public.keyed", tmp_path), keys)
        finally:
            for name in settings:
                owner.execute(f"ALTER SYSTEM RESET {name}")
            owner.execute("SELECT pg_reload_conf()")
    text = log.read_bytes()[begin:].decode(errors="replace").lower()
    assert text.count("sha256") >= len(VERBS)
    assert "hc_key" in text
    assert parts_found(keys, text) == []


@pytest.mark.spark
def test_d12_spark_plans_hold_no_key(
    loader_of: Callable[[str], Any],
    tmp_path: Path,
    keys: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from pyspark.sql import SparkSession

    loader = loader_of("spark")
    data = opened(loader.server_at.session.createDataFrame(events().to_pandas()), tmp_path)
    texts: list[str] = []
    run = SparkSession.sql

    def spied(self: Any, query: str, *rest: Any, **named: Any) -> Any:
        frame = run(self, query, *rest, **named)
        plan = frame._jdf.queryExecution()
        printed = io.StringIO()
        with redirect_stdout(printed):
            frame.explain("formatted")
        texts.extend([query, plan.toString(), plan.stringWithStats(), printed.getvalue()])
        return frame

    monkeypatch.setattr(SparkSession, "sql", spied)
    release_all(data, keys)
    assert sum("sha2" in text.lower() for text in texts) >= len(VERBS)
    assert any("hc_key" in text for text in texts)
    assert parts_found(keys, "\n".join(texts)) == []


def opened(source: Any, folder: Path) -> hc.Dataset:
    return hc.open(
        source,
        user="who",
        ledger=folder / "ledger.db",
        account="keyed",
        budget=hc.Budget(epsilon=10_000, delta=1e-3),
    )
