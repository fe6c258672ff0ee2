"""Run a query of the engine and read integers out of it; only questions call this.

Whoever reads keeps it to themselves: what leaves this package is a ``Query`` that reads when it is
asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.tables.engine import Engine

    Integers = NDArray[np.int64]


def columns(engine: Engine, query: Any) -> Iterator[tuple[Integers, ...]]:
    """The columns of a query, all of them integers, batch by batch."""
    schema = pa.schema([(name, pa.int64()) for name in query.columns])
    for batch in engine.stream(query, schema):
        yield tuple(column.to_numpy() for column in batch.columns)


def one_row(engine: Engine, query: Any) -> Integers:
    """The one row of sums that a query gives; a sum over nothing is 0."""
    schema = pa.schema([(name, pa.int64()) for name in query.columns])
    rows = [batch for batch in engine.stream(query, schema) if batch.num_rows]
    return np.array([column[0].as_py() or 0 for column in rows[0].columns], np.int64)


def by_place(engine: Engine, query: Any, n_places: int) -> Integers:
    """The second column of a query, each at the place that the first one says; 0 elsewhere."""
    true_values = np.zeros(n_places, np.int64)
    for places, values in columns(engine, query):
        true_values[places] = values
    return true_values


def table(engine: Engine, query: Any, schema: pa.Schema) -> pa.Table:
    """All rows of a query."""
    return pa.Table.from_batches(engine.stream(query, schema), schema)
