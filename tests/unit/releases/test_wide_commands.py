"""``--wide-to``: a shell shows the list of files, and writes rows nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from headcount.cli.commands import app


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pages = ["a", "b", "c"] * 400
    table = pa.table({"user": [f"u{i}" for i in range(1200)], "page": pages})
    pq.write_table(table, tmp_path / "events.parquet")
    return tmp_path


def asked(*words: str) -> Result:
    count = ["count-users", "events.parquet", "--user", "user", "--by", "page", "--epsilon", "5"]
    return CliRunner().invoke(app, [*count, "--budget", "9", "--ledger", "ledger.db", *words])


def test_the_list_of_files_is_shown_and_shown_again(folder: Path) -> None:
    done = asked("--method", "laplace", "--wide-to", "rows", "--key", "monday")
    assert done.exit_code == 0, done.output
    assert "3 rows in 1 file of" in done.output
    assert "part-00000.parquet" in done.output
    assert pq.read_table(folder / "rows").column("page").to_pylist() == ["a", "b", "c"]
    again = asked("--method", "laplace", "--wide-to", "other", "--json")
    whole = json.loads(again.stdout)
    assert [file["rows"] for file in whole["files"]] == [3]
    assert whole["facts"]["key"] == "monday"
    assert not (folder / "other").exists()
    result = CliRunner().invoke(app, ["ledger", "result", "monday", "--ledger", "ledger.db"])
    assert "3 rows in 1 file of" in result.output
    written = CliRunner().invoke(
        app, ["ledger", "result", "monday", "--ledger", "ledger.db", "--out", "rows.csv"]
    )
    assert "need all rows in one place" in str(written.exception)


REFUSED = {
    ("--wide-to", "rows"): "drawn each by itself",
    ("--method", "laplace", "--wide-to", "rows", "--out", "rows.csv"): "--out need",
    ("--method", "laplace", "--wide-to", "rows", "--csv"): "--csv need",
    ("--method", "laplace", "--wide-to", "s3://rows"): "object store",
    ("--method", "laplace", "--wide-files", "3"): "say where",
    ("--method", "laplace", "--wide-to", "rows", "--wide-files", "3"): "for Spark",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_is_refused_before_the_charge(words: tuple[str, ...], folder: Path) -> None:
    done = asked(*words)
    assert done.exit_code == 2 or done.exception is not None
    assert REFUSED[words] in f"{done.output} {done.exception}"
    assert not (folder / "rows" / "part-00000.parquet").exists()
    listed = CliRunner().invoke(app, ["ledger", "show", "--ledger", "ledger.db"])
    assert "count users" not in listed.output
