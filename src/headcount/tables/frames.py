"""Tables in memory: Arrow, pandas and Polars, brought to sound Arrow columns.

A column's type comes from the frame's own schema. No cell is asked what the others might be.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

from headcount.errors import UsageError
from headcount.tables.sound import check_one_name_each, sound

if TYPE_CHECKING:
    import pyarrow as pa

NOTHING = "Nothing was read and nothing was charged."
WRITTEN_OUT = (bool, int, Decimal, UUID, date, datetime)
"""Objects in a pandas column whose text is one, and says what they are."""


def frame_table(frame: Any, package: str) -> tuple[pa.Table, tuple[str, ...]]:
    """The frame's columns that can be counted, and the names of the others."""
    import pyarrow as pa

    if package == "pandas":
        table, others = _from_pandas(frame)
    elif package == "polars":
        table, others = _from_polars(frame)
    elif isinstance(frame, pa.RecordBatch):
        table, others = pa.Table.from_batches([frame]), ()
    elif isinstance(frame, pa.Table):
        table, others = frame, ()
    else:
        raise UsageError(
            f"A pyarrow {type(frame).__name__} cannot be opened; give the path of its files, or a "
            f"table: .to_table() or .read_all(). {NOTHING}"
        )
    check_one_name_each([*table.column_names, *others], f"this {package} table")
    kept, more = sound(table)
    return kept, (*others, *more)


def _from_polars(frame: Any) -> tuple[pa.Table, tuple[str, ...]]:
    import polars as pl
    import pyarrow as pa

    if not isinstance(frame, pl.DataFrame):
        raise UsageError(
            f"A Polars {type(frame).__name__} cannot be opened: what it will do with the rows is "
            f"not known yet. Give a data frame: .collect(). {NOTHING}"
        )
    columns: dict[str, pa.Array] = {}
    others = []
    for name in frame.columns:
        try:
            columns[name] = frame.get_column(name).to_arrow()
        except (pa.ArrowException, TypeError, ValueError, pl.exceptions.PolarsError):
            others.append(name)
    return pa.table(columns), tuple(others)


def _from_pandas(frame: Any) -> tuple[pa.Table, tuple[str, ...]]:
    import pandas as pd
    import pyarrow as pa

    if not isinstance(frame, pd.DataFrame):
        raise UsageError(f"Give a pandas DataFrame, not a {type(frame).__name__}. {NOTHING}")
    columns: list[pa.Array] = []
    names, others = [], []
    labels = [str(label) for label in frame.columns]
    check_one_name_each(labels, "this pandas table")
    for position, name in enumerate(labels):
        column = frame.iloc[:, position]
        try:
            columns.append(pandas_column(column))
            names.append(name)
        except (pa.ArrowException, TypeError, ValueError, NotImplementedError):
            others.append(name)
    return pa.table(columns, names), tuple(others)


def pandas_column(column: Any) -> pa.Array:
    """A pandas column by its dtype alone."""
    import pandas as pd
    import pyarrow as pa

    kind = column.dtype
    if isinstance(kind, pd.SparseDtype):
        return pandas_column(column.sparse.to_dense())
    if isinstance(kind, pd.CategoricalDtype):
        numbers = pa.array(column.cat.codes.to_numpy())
        texts = pandas_column(pd.Series(kind.categories))
        return pa.DictionaryArray.from_arrays(numbers, texts, safe=False)
    if pd.api.types.is_object_dtype(kind) or (
        isinstance(kind, pd.StringDtype) and kind.storage == "python"
    ):
        return _objects(column.astype(object))
    if isinstance(kind, pd.api.extensions.ExtensionDtype) and not hasattr(
        column.array, "__arrow_array__"
    ):
        raise TypeError  # Arrow would ask the cells what they are
    return pa.array(column)


def _objects(column: Any) -> pa.Array:
    """Python objects are text: each cell is a text, is written out as one, or is missing."""
    import pyarrow as pa

    # Only a faster way to the same.
    if set(map(type, column)) <= {str, type(None)}:
        with suppress(UnicodeEncodeError):
            return pa.array(list(column), pa.string())
    return pa.array([_as_text(cell) for cell in column], pa.string())


def _as_text(cell: Any) -> str | None:
    import numpy as np

    try:
        if isinstance(cell, np.generic):
            cell = cell.item()
        if isinstance(cell, str):
            text = str.__str__(cell)  # also of a subclass, whatever it calls itself
        elif type(cell) is float:
            text = repr(cell)
        elif type(cell) in WRITTEN_OUT:
            text = str(cell)
        else:
            return None
        text.encode()
        return None if type(cell) is float and cell != cell else text  # NaN is missing
    except Exception:  # what an object does when it is asked has no end
        return None
