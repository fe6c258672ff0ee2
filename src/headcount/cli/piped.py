"""Rows as other programs read them: all of them on standard output, and nothing else there."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from headcount.cli.properties import properties
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
    whole = {"rows": rows, "facts": facts}
    known = {name: asdict(one) for name, one in properties(release).items()}
    return (
        json.dumps(whole | {"properties": known} if known else whole, indent=1, default=str) + "\n"
    )


def plan_as_json(record: dict[str, Any]) -> str:
    """A plan as one object."""
    return json.dumps(record, indent=1)


def refuse_for_a_plan(kind: str | None) -> None:
    """A plan has no rows: refuse to write it as a table, before anything is opened."""
    if kind == CSV:
        raise UsageError(
            "--plan shows a plan, which has no rows to write as CSV. Leave --csv or --out - out, "
            "or have the plan as JSON: --plan --json. Nothing was charged."
        )


def as_csv(release: Release) -> str:
    """The text of the CSV file that ``--out`` would write."""
    from headcount.results.cells import csv_of

    return csv_of(release.to_arrow()).decode()


def _plain(value: Any) -> Any:
    """JSON has no place for what is not a finite number."""
    is_odd = isinstance(value, float) and not math.isfinite(value)
    return str(value) if is_odd or isinstance(value, bytes) else value
