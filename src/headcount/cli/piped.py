"""Rows as other programs read them: all of them on standard output, and nothing else there."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from headcount.errors import UsageError
from headcount.screens import visible_lines

if TYPE_CHECKING:
    from pathlib import Path

    from headcount.results.release import Release

JSON, CSV = "json", "csv"


def kind_of(out: Path | None, *, as_json: bool, as_csv: bool) -> str | None:
    """How rows are written to standard output, if they are."""
    asked = {"--json": as_json, "--csv": as_csv, "--out -": str(out) == "-"}
    named = [name for name, is_asked in asked.items() if is_asked]
    if len(named) > 1:
        raise UsageError(
            f"{' and '.join(named)} both write the rows to standard output. Choose one of them. "
            "Nothing was charged."
        )
    if not named:
        return None
    return JSON if as_json else CSV


def write(release: Release, kind: str) -> None:
    """Write all rows; on a terminal, what cannot be seen is shown as an escape."""
    text = as_json(release) if kind == JSON else as_csv(release)
    sys.stdout.write(visible_lines(text) if sys.stdout.isatty() else text)


def as_json(release: Release) -> str:
    """One object: the rows, and the facts without which nobody should read them."""
    rows = [{name: _plain(value) for name, value in row.items()} for row in release]
    facts = asdict(release.facts) | {"key": release.key, "again": release.again}
    return json.dumps({"rows": rows, "facts": facts}, indent=1, default=str) + "\n"


def as_csv(release: Release) -> str:
    """The text of the CSV file that ``--out`` would write."""
    import pyarrow as pa
    import pyarrow.csv

    from headcount.results.cells import without_formulas

    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(without_formulas(release.to_arrow()), sink)
    return str(sink.getvalue().to_pybytes().decode())


def _plain(value: Any) -> Any:
    """JSON has no place for what is not a finite number."""
    is_odd = isinstance(value, float) and not math.isfinite(value)
    return str(value) if is_odd or isinstance(value, bytes) else value
