"""What the terminal shows of a release: its stages, its rows, its guarantee."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headcount.releases.cells import label
from headcount.screens import visible

if TYPE_CHECKING:
    from headcount.cli.output import Output
    from headcount.releases.plan import Plan
    from headcount.releases.release import Release

N_ROWS = 20
AGAIN = "The same command shows them again, free."


def release_and_show(plan: Plan, *, output: Output, only_plan: bool, **asked: Any) -> None:
    """Print the plan; unless only that was asked, release it, show it, and write it."""
    print(plan)
    if only_plan:
        return
    release = staged(plan, **asked)
    said = str(plan)
    notes = [note for note in map(visible, release.facts.notes) if note.rstrip(".") not in said]
    write_and_show(release, output, notes, AGAIN)


def write_and_show(release: Release, output: Output, notes: Sequence[str], again: str) -> None:
    """Write the files first: what is on the screen may be cut off by whoever reads it."""
    wrote: list[str] = []
    try:
        wrote = output.write(release, again)
    finally:
        rows(release)
        for line in (*notes, *wrote):
            print(visible(line))


def staged(plan: Plan, **asked: Any) -> Release:
    """Release a plan, with the stage it is in on the screen."""
    console = Console(stderr=True)
    with console.status("starting") as status:
        return plan.release(progress=lambda stage: status.update(stage), **asked)


def rows(release: Release) -> None:
    """The largest rows, or the first ones; all of them are in the release."""
    table = release.to_arrow()
    largest, which = table, "first"
    if table.num_rows > N_ROWS + 5:
        if release.facts.verb != "frequencies":  # those are read from the smallest count on
            largest, which = table.sort_by([(release.facts.value, "descending")]), "largest"
        largest = largest.slice(0, N_ROWS)
    screen = Table(box=None, pad_edge=False)
    for name in largest.column_names:
        is_number = name in release.facts.numbers
        screen.add_column(Text(label(name)), justify="right" if is_number else "left")
    for row in largest.to_pylist():
        # Not as a string: square brackets and names of emoji would mean something.
        screen.add_row(*(Text(_cell(value)) for value in row.values()))
    console = Console()
    console.print()
    console.print(screen)
    if largest.num_rows < table.num_rows:
        console.print(f"… the {N_ROWS} {which} of {table.num_rows:,} rows")
    print(f"\n{visible(release.guarantee)}")
    if release.facts.account:
        print(f"paid by entry {release.entry} of account {release.facts.account!r}")
    if release.again is not None:
        words = release.again.replace("fresh=True", "--fresh").replace("again=", "--again=")
        print(f"shown again, free: {visible(words)}")
    if release.key is not None:
        print(f"key {visible(release.key)}")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return label(value)
