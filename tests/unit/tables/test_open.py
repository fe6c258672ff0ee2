"""Opening tables: every source, every refusal, and nothing private in what is printed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from headcount.contributions import Tally, bound
from headcount.errors import EngineError, MissingExtraError, SchemaError, UsageError
from headcount.privacy.bounds import Bounds
from headcount.tables import Kind, open_table
from headcount.tables.address import parse_address

KEY = bytes(32)
TABLE = pa.table({"user": ["a", "b", None], "word": ["x", "x", "y"]})


def totals(table: Any) -> dict[str, int]:
    tally = Tally(bound(table, "word", Bounds(5, 5), key=KEY))
    return {
        word: total
        for part in tally.parts()
        for word, total in zip(part.every_name()["word"].to_pylist(), part.query.ask(), strict=True)
    }


def sources(folder: Path) -> dict[str, Any]:
    import duckdb
    import ibis
    import pandas as pd
    import polars as pl

    pq.write_table(TABLE, folder / "a.parquet")
    (folder / "a.csv").write_text("user,word\na,x\nb,x\n,y\n")
    with duckdb.connect(str(folder / "a.duckdb")) as connection:
        connection.register("frame", TABLE)
        connection.execute("create schema s; create table s.t as select * from frame")
    backend = ibis.duckdb.connect()
    backend.con.register("frame", TABLE)
    backend.con.execute("create table t as select * from frame")
    return {
        "path": folder / "a.parquet",
        "glob": str(folder / "*.parquet"),
        "csv": folder / "a.csv",
        "duckdb file": f"duckdb://{folder}/a.duckdb?table=s.t",
        "arrow": TABLE,
        "pandas": pd.DataFrame(TABLE.to_pydict()),
        "polars": pl.from_arrow(TABLE),
        "ibis": backend.table("t"),
        "ibis in memory": backend.table("t").union(ibis.memtable(TABLE)),
    }


@pytest.mark.parametrize(
    "name",
    ["path", "glob", "csv", "duckdb file", "arrow", "pandas", "polars", "ibis", "ibis in memory"],
)  # fmt: skip
def test_every_source_gives_the_same_tally(name: str, tmp_path: Path) -> None:
    table = open_table(sources(tmp_path)[name], user="user")
    assert totals(table) == {"x": 2}
    assert table.columns == {"user": Kind.TEXT, "word": Kind.TEXT}


@pytest.mark.parametrize("name", ["dataset", "reader", "lazy polars", "series"])
def test_what_is_no_table_yet_is_refused_with_the_call_to_write(name: str) -> None:
    import pandas as pd
    import polars as pl

    source = {
        "dataset": ds.dataset(TABLE),
        "reader": TABLE.to_reader(),
        "lazy polars": pl.LazyFrame(TABLE.to_pydict()),
        "series": pd.Series([1]),
    }[name]
    with pytest.raises(UsageError, match=r"to_table\(\)|collect\(\)|DataFrame"):
        open_table(source, user="user")


def test_a_repr_is_one_line_without_data() -> None:
    table = open_table(TABLE, user="user", where="word = 'x'")
    contributions = bound(table, "word", Bounds(5, 5), key=KEY)
    for shown in (repr(table), repr(contributions), repr(Tally(contributions))):
        assert "\n" not in shown
        assert len(shown) < 200
    assert repr(table) == (
        "UserTable(a pyarrow table where word = 'x', one user per user, 2 columns, on duckdb)"
    )


def test_rules_are_sentences() -> None:
    table = open_table(TABLE, user="user", where="word = 'x'")
    rules = bound(table, "word", Bounds(5, 5), key=KEY).rules
    assert "Rows without a user are dropped." in rules
    assert "Only rows where word = 'x' take part." in rules
    assert all(rule.endswith(".") for rule in rules)


def test_csv_cells_do_not_choose_the_schema(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("user,age\n1,2\n2,3\n")
    assert open_table(tmp_path / "n.csv", user="user").columns["age"] is Kind.TEXT


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("no/such.parquet", "no/such.parquet"),
        ("no/such.txt", "no/such.txt"),
        ("duckdb://no/such.duckdb?table=t", "no/such.duckdb"),
        ("duckdb://no/such.duckdb", "names no table"),
        (42, "from a int"),
    ],
)
def test_a_source_that_is_not_there_is_named(source: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        open_table(source, user="user")


def test_broken_files_are_refused_without_a_cell(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 secret PAR1")
    with pytest.raises(UsageError, match="cannot be read as Parquet") as raised:
        open_table(tmp_path / "bad.parquet", user="user")
    assert "secret" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_missing_table_in_a_file_is_refused(tmp_path: Path) -> None:
    sources(tmp_path)
    with pytest.raises(UsageError, match="no table to read"):
        open_table(f"duckdb://{tmp_path}/a.duckdb?table=other", user="user")


def test_a_password_is_never_shown() -> None:
    text = "postgres://ann:s3cr%40t@127.0.0.1:1/db?table=public.t&sslmode=disable"
    address = parse_address(text)
    assert address.database == "postgresql://ann:s3cr%40t@127.0.0.1:1/db?sslmode=disable"
    assert "s3cr" not in repr(address) + str(address)
    assert "ann" not in repr(address) + str(address)
    with pytest.raises(UsageError, match="cannot be reached") as raised:
        open_table(text, user="user")
    assert "s3cr" not in str(raised.value)
    assert raised.value.__cause__ is None
    with pytest.raises(UsageError) as badly:
        parse_address("postgres://ann:s3cret@host:notaport/db?table=t")
    assert "s3cret" not in str(badly.value)


def test_a_missing_part_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        "headcount.tables.engine.find_spec",
        lambda name: None if name == "adbc_driver_postgresql" else real(name),
    )
    with pytest.raises(MissingExtraError, match=r"headcount\[postgres\]"):
        open_table("postgres://127.0.0.1:1/db?table=t", user="user")


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array([1.5]), "floating-point"),
        (pa.array([True]), "boolean"),
        (pa.array([1], pa.uint64()), "other"),
        (pa.array([[1]]), "other"),
    ],
)
def test_some_kinds_cannot_be_users(column: pa.Array, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        open_table(pa.table({"user": column}), user="user")


def test_a_missing_user_column_lists_the_columns() -> None:
    with pytest.raises(SchemaError, match="'nobody'.*user, word"):  # noqa: RUF043
        open_table(TABLE, user="nobody")


def test_collated_text_is_refused(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "c.duckdb")) as connection:
        connection.execute('create table t ("user" varchar collate nocase, n integer)')
    with pytest.raises(SchemaError, match="collation"):
        open_table(f"duckdb://{tmp_path}/c.duckdb?table=t", user="user")


def test_an_engine_error_is_replaced() -> None:
    table = open_table(TABLE, user="user")
    query = table.expr.select("word").mutate(n=table.expr["word"].cast("int64"))
    with pytest.raises(EngineError) as raised:
        list(table.engine.stream(query, pa.schema({"word": pa.string(), "n": pa.int64()})))
    assert str(raised.value) == EngineError.TEXT
    assert raised.value.__suppress_context__


def test_importing_the_package_loads_no_engine() -> None:
    import subprocess

    code = (
        "import sys, headcount.tables, headcount.contributions; "
        "print([m for m in ('ibis', 'duckdb', 'pyarrow', 'pandas', 'sqlglot') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
