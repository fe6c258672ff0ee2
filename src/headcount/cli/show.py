"""What the terminal shows of a release: its stages, its rows, its guarantee."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headcount.releases.cells import label
from headcount.screens import visible

if TYPE_CHECKING:
    from headcount.releases.plan import Plan
    from headcount.releases.release import Release

N_ROWS = 20


def release_and_show(
    plan: Plan, *, key: str | None, out: Path | None, plot: Path | None, only_plan: bool
) -> None:
    """Print the plan; unless only that was asked, release it, show it, and write it."""
    print(plan)
    if only_plan:
        return
    release = staged(plan, key)
    rows(release)
    planned = str(plan)
    for note in release.facts.notes:
        if visible(note).rstrip(".") not in planned:  # what only the release could say
            print(visible(note))
    write_and_draw(release, out, plot)


def write_and_draw(release: Release, out: Path | None, plot: Path | None) -> None:
    """Write the rows to files, where that was asked."""
    if out is not None:
        print(f"\nWrote {visible(str(release.write(out)))}")
    if plot is not None:
        print(f"\nDrew {visible(str(release.plot(plot)))}")


def staged(plan: Plan, key: str | None) -> Release:
    """Release a plan, with the stage it is in on the screen."""
    console = Console(stderr=True)
    with console.status("starting") as status:
        return plan.release(key=key, progress=lambda stage: status.update(stage))


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


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return label(value)
