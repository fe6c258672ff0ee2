"""``--sweep``: what to expect over a range of epsilons, as a table with bars. Nothing is spent."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from headcount.cli.piped import JSON
from headcount.errors import UsageError
from headcount.privacy.argument import NOTHING
from headcount.screens import visible

if TYPE_CHECKING:
    from headcount.cli.output import Output
    from headcount.releases.expected import Expected
    from headcount.releases.plan import Plan


def show_sweep(plan: Plan, output: Output, *, with_plan: bool) -> None:
    """Print what to expect of a plan, and draw it where that was asked for."""
    for name, place in (("--out", output.out), ("--report", output.report)):
        if place is not None:
            raise UsageError(
                f"--sweep releases no rows, so {name} has nothing to write. Leave it out, or take "
                f"the table by --csv or --json, or as a picture by --plot. {NOTHING}"
            )
    if with_plan:
        print(plan.described(), file=output.aside)
    expected = plan.sweep()
    if output.plot is not None:
        place = expected.plot(output.plot)
        print(visible(f"Drew {place}"), file=output.aside)
    if output.piped is None:
        print(expected)
    else:
        _write(expected, output.piped)


def _write(expected: Expected, kind: str) -> None:
    if kind == JSON:
        print(json.dumps({"expected": list(expected)}, indent=1))
        return
    import pyarrow.csv

    pyarrow.csv.write_csv(expected.to_arrow(), sys.stdout.buffer)
