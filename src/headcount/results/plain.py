"""Tables that hold their rows and nothing else.

An Arrow table can carry more than its rows: a dictionary of all labels, also of those that no row
has; words beside a column; what stood before and after a slice, or stands under a missing value;
how many rows came in which part. Nobody sees these on a screen, and all of them are in the bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def plain(table: pa.Table) -> pa.Table:
    """The same rows, of plain columns, with nothing beside them."""
    import pyarrow as pa

    columns = [_plain_column(column) for column in table.columns]
    return pa.table(columns, names=table.column_names).combine_chunks()


def _plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import numpy as np
    import pyarrow as pa

    while (inner := _inner(column.type)) is not None:
        column = column.cast(inner)
    if pa.types.is_nested(column.type):
        raise TypeError(f"A release has no column of {column.type}.")
    # A copy of the rows alone: what stands beside a slice or under a missing value stays behind.
    return column.take(pa.array(np.arange(len(column))))


def _inner(kind: pa.DataType) -> pa.DataType | None:
    """What a type is made of, where it is made of another one."""
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return kind.value_type
    views = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    return views.get(kind)
