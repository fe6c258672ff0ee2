"""Trial of reading: neighbouring tables as bytes on disk and as frames, opened as people do.

One record is added to a plain table, and what is read of the two is compared, and so is all that
is printed, logged or warned about while they are opened and read.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from headcount.audit.reading import Read, compare_readings
from headcount.audit.verdict import Finding
from headcount.tables import UserTable, open_table
from headcount.tables.engine import cast_always
from headcount.tables.rules import ruled
from headcount.trials.caller import Seen, overheard, told
from headcount.trials.reading_mutants import (
    bytes_printed,
    folders_as_numbers,
    nothing_made_sound,
    nothing_mended,
    objects_inferred,
    open_quotes,
    rows_logged,
    sniffed,
)
from headcount.trials.reading_sources import CANARY, SOURCES, USER, Make
from headcount.trials.trial import Case, Effort, Trial

Swap = Callable[[], AbstractContextManager[Any]]


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
    seen = Seen()
    with tempfile.TemporaryDirectory() as name:
        source = make(Path(name), records)
        try:
            with overheard(seen):
                table = open_table(source, user=USER)
                columns = {column: str(kind) for column, kind in table.columns.items()}
                read = Read(columns, rows_read(table))
        except Exception as error:
            read = Read(told=told(error))
    # Folders have names of their own, and a record may be a file.
    heard = "\n".join(f"{where}: {text}" for where, text in seen.texts.items())
    return replace(read, heard=heard.replace(name, ""))


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
    yield mutant("a line of how many rows a file has", rows_logged, "Parquet", 0)
    yield mutant("a line of how many bytes a file has", bytes_printed, "CSV, plain cells", 0)
    yield mutant("times as they come", nothing_made_sound, "Arrow", 12)
    if "pandas" in SOURCES:
        yield mutant("objects typed by their cells", objects_inferred, "pandas", 2)


TRIAL = Trial("reading", tuple(cases()))
