"""Trial of reading: neighbouring tables as bytes on disk and as frames, opened as people do.

Every source has records of its own, the worst that it can hold. One of them is added to a plain
table, and what is read of the two is compared.
"""

from __future__ import annotations

import gzip
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headcount.audit.reading import Read, compare_readings
from headcount.audit.verdict import Finding
from headcount.tables import UserTable, open_table
from headcount.tables.engine import cast_always
from headcount.tables.rules import ruled
from headcount.trials.caller import told
from headcount.trials.reading_mutants import (
    folders_as_numbers,
    nothing_made_sound,
    nothing_mended,
    objects_inferred,
    open_quotes,
    sniffed,
)
from headcount.trials.trial import Case, Effort, Trial

USER = "person"
CANARY = "zebrafish"
"""What a message must not hold; it is in records of every source."""

Make = Callable[[Path, Sequence[Any]], Any]
Swap = Callable[[], AbstractContextManager[Any]]

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


def rows_read(table: UserTable) -> Counter[tuple[Any, ...]]:
    """Every row of a table under the rules, as texts, and how often it is there."""
    names = sorted(name for name in table.columns if name in table.expr.columns)
    values = {n: ruled(table.engine, table.expr[n], table.columns[n]) for n in names}
    texts = table.expr.select(**{name: cast_always(x, "string") for name, x in values.items()})
    counted = texts.group_by(names).agg(hc_n=cast_always(texts.count(), "int64"))
    schema = pa.schema({**dict.fromkeys(names, pa.string()), "hc_n": pa.int64()})
    found: Counter[tuple[Any, ...]] = Counter()
    for batch in table.engine.stream(counted.select(*names, "hc_n"), schema):
        for *row, n in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            found[tuple(row)] += n
    return found


def reading(make: Make, records: Sequence[Any]) -> Read:
    """Make a source, open it, and read it; an error is kept, not raised."""
    with tempfile.TemporaryDirectory() as name:
        try:
            table = open_table(make(Path(name), records), user=USER)
            columns = {column: str(kind) for column, kind in table.columns.items()}
            return Read(columns, rows_read(table))
        except Exception as error:
            return Read(told=told(error))


def findings_of(source: str, chosen: slice) -> Iterator[Finding]:
    """One source, with some of its records added before and after the others."""
    make, plain, records = SOURCES[source]
    without = reading(make, plain)
    for index in range(len(records))[chosen]:
        record = records[index]
        alone = reading(make, [record])
        for where, both in (("last", (*plain, record)), ("first", (record, *plain))):
            subject = f"{source}, record {index} {where}"
            yield from compare_readings(reading(make, both), without, alone, subject, (CANARY,))


def as_shipped(effort: Effort) -> list[Finding]:
    """Every source, with all of its records or with some."""
    chosen = slice(None) if effort is Effort.FULL else slice(1, None, 5)
    return [finding for source in SOURCES for finding in findings_of(source, chosen)]


def mutant(name: str, swap: Swap, source: str, *records: int) -> Case:
    """A step of reading swapped for another, tried on the records that show it."""

    def examine(_effort: Effort) -> list[Finding]:
        with swap():
            return [
                finding
                for record in records
                for finding in findings_of(source, slice(record, record + 1))
            ]

    return Case(name, examine)


def cases() -> Iterator[Case]:
    """Reading as shipped, and with steps of it swapped for what readers usually do."""
    yield Case("as shipped", as_shipped, is_mutant=False)
    yield mutant("a dialect sniffed from cells", sniffed, "CSV, quoted cells", 1, 4)
    yield mutant("quotes that reach over lines", open_quotes, "CSV, plain cells", 1, 10)
    yield mutant("files that are read or fail", nothing_mended, "Parquet", 1)
    yield mutant("folders read as numbers", folders_as_numbers, "folders", 0, 2)
    yield mutant("times as they come", nothing_made_sound, "Arrow", 12)
    if "pandas" in SOURCES:
        yield mutant("objects typed by their cells", objects_inferred, "pandas", 2)


TRIAL = Trial("reading", tuple(cases()))
