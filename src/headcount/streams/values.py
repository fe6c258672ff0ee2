"""From what a caller holds to bytes in a row: lists, Arrow, NumPy, pandas.

A column that has a kind of its own is taken or refused for that kind, which is public. In a list
every value is looked at on its own: what is no value of a stream is dropped, and the others count
as they would without it. Otherwise one event could decide about all that come with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from headcount.errors import UsageError
from headcount.streams.arguments import LARGEST
from headcount.streams.hashing import PADDING, Bytes, Places

WRONG = (
    "The values of a stream are texts, whole numbers, dates or yes and no: a list, or one column "
    "of Arrow, NumPy or pandas. Nothing was counted."
)


def laid_out(values: Any) -> tuple[Bytes, Places, Places]:
    """The bytes of all values that are not missing, where each begins, and how long each is."""
    parts = [_plain(chunk) for chunk in _chunks(values)]
    data = np.concatenate([*(part[0] for part in parts), np.zeros(PADDING, np.uint8)])
    lengths = np.concatenate([np.zeros(0, np.int64), *(part[1] for part in parts)])
    return data, np.cumsum(lengths) - lengths, lengths


def _chunks(values: Any) -> list[pa.Array]:
    if isinstance(values, (pa.Table, pa.RecordBatch)):
        if values.num_columns != 1:
            raise UsageError("Give one column, such as batch.column('page'). Nothing was counted.")
        values = values.column(0)
    if isinstance(values, pa.ChunkedArray):
        return list(values.chunks)
    if isinstance(values, pa.Array):
        return [values]
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, Iterable):
        raise UsageError(WRONG)
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    if kind not in "OUT":  # a column of one kind, which is known without looking at a value
        try:
            return [pa.array(values)]
        except (pa.ArrowException, TypeError, ValueError):
            raise UsageError(WRONG) from None
    return [pa.array([_one(value) for value in values], pa.large_binary())]


def _one(value: Any) -> bytes | None:
    """What one value counts as; it never fails, and no other value has a say in it."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bool, np.bool_)):
        return b"true" if value else b"false"
    if isinstance(value, (int, np.integer)):
        return b"%d" % int(value) if abs(int(value)) < LARGEST else None
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat().encode()
    return None


def _plain(values: pa.Array) -> tuple[Bytes, Places]:
    if pa.types.is_null(values.type):
        values = values.cast(pa.string())
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    kind = values.type
    is_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    others = (pa.types.is_integer, pa.types.is_boolean, pa.types.is_date, pa.types.is_string_view)
    if not is_bytes and not is_text and not any(is_kind(kind) for is_kind in others):
        raise UsageError(WRONG)
    if not is_bytes:
        values = values.cast(pa.large_string())
    values = values.drop_null().cast(pa.large_binary())
    _, offsets, data = values.buffers()
    if len(values) == 0 or data is None:
        return np.zeros(0, np.uint8), np.zeros(len(values), np.int64)
    ends = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
    return np.frombuffer(data, np.uint8)[ends[0] : ends[-1]], np.diff(ends)
