"""The law of reading on random records, for every source that DuckDB reads.

CSV files have 300 examples of their own in ``tests/property``; Postgres and Spark are in
``tests/engines``. ``just reading-long`` takes 1,000 of each.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st
from tests.reading.records import (
    USER,
    Record,
    arrow_records,
    law_holds,
    records,
    wild_records,
)

NUMBERS = count()


@pytest.fixture
def fresh(tmp_path: Path) -> Any:
    def folder() -> Path:
        path = tmp_path / str(next(NUMBERS))
        path.mkdir()
        return path

    return folder


lines = st.lists(
    st.sampled_from(
        [b"a", b"b", b",", b'"', b'""', b"'", b"\\", b"\r", b"\0", b"\xff", b"\xc3\xa9"]
    ),
    max_size=10,
).map(b"".join)


def test_compressed_csv(fresh: Any) -> None:
    def make(rows: Sequence[bytes]) -> Path:
        path = fresh() / "x.csv.gz"
        path.write_bytes(gzip.compress(b"\n".join([b"person,place", *rows])))
        return path

    law_holds(make, lines)


def test_parquet(fresh: Any) -> None:
    def make(rows: Sequence[Record]) -> Path:
        path = fresh() / "x.parquet"
        pq.write_table(arrow_records(rows), path)
        return path

    law_holds(make, wild_records)


def test_several_parquet_files(fresh: Any) -> None:
    def make(rows: Sequence[Record]) -> str:
        folder = fresh()
        for index, row in enumerate(rows):
            pq.write_table(arrow_records([row], "us"), folder / f"{index}.parquet")
        return str(folder / "*.parquet")

    law_holds(make, wild_records)


names = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1,
            max_size=5),
    st.sampled_from(["*", "?", "[a]", "{a,b}", "null", "NULL", "%ff", "%41", "1", "01", "..."]),
)  # fmt: skip


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_folders(ending: str, fresh: Any) -> None:
    def make(rows: Sequence[tuple[str, str]]) -> str:
        folder = fresh()
        for index, (name, user) in enumerate(rows):
            inner = folder / f"place={name}"
            inner.mkdir(exist_ok=True)
            if ending == "parquet":
                pq.write_table(pa.table({USER: [user]}), inner / f"{index}.parquet")
            else:
                (inner / f"{index}.csv").write_text(f"{USER},x\n{user},1\n")
        return f"{folder}/*/*.{ending}"

    law_holds(make, st.tuples(names, st.sampled_from(["u", "v", "null"])))


def test_arrow() -> None:
    law_holds(arrow_records, wild_records)


cells = st.one_of(
    st.text(max_size=3), st.integers(), st.floats(), st.none(), st.booleans(),
    st.binary(max_size=2), st.decimals(), st.uuids(), st.dates(),
    st.lists(st.integers(), max_size=1),
)  # fmt: skip


def test_pandas() -> None:
    import pandas as pd

    def make(rows: Sequence[tuple[str, Any, int]]) -> Any:
        users, objects, times = zip(*rows, strict=True)
        return pd.DataFrame(
            {
                USER: pd.Series(users, dtype=object),
                "place": pd.Series(list(objects), dtype=object),
                "time": pd.Series(times, dtype="int64").astype("datetime64[ns]"),
            }
        )

    law_holds(make, st.tuples(st.text(max_size=2), cells, st.integers(-(2**62), 2**62)))


def test_polars() -> None:
    import polars as pl

    def make(rows: Sequence[Record]) -> Any:
        return pl.from_arrow(arrow_records(rows, "us"))

    law_holds(make, records)


@pytest.mark.parametrize("name", ["t", "w"])
def test_duckdb(name: str, fresh: Any) -> None:
    import duckdb

    def make(rows: Sequence[Record]) -> str:
        path = fresh() / "x.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.register("given", arrow_records(rows, "us"))
            connection.execute("create table t as select * from given")
            connection.execute(
                f"create view w as select {USER}, upper(place) as place, local from t "
                "where place <> 'x'"
            )
        return f"duckdb://{path}?table={name}"

    law_holds(make, records)
