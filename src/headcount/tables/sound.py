"""Arrow columns that no engine can trip over.

Arrow's own types promise more than the bytes behind them keep: text may not be UTF-8, times may lie
beyond every calendar. An engine that scans such a column in place may stop, or take the process
with it. Each value is looked at by itself: it stays, or it is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from headcount.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_SECOND = -62_135_596_800
"""Of the year 1, counted from 1970."""
LAST_SECOND = 253_402_300_799
"""Of the year 9999."""
PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
PER_DAY_MILLISECONDS = 86_400_000


def sound(table: pa.Table) -> tuple[pa.Table, tuple[str, ...]]:
    """The columns that can be counted, each value sound or missing, and the names of the others."""
    import pyarrow as pa

    check_one_name_each(table.column_names, "this table")
    try:
        table.validate()
    except pa.ArrowInvalid:
        raise _unsound() from None
    kept: dict[str, pa.ChunkedArray] = {}
    others = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        mend = _mender(column.type)
        if mend is None:
            others.append(name)
        else:
            chunks = [mend(chunk) for chunk in column.chunks]
            kept[name] = pa.chunked_array(chunks, mend(_none_of(column.type)).type)
    return pa.table(kept), tuple(others)


def check_one_name_each(names: Sequence[str], where: str) -> None:
    """Refuse two columns of one name: which of them is meant, nobody said."""
    if len(set(names)) < len(names):
        raise UsageError(
            f"Two columns of {where} have one name. Rename one of them. "
            "Nothing was read and nothing was charged."
        )


def _none_of(kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    return pa.nulls(0, kind)


def _unsound() -> UsageError:
    return UsageError(
        "This table is not a valid Arrow table: its buffers do not fit its types. "
        "Nothing was read and nothing was charged."
    )


def _mender(kind: pa.DataType) -> Callable[[pa.Array], pa.Array] | None:
    """How values of a type are made sound; None for types that nothing is counted by."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(kind):
        inner = _mender(kind.value_type)
        return None if inner is None else lambda array: decoded(array, inner)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return sound_text
    if types.is_timestamp(kind):
        return _sound_times
    if types.is_date64(kind):
        return _sound_days
    if types.is_float16(kind):
        return lambda array: array.cast(pa.float32())
    if types.is_decimal128(kind):
        return _valid
    if types.is_decimal32(kind) or types.is_decimal64(kind):
        return lambda array: _valid(array.cast(pa.decimal128(kind.precision, kind.scale)))
    plain = types.is_integer(kind) or types.is_boolean(kind) or types.is_floating(kind)
    if plain or types.is_date32(kind) or isinstance(kind, pa.UuidType):
        return lambda array: array
    return None


def decoded(array: pa.DictionaryArray, mend: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Values instead of numbers of values; a number that stands for none is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = array.indices
    if numbers.type == pa.uint64():
        # The upper half is negative in 64 signed bits, and stands for none either way.
        numbers = numbers.view(pa.int64())
    numbers = numbers.cast(pa.int64())
    inside = pc.and_(pc.greater_equal(numbers, 0), pc.less(numbers, len(array.dictionary)))
    return mend(array.dictionary).take(_where(inside, numbers))


def _where(condition: Any, values: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(condition, values, pa.scalar(None, values.type))


def sound_text(array: pa.Array) -> pa.Array:
    """Texts, those that are not UTF-8 missing."""
    import pyarrow as pa
    from pyarrow import types

    if _is_valid(array):
        return array
    as_bytes = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}
    is_view = types.is_string_view(array.type)
    if not _is_valid(array.view(pa.binary_view() if is_view else as_bytes[array.type])):
        raise _unsound()
    return _valid(array)


def _is_valid(array: pa.Array) -> bool:
    import pyarrow as pa

    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _valid(array: pa.Array) -> pa.Array:
    """The array with its invalid values missing; they are found by halving."""
    import numpy as np
    import pyarrow as pa

    bad: list[int] = []
    parts = [(0, len(array))]
    while parts:
        start, length = parts.pop()
        if not _is_valid(array.slice(start, length)):
            if length == 1:
                bad.append(start)
            else:
                half = length // 2
                parts += [(start, half), (start + half, length - half)]
    if not bad:
        return array
    good = np.ones(len(array), np.bool_)
    good[bad] = False
    return _where(pa.array(good), array)


def _sound_times(array: pa.TimestampArray) -> pa.Array:
    """Microseconds of the years 1 to 9999, rounded down; other times are missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    per_second = PER_SECOND[array.type.unit]
    counted = array.view(pa.int64())
    if array.type.unit == "ns":
        counted = _floor_divided(counted, 1_000)
    else:
        first, last = FIRST_SECOND * per_second, (LAST_SECOND + 1) * per_second
        inside = pc.and_(pc.greater_equal(counted, first), pc.less(counted, last))
        counted = pc.multiply(_where(inside, counted), 1_000_000 // per_second)
    return counted.view(pa.timestamp("us", "UTC" if array.type.tz else None))


def _sound_days(array: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    days = _floor_divided(array.view(pa.int64()), PER_DAY_MILLISECONDS)
    first, last = FIRST_SECOND // 86_400, LAST_SECOND // 86_400
    inside = pc.and_(pc.greater_equal(days, first), pc.less_equal(days, last))
    return _where(inside, days).cast(pa.int32()).view(pa.date32())


def _floor_divided(values: Any, by: int) -> Any:
    """Arrow divides towards zero; a time before 1970 belongs to the unit it lies in."""
    import pyarrow as pa
    import pyarrow.compute as pc

    near = pc.divide(values, by)
    is_above = pc.greater(pc.multiply(near, by), values)
    return pc.subtract(near, is_above.cast(pa.int64()))
