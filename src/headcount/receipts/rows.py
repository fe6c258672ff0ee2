"""The digest of rows: the same for Arrow, for Parquet and for CSV, and for no other rows.

It is the SHA-256 of lines of JSON in ASCII. The first two say the form and the columns, each by its
name and by what it holds; then comes one for each row, in order, a list of its cells. A missing
cell is null. A text, a whole number and a yes or no are themselves. A day is a text such as
2026-01-31, a time the number of microseconds since 1970, and a number with a point the 16
hexadecimal digits of its 64 bits.

The second digest is that of the same rows with their lines sorted: it tells rows that were put in
another order from rows that were changed.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headcount.errors import UsageError
from headcount.results.cells import csv_of, with_formulas, without_formulas
from headcount.results.output import ROWS
from headcount.screens import quoted

FIRST = "headcount rows 1"
TYPES: dict[str, Any] = {
    "integer": pa.int64(),
    "real": pa.float64(),
    "text": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "time": pa.timestamp("us"),
}


class UnlikeError(Exception):
    """Why rows cannot be those of a receipt, in words for people."""


def rows_record(table: pa.Table) -> dict[str, Any]:
    """What a receipt says of rows."""
    columns = [[field.name, _held(field.type)] for field in table.schema]
    digest, of_sorted = digests(_as(table, columns), columns)
    return {
        "columns": columns,
        "n": int(table.num_rows),
        "digest": digest,
        "digest_of_sorted": of_sorted,
    }


def digests(table: pa.Table, columns: list[list[str]]) -> tuple[str, str]:
    """The digest of rows, and that of the same rows sorted."""
    first = f"{FIRST}\n{json.dumps(columns)}\n".encode("ascii")
    lines = list(_lines(table, columns))
    return tuple(  # type: ignore[return-value]
        hashlib.sha256(first + b"".join(some)).hexdigest() for some in (lines, sorted(lines))
    )


def table_in(path: Path, columns: list[list[str]]) -> pa.Table:
    """The rows in a file, with the columns of a receipt, or why they cannot be that."""
    ending = path.suffix.lower()
    if ending not in ROWS:
        raise UsageError(
            f"Rows are in a file that ends in {' or '.join(ROWS)}, and {quoted(path)} does not."
        )
    if not path.is_file():
        raise UsageError(f"There is no file {quoted(path)} to read rows from.")
    try:
        table = _csv(path, columns) if ending == ".csv" else _parquet(path)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError):
        raise UnlikeError(
            f"{quoted(path)} cannot be read as {ending[1:]} with those columns"
        ) from None
    return _as(table, columns)


def is_respelled(path: Path, table: pa.Table) -> bool:
    """Whether a CSV file has these rows in other letters than headcount writes.

    There is one spelling: other ones of the same numbers are taken for what they are by some
    programs, and for texts by others, and a text without its guard is run as a formula.
    """
    return path.suffix.lower() == ".csv" and path.read_bytes() != csv_of(table)


def _parquet(path: Path) -> pa.Table:
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(path).read()


def _csv(path: Path, columns: list[list[str]]) -> pa.Table:
    import pyarrow.csv

    held = [TYPES.get(kind, pa.string()) for _, kind in columns]
    as_written = without_formulas(
        pa.table([[]] * len(columns), names=[name for name, _ in columns])
    )
    table = pyarrow.csv.read_csv(
        path,
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict(zip(as_written.column_names, held, strict=True)),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return with_formulas(table)


def _held(kind: pa.DataType) -> str:
    """What a column holds, in a word."""
    for word, of_kind in (
        ("boolean", pa.types.is_boolean),
        ("integer", pa.types.is_integer),
        ("real", pa.types.is_floating),
        ("date", pa.types.is_date),
        ("time", pa.types.is_timestamp),
    ):
        if of_kind(kind):
            return word
    return "text"


def _as(table: pa.Table, columns: list[list[str]]) -> pa.Table:
    """The table with what its columns hold in a receipt, if nothing is lost by that."""
    names = [name for name, _ in columns]
    if table.column_names != names:
        raise UnlikeError(
            f"its columns are {', '.join(table.column_names)}, and those of the release are "
            f"{', '.join(names)}"
        )
    cast = []
    for column, (name, kind) in zip(table.columns, columns, strict=True):
        if kind not in TYPES:
            raise UnlikeError(f"no column of a release holds what the receipt says of {name}")
        # A cast would take 7 for a yes, and an evening for its day.
        is_like = pa.types.is_null(column.type) or _held(column.type) == kind
        if not is_like or pa.types.is_binary(column.type):
            raise UnlikeError(f"the column {name} does not hold what the receipt says")
        try:
            cast.append(pc.cast(column, TYPES[kind], safe=True))
        except pa.ArrowException:
            raise UnlikeError(f"what its column {name} holds is no {kind}") from None
    return pa.table(cast, names=names)


def _lines(table: pa.Table, columns: list[list[str]]) -> Iterator[bytes]:
    spell = [SPELLED.get(kind) for _, kind in columns]
    kinds = [kind for _, kind in columns]
    for batch in table.to_batches(max_chunksize=1 << 16):
        cells = [
            _cells(column, kind, one)
            for column, kind, one in zip(batch.columns, kinds, spell, strict=True)
        ]
        for row in zip(*cells, strict=True):
            yield f"{json.dumps(row)}\n".encode("ascii")


def _cells(column: pa.Array, kind: str, spell: Callable[[Any], Any] | None) -> list[Any]:
    if kind == "time":
        column = column.cast(pa.int64())
    values = column.to_pylist()
    if spell is None:
        return values
    return [None if value is None else spell(value) for value in values]


def _bits(value: float) -> str:
    # One zero, and one way not to be a number: files keep neither sign nor payload of these.
    plain = 0.0 if value == 0 else math.nan if math.isnan(value) else value
    return struct.pack(">d", plain).hex()


SPELLED: dict[str, Callable[[Any], Any]] = {"real": _bits, "date": lambda day: day.isoformat()}
