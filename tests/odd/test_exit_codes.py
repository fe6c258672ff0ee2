"""What the page on the command line says of exit codes, for every command."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.odd.commands import run

from headcount.ledger.ledger import Ledger

VERBS = {
    "count-users": ["--by=page"],
    "count-events": ["--by=page"],
    "distribution": ["--by=page"],
    "profile": ["--by=page"],
    "quantiles": ["--of=x", "--low=0", "--high=50"],
    "count-ranges": ["--of=x", "--range=0:10"],
    "frequencies": ["--by=page"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADCOUNT_LEDGER", str(tmp_path / "l.db"))
    monkeypatch.setenv("HEADCOUNT_HEADS", str(tmp_path / "heads"))
    n = 3_000
    rows = {"user": np.arange(n) % 1000, "page": [f"p{i % 5}" for i in range(n)]}
    pq.write_table(pa.table({**rows, "x": np.arange(n) % 50}), tmp_path / "t.parquet")
    (tmp_path / "groups.txt").write_text("a\nb\n", encoding="utf-8")
    assert run(["ledger", "open", "web", "--epsilon=9", "--covers=t.parquet"], tmp_path).code == 0
    return tmp_path


@pytest.mark.parametrize("verb", VERBS)
def test_of_a_verb(verb: str, folder: Path) -> None:
    command = [verb, "t.parquet", "--user=user", *VERBS[verb]]
    ledger = Ledger(folder / "l.db")
    codes = {
        2: ["--epsilon=0"],
        3: ["--epsilon=99"],
        4: ["--epsilon=1", "--account=other", "--budget=1"],
        0: ["--epsilon=1", "--plan"],
    }
    for code, options in codes.items():
        ended = run([*command, *options], folder)
        assert ended.code == code, ended.err
        assert ledger.entries("web") == []
    assert run([*command, "--epsilon=1"], folder).code == 0
    assert len(ledger.entries("web")) == 1


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["demo", "d.parquet", "--users=5", "--pages=3"], 0),
        (["demo", "nowhere/d.parquet"], 2),
        (["demo", "d.csv"], 2),
        (["demo", "d.parquet", "--users=0"], 2),
        (["ledger", "show"], 0),
        (["ledger", "show", "--account=nobody"], 4),
        (["ledger", "show", "--ledger=nowhere/l.db"], 4),
        (["ledger", "show", "--ledger=groups.txt"], 4),
        (["ledger", "show", "--ledger=mysql://a/b"], 2),
        (["ledger", "show", "--ledger=none.db"], 4),
        (["ledger", "result", "none"], 2),
        (["ledger", "result", "none", "--out=r.pdf"], 2),
        (["ledger", "statement", "web", "--out=s.md"], 0),
        (["ledger", "statement", "web", "--out=s.pdf"], 2),
        (["ledger", "statement", "web", "--out=nowhere/s.md"], 2),
        (["ledger", "statement", "nobody"], 4),
        (["ledger", "export", "--out=journal.jsonl"], 0),
        (["ledger", "export", "--out=nowhere/journal"], 2),
        (["ledger", "export", "--out=."], 2),
        (["ledger", "verify"], 0),
        (["ledger", "open", "new", "--epsilon=1"], 0),
        (["ledger", "open", "new"], 4),
        (["ledger", "open", "new", "--epsilon=x"], 2),
        (["ledger", "open", "new", "--epsilon=1", "--rho=1"], 2),
        (["ledger", "open", "new", "--epsilon=1", "--quota=ann"], 2),
        (["ledger", "open", "web", "--epsilon=5"], 4),
        (["stream", "new", "s", "--groups=groups.txt", "--epsilon=1"], 0),
        (["stream", "new", "s", "--groups=none.txt", "--epsilon=1"], 2),
        (["stream", "new", "nowhere/s", "--groups=groups.txt", "--epsilon=1"], 2),
        (["stream", "new", "s", "--groups=groups.txt"], 2),
        (["stream", "describe", "none"], 2),
        (["stream", "finish", "groups.txt"], 2),
        (["stream", "snapshot", "none", "copy"], 2),
        (["audit", "--mechanism=none"], 2),
        (["audit", "--passes=0"], 2),
        (["--version"], 0),
        (["frobnicate"], 2),
    ],
    ids=str,
)
def test_of_every_other_command(command: list[str], code: int, folder: Path) -> None:
    ended = run(command, folder)
    assert ended.code == code, ended.err
    assert "Traceback" not in ended.err
    assert not code or ended.err


def test_of_finishing_a_stream_to_a_bad_place_which_takes_nothing(folder: Path) -> None:
    assert run(["stream", "new", "s", "--groups=groups.txt", "--epsilon=1"], folder).code == 0
    ended = run(["stream", "finish", "s", "--out=x.json"], folder)
    assert ended.code == 2, ended.err
    assert run(["stream", "finish", "s", "--out=x.csv"], folder).code == 0
    assert (folder / "x.csv").exists()


def test_of_a_ledger_that_was_changed(folder: Path) -> None:
    assert (
        run(["count-users", "t.parquet", "--user=user", "--by=page", "--epsilon=1"], folder).code
        == 0
    )
    with sqlite3.connect(folder / "l.db") as connection:
        connection.execute("pragma writable_schema = 0")
        for (name,) in connection.execute(
            "select name from sqlite_master where type = 'trigger'"
        ).fetchall():
            connection.execute(f"drop trigger {name}")
        connection.execute("update accounts set rho_spent = 0")
    assert run(["ledger", "verify"], folder).code == 4
