"""What is read in the trial of reading: plain tables, records, and sources that hold them.

Every source has records of its own, the worst that it can hold.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

USER = "person"
CANARY = "zebrafish"
"""What a message must not hold; it is in records of every source."""

Make = Callable[[Path, Sequence[Any]], Any]

LINES: tuple[bytes, ...] = (
    b"zebrafish,place",
    b'v,"open zebrafish',
    b'v,"a"zebrafish',
    b'v,zebra"fish',
    b"v,zebrafish,ward 7",
    b"zebrafish",
    b"v,a;b;zebrafish",
    b"v,a\tb|c",
    b"v,'it''s'",
    b"#v,zebrafish",
    b"v,\xff\xfe zebrafish",
    b"v,caf\xc3",
    b"v,a\x00b",
    b'v,"a\rb"',
    b'"v","a ""zebrafish"" b"',
    b"v," + b"zebrafish" * 250_000,
    b"",
    b"v,",
    b'v,"x\\"y"',
    b"v,2.5",
)
PLAIN: dict[str, tuple[bytes, ...]] = {
    "plain cells": tuple(b"u%d,g%d" % (i, i % 3) for i in range(40)),
    "quoted cells": tuple(b'"u%d","g%d"' % (i, i % 3) for i in range(40)),
    "cells with marks": tuple(b"u%d,#'g%d;" % (i, i % 3) for i in range(40)),
}
TEXTS: tuple[bytes, ...] = (
    b"zebrafish",
    b"\xff\xfe zebrafish",
    b"a\x00zebrafish",
    b"x" * (1 << 20) + b"zebrafish",
    "cafe\u0301 zebrafish".encode(),
)
TIMES = (0, -1, 2**62, -(2**62), 2**63 - 1, -(2**63) + 1, -(2**63))
ODD_ROWS: tuple[tuple[bytes, bytes, int], ...] = (
    *((b"v", text, 0) for text in TEXTS),
    *((text, b"g", 0) for text in TEXTS),
    *((b"v", b"g", time) for time in TIMES),
)
PLAIN_ROWS = tuple((b"u%d" % (i % 7), b"g%d" % (i % 3), 10**12 + i) for i in range(40))
OBJECTS = ("zebrafish", "01", 7, 2.5, None, True, b"zebrafish", ["zebrafish"], "a\udce9")
FOLDERS = ("01", "1", "SW1A", "zebrafish", "*", "a?[b]", "null", "%ff", "x'y")


def csv_file(folder: Path, lines: Sequence[bytes]) -> Any:
    """A file of lines below a header."""
    path = folder / "events.csv"
    path.write_bytes(b"\n".join((b"person,place", *lines)) + b"\n")
    return path


def compressed(folder: Path, lines: Sequence[bytes]) -> Any:
    """The same, compressed, and with the line ends of another system."""
    path = folder / "events.csv.gz"
    path.write_bytes(gzip.compress(b"\r\n".join((b"person,place", *lines))))
    return path


def arrow_table(rows: Sequence[tuple[bytes, bytes, int]]) -> pa.Table:
    """Texts as the bytes they are given as, and times in milliseconds beside them."""
    texts = [
        pa.array([row[place] for row in rows], pa.binary()).view(pa.string()) for place in (0, 1)
    ]
    times = pa.array([row[2] for row in rows], pa.int64())
    local, zoned = times.view(pa.timestamp("ms")), times.view(pa.timestamp("ms", "UTC"))
    return pa.table([*texts, local, zoned], [USER, "place", "local", "zoned"])


def parquet_file(folder: Path, rows: Sequence[tuple[bytes, bytes, int]]) -> Any:
    """One file."""
    pq.write_table(arrow_table(rows), folder / "events.parquet")
    return folder / "events.parquet"


def parquet_files(folder: Path, rows: Sequence[tuple[bytes, bytes, int]]) -> Any:
    """A file for every record."""
    for index, row in enumerate(rows):
        pq.write_table(arrow_table([row]), folder / f"part-{index:04d}.parquet")
    return str(folder / "*.parquet")


def in_folders(folder: Path, names: Sequence[str]) -> Any:
    """A folder for every record, named by its value."""
    for name in names:
        (folder / f"place={name}").mkdir()
        pq.write_table(pa.table({USER: [f"in {name}"]}), folder / f"place={name}" / "a.parquet")
    return str(folder / "*" / "*.parquet")


def in_memory(_folder: Path, rows: Sequence[tuple[bytes, bytes, int]]) -> Any:
    """An Arrow table."""
    return arrow_table(rows)


def in_pandas(_folder: Path, cells: Sequence[Any]) -> Any:
    """A pandas table whose column holds Python objects."""
    import pandas as pd

    return pd.DataFrame({USER: "u", "place": pd.Series(list(cells), dtype=object)})


def in_duckdb(folder: Path, rows: Sequence[tuple[bytes, bytes, int]], table: str = "t") -> Any:
    """A table in a database, and a view that changes its rows one by one."""
    import duckdb

    path = folder / "events.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table t (person varchar, place varchar, local timestamp_ms)")
        for person, place, _ in rows:
            connection.execute(
                "insert into t values (?, ?, to_timestamp(0)::timestamp_ms)",
                [person.decode(errors="ignore"), place.decode(errors="ignore")],
            )
        connection.execute("create view w as select person, lower(place) as place, local from t")
    return f"duckdb://{path}?table={table}"


def in_view(folder: Path, rows: Sequence[tuple[bytes, bytes, int]]) -> Any:
    """The view."""
    return in_duckdb(folder, rows, "w")


SOURCES: dict[str, tuple[Make, tuple[Any, ...], tuple[Any, ...]]] = {
    **{f"CSV, {name}": (csv_file, plain, LINES) for name, plain in PLAIN.items()},
    "compressed CSV": (compressed, PLAIN["quoted cells"], LINES),
    "Parquet": (parquet_file, PLAIN_ROWS, ODD_ROWS),
    "several Parquet files": (parquet_files, PLAIN_ROWS[:4], ODD_ROWS[::3]),
    "folders": (in_folders, ("10115", "20095"), FOLDERS),
    "Arrow": (in_memory, PLAIN_ROWS, ODD_ROWS),
    "DuckDB table": (in_duckdb, PLAIN_ROWS[:8], ODD_ROWS[:5]),
    "DuckDB view": (in_view, PLAIN_ROWS[:8], ODD_ROWS[:5]),
}
if find_spec("pandas"):
    SOURCES["pandas"] = (in_pandas, ("g", "h"), OBJECTS)
