"""What a release leaves to whoever looks: on screens, in files, in the ledger and on receipts."""

from __future__ import annotations

import json
import re
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headcount.releases.plan import Plan
from headcount.results.release import Release

ONCE = re.compile(r"\b[0-9a-f]{16,}\b|\b\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)?")
"""Keys, hashes, signatures and moments: others each time, whatever the table."""

VALUES = frozenset(["count", "share", "value"])
"""The first column after those of groups."""


def of_its_rows(release: Release) -> dict[str, str]:
    """All that shows rows: the same where the rows that were drawn are."""
    return {
        "rows": str(release.to_arrow().to_pylist()),
        "rows withheld": "" if release.withheld is None else str(release.withheld.to_pylist()),
        "stored result": release.to_bytes().hex(),
        "text": str(release),
        "page of a notebook": release._repr_html_(),
    }


def beside_its_rows(release: Release, folder: Path) -> dict[str, str]:
    """What it says and what its files say beyond the rows."""
    parquet, csv = release.write_parquet(folder / "a.parquet"), release.write_csv(folder / "a.csv")
    n_rows = f"{len(release):,} row{'' if len(release) == 1 else 's'}"
    metadata, schema = pq.read_metadata(parquet), release.to_arrow().schema
    return {
        "repr": repr(release).replace(n_rows, "N rows"),
        "facts": json.dumps(json.loads(schema.metadata[b"headcount"])),
        "schema": str(schema.remove_metadata()),
        "metadata beside the facts": str({**schema.metadata, b"headcount": b""}),
        "file metadata": f"{metadata.created_by} {metadata.num_columns} {metadata.format_version}",
        "csv header": csv.read_text().split("\n", 1)[0],
        "files": " ".join(sorted(path.name for path in folder.iterdir())),
    }


def of_its_charge(plan: Plan, release: Release) -> dict[str, str]:
    """What the ledger shows of it, and the receipt, but for what is another each time."""
    receipt = json.loads(release.receipt())
    for rows in ("rows", "withheld"):
        del receipt[rows]
    said = {
        "journal": "\n".join(map(str, plan.ledger.entries(plan.account.name))),
        "receipt": json.dumps(receipt),
    }
    return {name: ONCE.sub("once", text) for name, text in said.items()}


def is_more_than_rows(release: Release, folder: Path) -> bool:
    """Whether a file holds more than its cells: then one that is made of these is another."""
    rows = release.to_arrow()
    cells = {
        name: pa.array(column.to_pylist(), getattr(column.type, "value_type", column.type))
        for name, column in zip(rows.column_names, rows.columns, strict=True)
    }
    one, copy = release.write_parquet(folder / "one.parquet"), folder / "copy.parquet"
    pq.write_table(pa.table(cells).replace_schema_metadata(rows.schema.metadata), copy)
    return one.read_bytes() != copy.read_bytes()


def n_out_of_order(table: pa.Table) -> int:
    """How many rows come before a row of a smaller group; missing groups belong at the end."""
    groups = takewhile(lambda name: name not in VALUES, table.column_names)
    labels = zip(*(map(_place, table.column(name).to_pylist()) for name in groups), strict=True)
    return sum(a > b for a, b in pairwise(labels))


def _place(label: Any) -> tuple[bool, Any]:
    return label is None, label.encode() if isinstance(label, str) else label or 0
