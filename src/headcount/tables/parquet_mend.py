"""Columns of Parquet files that DuckDB cannot read to their end, read with what is unsound missing.

Whatever DuckDB can read is read by DuckDB: other columns, other files, other row groups. Of a row
group's column that it cannot read, Arrow gives the values, and each is brought to what DuckDB makes
of it; texts that are not UTF-8 and numbers beyond DuckDB's own are missing. Where Arrow cannot read
them either, they all are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headcount.tables.interrupts import execute
from headcount.tables.parquet_links import identifier, read_files
from headcount.tables.sound import decoded, sound_text

CHUNK = "headcount_chunk"
LARGEST = (1 << 63) - 1


def row_groups(path: str) -> list[range]:
    """The numbers of the rows in each row group of a file."""
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(path)
    groups, start = [], 0
    for index in range(metadata.num_row_groups):
        groups.append(range(start, start := start + metadata.row_group(index).num_rows))
    return groups


def unreadable(connection: Any, link: str, names: Sequence[str], n_rows: int) -> tuple[str, ...]:
    """Those of the columns that DuckDB cannot read to the end of the file."""
    if reads(connection, link, names, n_rows):
        return ()
    return tuple(name for name in names if not reads(connection, link, [name], n_rows))


def reads(connection: Any, link: str, names: Sequence[str], n_rows: int) -> bool:
    """Whether DuckDB reads every value; a hash of each needs them all."""
    looked = "".join(f", max(hash({identifier(name)}))" for name in names)
    query = f"select count(*){looked} from {read_files([link], hive=False)}"  # noqa: S608
    try:
        return bool(execute(connection, query).fetchall()[0][0] == n_rows)
    except Exception:  # what a damaged page may bring about has no end
        return False


def copy_columns(
    connection: Any,
    table: str,
    file: int,
    path: str,
    link: str,
    kinds: Mapping[str, str],
    said: Mapping[str, str | None],
) -> None:
    """Add a file's columns to a table of a number of the file, one of the row, and the values.

    said:  columns that have one value in all rows of the file
    """
    import pyarrow as pa

    for index, rows in enumerate(row_groups(path)):
        if not rows:
            continue
        arrays = [pa.repeat(pa.scalar(file, pa.int64()), len(rows)), pa.array(rows, pa.int64())]
        arrays += [_chunk(connection, path, link, name, index, rows) for name in kinds]
        arrays += [pa.repeat(pa.scalar(v, pa.string()), len(rows)) for v in said.values()]
        names = [f"c{place}" for place in range(len(arrays))]
        types = ["bigint", "bigint", *kinds.values(), *("varchar" for _ in said)]
        casts = ", ".join(f"try_cast({n} as {t})" for n, t in zip(names, types, strict=True))
        connection.register(CHUNK, pa.table(arrays, names))
        try:
            execute(connection, f"insert into {table} select {casts} from {CHUNK}")  # noqa: S608
        finally:
            connection.unregister(CHUNK)


def _chunk(connection: Any, path: str, link: str, name: str, group: int, rows: range) -> Any:
    """One column of one row group: as DuckDB reads it, or as Arrow does, or all missing."""
    import pyarrow as pa

    for attempt in (_by_duckdb(connection, link, name, rows), _by_arrow(path, name, group)):
        try:
            found = next(attempt)
            if len(found) == len(rows):
                return found
        except Exception:  # noqa: S112  what a damaged page may bring about has no end
            continue
    return pa.nulls(len(rows), pa.string())


def _by_duckdb(connection: Any, link: str, name: str, rows: range) -> Iterator[Any]:
    source = read_files([link], hive=False, numbered=True)
    result = execute(
        connection,
        f"select {identifier(name)} from {source} where file_row_number between {rows[0]} "  # noqa: S608
        f"and {rows[-1]} order by file_row_number",
    )
    yield getattr(result, "to_arrow_table", result.fetch_arrow_table)().column(0)


def _by_arrow(path: str, name: str, group: int) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        read = file.read_row_group(group, columns=[name], use_threads=False)
        physical = {
            column.path: column.physical_type
            for column in (file.schema.column(index) for index in range(len(file.schema)))
        }[name]
    read.validate()
    # Two readers take an odd INT96 for two times; DuckDB reads any, so that here a page is broken.
    if physical != "INT96":
        yield pa.chunked_array([_as_duckdb_reads(chunk) for chunk in read[name].chunks])


def _as_duckdb_reads(array: Any) -> Any:
    """The values that DuckDB makes of a column, and those that it stops at as missing."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    kind = array.type
    if types.is_dictionary(kind):
        return decoded(array, _as_duckdb_reads)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return sound_text(array)
    if types.is_timestamp(kind) and kind.unit == "ms":
        counted = _within(array.view(pa.int64()), LARGEST // 1_000)
        return pc.multiply(counted, 1_000).view(pa.timestamp("us", kind.tz))
    if types.is_timestamp(kind) and kind.unit == "ns" and kind.tz:
        # Towards 1970; the greatest number and its negative are infinities.
        counted = array.view(pa.int64())
        counted = _without(counted, (LARGEST, -LARGEST))
        return pc.divide(counted, 1_000).view(pa.timestamp("us", kind.tz))
    if types.is_date64(kind):
        return array.cast(pa.date32())
    if types.is_float16(kind):
        return array.cast(pa.float32())
    if types.is_decimal(kind):
        return _stored_decimals(array)
    return array


def _within(values: Any, limit: int) -> Any:
    import pyarrow.compute as pc

    inside = pc.and_(pc.greater_equal(values, -limit), pc.less_equal(values, limit))
    return pc.if_else(inside, values, None)


def _without(values: Any, some: tuple[int, ...]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.is_in(values, pa.array(some, values.type)), None, values)


def _stored_decimals(array: Any) -> Any:
    """Decimals as they are, also beyond their precision, where DuckDB's integers hold them."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if kind.bit_width != 128 or kind.precision > 18:
        return array
    width = 16 if kind.precision <= 4 else 32 if kind.precision <= 9 else 64
    halves = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 2)
    halves = halves[array.offset : array.offset + len(array)]
    low, high = halves[:, 0], halves[:, 1]
    limit = 1 << (width - 1)
    fits = (high == low >> 63) & (low >= -limit) & (low <= limit - 1)
    return pc.if_else(pa.array(fits), array, None)
