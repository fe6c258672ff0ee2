"""The auditor's tables as real ones, and many independent copies of one in a single table.

Copies have users and groups of their own, so one release of a table of ``n`` copies is ``n``
independent releases of the table: noise is independent by group, bounds are by user.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from headcount.audit.neighbours import EXTREME_INTEGERS, Rows

USER, GROUP = "person", "place"
BETWEEN = "|"


def arrow_table(rows: Rows, **beside: pa.Array) -> pa.Table:
    """The rows, each as often as it is there, with further columns."""
    repeats = np.array([copies for _, _, copies in rows], dtype=np.int64)
    take = pa.array(np.repeat(np.arange(len(rows)), repeats))
    users = pa.array([user for user, _, _ in rows], pa.string())
    groups = pa.array([group for _, group, _ in rows], _type_of(rows))
    columns = {USER: users, GROUP: groups, **beside}
    return pa.table({name: column.take(take) for name, column in columns.items()})


def written(table: pa.Table, folder: Path, ending: str) -> Path:
    """A table as a file of the kind that its name ends in."""
    path = folder / f"events.{ending}"
    write = pq.write_table if ending == "parquet" else pa_csv.write_csv
    write(table, path)
    return path


def _type_of(rows: Rows) -> Any:
    numbers = {group for group in EXTREME_INTEGERS if group is not None}
    return pa.int64() if any(group in numbers for _, group, _ in rows) else pa.string()


def copied(rows: Rows, n: int) -> pa.Table:
    """``n`` independent copies of a table of text groups."""
    numbers = np.arange(n).astype(str)
    columns = {}
    for name, values in ((USER, [r[0] for r in rows]), (GROUP, [str(r[1]) for r in rows])):
        parts = np.char.add(np.char.add(numbers, BETWEEN)[:, None], np.array(values, dtype=str))
        columns[name] = pa.array(parts.ravel().tolist(), pa.string())
    return pa.table(columns)


def by_copy(groups: list[str], n: int) -> list[dict[str, int]]:
    """For each copy, its groups and the row that each is in."""
    found: list[dict[str, int]] = [{} for _ in range(n)]
    for row, label in enumerate(groups):
        copy, group = label.split(BETWEEN, 1)
        found[int(copy)][group] = row
    return found
