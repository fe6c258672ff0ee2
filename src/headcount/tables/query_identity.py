"""What is made of rows before they are counted, as one short text: a part of the question.

Tables in memory have names that Ibis makes up anew each time, so they are named here by where they
stand in the expression. A public one is part of the question with all that it says; a private one
only with its columns, because a question must not depend on private rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from headcount.errors import UsageError
from headcount.tables.identity import hashed
from headcount.tables.public import private_leaves


def query_identity(expr: Any, compiled: Callable[[Any], str]) -> str:
    """An expression, hashed; ``compiled`` makes the engine's query of it."""
    import ibis.expr.operations as ops

    tables = expr.op().find(ops.InMemoryTable)
    renamed = {
        op: ops.InMemoryTable(name=f"memory_{index}", schema=op.schema, data=op.data)
        for index, op in enumerate(tables)
    }
    alike = expr.op().replace(renamed).to_expr() if renamed else expr
    query = compiled(alike)
    return hashed(json.dumps([query, *said_in_memory(expr)]) if renamed else query)


def said_in_memory(expr: Any) -> list[list[str]]:
    """The columns of each table in memory, and of a public one what is in it, hashed."""
    import ibis.expr.operations as ops

    private = set(private_leaves(expr, "InMemoryTable"))
    return [
        [repr(list(op.schema.items())), "" if op in private else _contents(op)]
        for op in expr.op().find(ops.InMemoryTable)
    ]


def _contents(op: Any) -> str:
    """SHA-256 of the rows of a public table, in their order."""
    import numpy as np
    import pyarrow as pa

    try:
        table = op.data.to_pyarrow(op.schema).replace_schema_metadata(None)
        # Rows that are equal have equal bytes only once they are copied out: what stands where
        # a value is missing, and how the rows are cut into pieces, depends on where they were.
        table = table.take(np.arange(table.num_rows)).combine_chunks()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    except Exception:
        raise UsageError(
            "A public table in memory cannot be read as Arrow. Give ibis.memtable an Arrow table. "
            "Nothing was read and nothing was charged."
        ) from None
    return hashlib.sha256(sink.getvalue()).hexdigest()
