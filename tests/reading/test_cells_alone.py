"""Every cell is read by itself: objects of pandas, texts with NUL, folders' names, empty files."""

from __future__ import annotations

import enum
import gzip
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.tables import open_table
from headcount.tables.source import Options
from headcount.trials.reading import rows_read

SPEND = hc.Budget(epsilon=300)


class Page(enum.StrEnum):
    HOME = "home"


class Nowhere(tzinfo):
    """A zone that cannot be asked."""

    def utcoffset(self, _: datetime | None) -> timedelta | None:
        raise RuntimeError("SECRET")

    dst = utcoffset

    def tzname(self, _: datetime | None) -> str | None:
        return None


def read(source: Any, **said: Any) -> dict[Any, Any]:
    """What is read of one more column, by user."""
    table = open_table(source, user="user", options=Options(**said))
    names = sorted(table.columns)
    rows = [dict(zip(names, row, strict=True)) for row in rows_read(table)]
    (other,) = (name for name in names if name != "user")
    return {row["user"]: row[other] for row in rows}


def frame(cells: Any) -> pd.DataFrame:
    users = pd.Series([f"u{i}" for i in range(len(cells))], dtype=object)
    return pd.DataFrame({"user": users, "page": cells})


ODD: list[tuple[Any, str | None]] = [
    (7, "7"),
    (2.5, "2.5"),
    (Page.HOME, "home"),
    (np.str_("n"), "n"),
    (np.float32("nan"), None),
    (float("nan"), None),
    (pd.NA, None),
    (10**4999, None),
    ("\ud800", None),
    (b"a", None),
    (datetime(2026, 1, 1, tzinfo=Nowhere()), None),
    (["a"], None),
]


@pytest.mark.parametrize(("odd", "text"), ODD, ids=range(len(ODD)))
def test_an_object_decides_about_its_own_cell(odd: Any, text: str | None) -> None:
    cells = pd.Series(["a", Page.HOME, None, odd], dtype=object)
    assert read(frame(cells)) == {"u0": "a", "u1": "home", "u2": None, "u3": text}


def test_a_surrogate_is_missing_and_the_column_stays() -> None:
    cells = pd.array(["a", "\ud800", None], dtype=pd.StringDtype("python"))
    assert read(frame(cells)) == {"u0": "a", "u1": None, "u2": None}


def test_each_category_is_read_by_itself() -> None:
    cells = pd.Categorical(["a", 7, None, (1, 2), "7"])
    assert read(frame(cells)) == {"u0": "a", "u1": "7", "u2": None, "u3": None, "u4": "7"}


def test_a_number_of_no_value_is_missing() -> None:
    numbers = pa.array([0, 2**64 - 1, 2**63], pa.uint64())
    pages = pa.DictionaryArray.from_arrays(numbers, pa.array(["p"]), safe=False)
    found = read(pa.table({"user": ["a", "b", "c"], "page": pages}))
    assert found == {"a": "p", "b": None, "c": None}


def test_two_columns_of_one_name_are_refused_in_pandas() -> None:
    twice = pd.DataFrame([["u1", "SAME", "p"]], columns=["user", "user", "page"])
    with pytest.raises(hc.UsageError, match="one name"):
        open_table(twice, user="user")


@pytest.mark.parametrize("cell", [2, "SECRET"])
def test_a_memtable_is_refused_by_its_types_alone(cell: Any) -> None:
    objects = frame(pd.Series([1, cell], dtype=object))
    with pytest.raises(hc.UsageError, match="do not fit its schema") as raised:
        open_table(ibis.memtable(objects, schema={"user": "string", "page": "int64"}), user="user")
    assert "SECRET" not in str(raised.value)


@pytest.mark.parametrize("cell", ["b", 7, b"SECRET"])
def test_a_memtable_of_objects_is_text(cell: Any) -> None:
    objects = frame(pd.Series(["a", cell], dtype=object))
    table = ibis.memtable(objects, schema={"user": "string", "page": "string"})
    assert read(table)["u0"] == "a"


def test_a_text_with_nul_is_compared_as_it_is(tmp_path: Path) -> None:
    pages = ["é\0x", "é\0y", "é", "e\u0301\0x", "e\u0301"]
    table = pa.table({"user": [f"u{i}" for i in range(50)], "page": pages * 10})
    data = hc.open(table, user="user", account="a", ledger=tmp_path / "l.db",
                   budget=hc.Budget(epsilon=1000))  # fmt: skip
    plan = data.count_users(by="page", groups=["e\u0301", *pages[:2], pages[3]], spend=SPEND)
    rows = plan.release().to_arrow().to_pydict()
    found = dict(zip(rows["page"], rows["count"], strict=True))
    assert found == {"é": 20, "é\0x": 10, "é\0y": 10, "e\u0301\0x": 10}


def test_a_long_or_odd_folder_stops_nobody(tmp_path: Path) -> None:
    names = {"ok": "bob", "SECRET" + "é" * 60: "ann", "a%00b": "eve", "null": "joe"}
    for name, user in names.items():
        (tmp_path / f"page={name}").mkdir()
        pq.write_table(pa.table({"user": [user]}), tmp_path / f"page={name}" / "x.parquet")
    found = read(str(tmp_path / "*" / "*.parquet"))
    assert found == {"bob": "ok", "ann": "SECRET" + "é" * 60, "eve": "a\0b", "joe": "null"}


@pytest.mark.parametrize("name", ["page=1", "job=7", "a*b"])
def test_a_private_folder_adds_no_columns(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.setenv("HEADCOUNT_TMP", str(tmp_path / name))
    with pytest.raises(hc.UsageError, match="HEADCOUNT_TMP"):
        open_table(pa.table({"user": ["a"]}), user="user")


def test_infinities_in_nanoseconds_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute('create table t ("user" varchar, c timestamp_ns)')
        connection.execute("insert into t values ('a', 'infinity'), ('b', '-infinity')")
    assert read(f"duckdb://{path}?table=t") == {"a": None, "b": None}
    times = pa.array([2**63 - 1, -(2**63) + 1, -(2**63)]).view(pa.timestamp("ns"))
    pq.write_table(pa.table({"user": ["a", "b", "c"], "c": times}), tmp_path / "x.parquet")
    assert read(tmp_path / "x.parquet") == {"a": None, "b": None, "c": None}


def test_an_empty_csv_file_has_no_rows(tmp_path: Path) -> None:
    (tmp_path / "bob.csv").write_text("")
    (tmp_path / "joe.csv").write_text("\n\n")
    (tmp_path / "kim.csv.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(hc.UsageError, match="no line"):
        open_table(str(tmp_path / "*.csv*"), user="user")
    (tmp_path / "ann.csv").write_text("user,page\nann,p\n")
    assert read(str(tmp_path / "*.csv*")) == {"ann": "p"}


@pytest.mark.parametrize("csv", [hc.Csv(), hc.Csv(header=False, columns=["user", "page"])])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_a_csv_file_that_cannot_be_read_is_refused(csv: Any, ending: str, tmp_path: Path) -> None:
    (tmp_path / f"m.{ending}").symlink_to("/proc/self/mem")
    with pytest.raises(hc.UsageError, match="cannot be read"):
        open_table(tmp_path / f"m.{ending}", user="user", options=Options(csv=csv))


def test_nul_in_the_name_of_a_csv_column_is_refused(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_bytes(b"user,pa\0ge\nann,x\n")
    with pytest.raises(hc.UsageError, match="NUL"):
        open_table(tmp_path / "n.csv", user="user")
