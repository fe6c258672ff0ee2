"""Canaries: no user id, true count or data-found group leaves by a side door."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import traceback
from pathlib import Path

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.releases.dataset import Dataset

USER = "canary-user-7f3a"
GROUP = "canary-group-91cc"
TRUE_COUNT = 104729  # a prime that nothing else would print, hashes and times included


@pytest.fixture
def table() -> pa.Table:
    n = TRUE_COUNT
    users = [f"u{i}" for i in range(n)]
    return pa.table({"user": [*users, USER, USER], "group": [*["big"] * n, "big", GROUP]})


def opened(table: object, folder: Path, epsilon: int = 20) -> Dataset:
    budget = hc.Budget(epsilon=epsilon, delta=1e-6)
    return hc.open(table, user="user", account="web", budget=budget, ledger=folder / "ledger.db")


def clean(text: str) -> None:
    for canary in (USER, GROUP, str(TRUE_COUNT + 1), f"{TRUE_COUNT + 1:,}"):
        assert canary not in text


def test_plans_logs_and_files_hold_no_canary(
    table: pa.Table,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    data = opened(table, tmp_path)
    plan = data.count_users(by="group", spend=hc.Budget(epsilon=1))
    release = plan.release()
    clean(str(plan) + plan.explain() + repr(plan) + repr(data) + repr(data.table) + repr(release))
    # A noisy count may happen to be the true one, so that only names tell here.
    for shown in (str(release), release._repr_html_()):
        assert USER not in shown
        assert GROUP not in shown
    clean(caplog.text)
    out, err = capfd.readouterr()
    clean(out + err)
    written = release.write_parquet(tmp_path / "rows.parquet")
    clean(str(pq.read_metadata(written)) + str(pq.read_schema(written).metadata))
    clean(str(release.facts))
    for file in tmp_path.glob("ledger.db*"):  # the log of the newest writes too
        clean(file.read_bytes().decode("latin-1").replace("\x00", ""))
    assert release.to_arrow().column("group").to_pylist() == ["big"]
    assert b"pandas" not in (pq.read_schema(written).metadata or {})


def failing_table(folder: Path) -> object:
    """A view whose rows make the engine fail, quoting a cell when it does."""
    connection = duckdb.connect(str(folder / "bad.duckdb"))
    connection.execute("create table raw as select range as id, range::varchar as v from range(50)")
    connection.execute("insert into raw values (51, ?)", [USER])
    connection.execute(
        'create view events as select id as "user", v::integer::varchar as "group" from raw'
    )
    connection.close()
    return ibis.duckdb.connect(folder / "bad.duckdb").table("events")


def test_an_engine_error_leaves_as_one_fixed_text(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    table = failing_table(tmp_path)
    with pytest.raises(duckdb.Error, match=USER):
        table.execute()  # type: ignore[attr-defined]  # what would leak if it were let through
    capfd.readouterr()
    caplog.clear()
    caplog.set_level(logging.DEBUG)
    data = opened(table, tmp_path)
    plan = data.count_users(by="group", groups=["g"], spend="1")
    with pytest.raises(hc.EngineError) as caught:
        plan.release()
    assert str(caught.value) == hc.EngineError.TEXT
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    clean("".join(traceback.format_exception(caught.value)))
    clean(caplog.text)
    out, err = capfd.readouterr()
    clean(out + err)
    assert len(data.ledger.entries("web")) == 1, "the charge stays"


def test_the_shell_shows_no_more_than_the_library(tmp_path: Path, headcount_command: str) -> None:
    failing_table(tmp_path)
    ran = subprocess.run(
        [
            *(headcount_command, "count-users", f"duckdb://{tmp_path}/bad.duckdb?table=events"),
            *("--user", "user", "--by", "group", "--account", "web"),
            *("--ledger", str(tmp_path / "l.db"), "--epsilon", "1", "--budget", "1"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == hc.EngineError.exit_code, ran.stderr
    assert hc.EngineError.TEXT in ran.stderr
    clean(ran.stdout + ran.stderr)
    assert "Traceback" not in ran.stderr


def test_rows_are_in_the_order_of_their_groups_whatever_the_table_s(tmp_path: Path) -> None:
    groups = np.array(["zeta", "alpha", "Émile", "mid", "Zeta", "10", "9"])
    users = np.repeat(np.arange(3000), len(groups))
    table = pa.table({"user": users, "group": np.tile(groups, 3000)})
    orders = set()
    for seed in range(4):
        shuffled = table.take(pa.array(np.random.default_rng(seed).permutation(len(users))))
        data = opened(shuffled, tmp_path)
        plan = data.count_users(by="group", spend=hc.Budget(epsilon=1))
        orders.add(tuple(plan.release().to_arrow().column("group").to_pylist()))
    assert orders == {tuple(sorted(groups, key=lambda text: text.encode()))}


def test_the_request_hash_does_not_depend_on_hash_order() -> None:
    code = (
        "from headcount.releases.request import Request, spell_groups; "
        "groups = spell_groups(['x', 'y']); "
        "print(Request('v', 's', ('i',), 'u', (('by', ['b', 'a']), ('g', groups))).hash)"
    )
    hashes = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(hashes) == 1
