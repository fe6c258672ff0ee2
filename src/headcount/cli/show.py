"""What the terminal shows of a release: its stages, its rows, its guarantee."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from headcount.cli import piped, terminal
from headcount.cli.properties import CALLED, properties
from headcount.cli.spelling import A_KEY, in_shell
from headcount.cli.stopped import saying_what_was_charged
from headcount.cli.wide import refuse_beside, show_files
from headcount.releases.arguments import checked_release
from headcount.results.cells import label
from headcount.results.shown import chosen, group_columns, name, number
from headcount.results.wide import WideRelease
from headcount.results.words import NO_ROWS, why_none
from headcount.screens import visible

if TYPE_CHECKING:
    from headcount.cli.output import Output
    from headcount.releases.plan import Plan
    from headcount.results.release import Release

N_ROWS = 20
MORE = "--explain says all of it; --plan does so and spends nothing"
AGAIN = "The same command shows them again, free."


def release_and_show(
    plan: Plan,
    *,
    output: Output,
    only_plan: bool,
    explain: bool,
    key: str | None,
    again: str | None,
    fresh: bool,
    to: str | None = None,
    files: int | None = None,
) -> None:
    """Print the plan; unless only that was asked, release it, show it, and write it."""
    # Checked before the plan is printed, which says what these do.
    checked_release(key=key, again=again, fresh=fresh, progress=str, to=to, files=files)
    if to is not None:
        plan.check_wide()
        refuse_beside(output)
    named: Any = {"key": key if again is None else plan.key_shown(again), "fresh": fresh}
    whole = plan.described(**named, word="--fresh")
    if only_plan:
        as_json = output.piped == piped.JSON
        print(piped.plan_as_json(plan.record(**named, word="--fresh")) if as_json else whole)
        return
    if not output.quiet:
        said = whole if explain else plan.shortly(MORE, **named, word="--fresh")
        print(said, file=output.aside)
    with saying_what_was_charged(plan, key=key, fresh=fresh):
        asked: Any = {"key": key, "again": again, "fresh": fresh, "to": to, "files": files}
        release = staged(plan, quiet=output.quiet, **asked)
        # What a plan says by itself, and is said by --plan and --explain, is not said once more.
        notes = [note for note in release.facts.notes if visible(note).rstrip(".") not in whole]
        write_and_show(release, output, notes, AGAIN)
        # Whoever reads may be slow: until all is handed over, a stop says what was charged.
        terminal.flush()


def write_and_show(
    release: Release | WideRelease, output: Output, notes: Sequence[str], again: str
) -> None:
    """Write the files first: what is on the screen may be cut off by whoever reads it."""
    if isinstance(release, WideRelease):
        refuse_beside(output)
        show_files(release, output)
        if output.piped is None and not output.quiet:
            words(release)
            for note in notes:
                print(visible(note))
        return
    wrote: list[str] = []
    try:
        wrote = output.write(release, again)
    finally:
        if output.piped is not None:
            piped.write(release, output.piped)
        with redirect_stdout(output.aside):
            if output.piped is None and not (output.quiet and output.out is not None):
                rows(release)
            if not output.quiet:
                words(release)
                for line in (*(_in_shell(note, release) for note in notes), *wrote):
                    print(visible(line))


def _in_shell(note: str, release: Release) -> str:
    """A note with what to write as a command."""
    key = "KEY" if release.key is None else shlex.quote(release.key)
    return in_shell(note).replace(f"result {A_KEY}", f"result {key}")


def staged(plan: Plan, *, quiet: bool = False, **asked: Any) -> Release | WideRelease:
    """Release a plan, with the stage it is in on the screen."""
    console = Console(stderr=True, quiet=quiet)
    release: Release | WideRelease
    if not console.is_terminal:
        release = plan.release(**asked)
        return release
    with console.status("starting") as status:
        stages = Timed(console, status)
        release = plan.release(progress=stages, **asked)
        stages.end()
        return release


class Timed:
    """The stage that a release is in, on a terminal; when it has ended, how long it took."""

    def __init__(self, console: Console, status: Status) -> None:
        self._console, self._status = console, status
        self._stage, self._began = "", time.monotonic()

    def __call__(self, stage: str) -> None:
        """Say that a stage begins."""
        self.end()
        self._stage, self._began = stage, time.monotonic()
        self._status.update(stage)

    def end(self) -> None:
        """Say how long the last stage took."""
        if self._stage:
            took = time.monotonic() - self._began
            self._console.print(f"  {took:6.1f} s  {self._stage}", highlight=False, style="dim")


def rows(release: Release) -> None:
    """The largest rows, or the first ones; all of them are in the release."""
    table = release.to_arrow()
    some, which = chosen(table, release.facts, _n_shown(table.num_rows))
    screen = Table(box=None, pad_edge=False)
    groups = group_columns(table, release.facts)
    for one in some.column_names:
        is_number = one in release.facts.numbers
        screen.add_column(Text(label(one)), justify="right" if is_number else "left")
    for row in some.to_pylist():
        # Not as a string: square brackets and names of emoji would mean something.
        cells = [(name if one in groups else number)(value) for one, value in row.items()]
        screen.add_row(*map(Text, cells))
    console = Console()
    console.print()
    console.print(screen)
    if not table.num_rows:
        console.print(_nothing(release))
    if which:
        console.print(f"… the {N_ROWS} {which} of {table.num_rows:,} rows")
    if release.facts.bars and table.num_rows:
        console.print(visible(release.facts.of_bars))
    for one, estimate in properties(release).items():
        console.print(f"{CALLED[one]}: {estimate}", highlight=False)


def words(release: Release | WideRelease) -> None:
    """What is promised, who paid, and how to have the same rows again."""
    print(f"\n{visible(release.guarantee)}")
    if release.facts.account:
        print(f"paid by entry {release.entry} of account {release.facts.account!r}")
    if release.again is not None:
        print(f"shown again, free: {in_shell(release.again)}")
    if release.key is not None:
        print(f"key {visible(release.key)}")


def _n_shown(n_rows: int) -> int:
    """A few more than usual, where nothing is left out then."""
    return n_rows if n_rows <= N_ROWS + 5 else N_ROWS


def _nothing(release: Release) -> str:
    """What to do about a release without rows."""
    why = why_none(release.facts)
    if why == NO_ROWS:
        return why
    return (
        f"{why} A larger --epsilon shows smaller groups; --groups, a public list, shows all that "
        "it names. Each is a new question, and is charged."
    )
