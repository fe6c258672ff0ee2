"""``headcount audit``."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from headcount.trials.trial import Outcome

EXIT_VIOLATION = 6
MEANING = (
    "A violation refutes a privacy claim. A pass proves nothing: it says that these attacks failed."
)


def audit(
    as_json: bool = typer.Option(
        False, "--json", help="One JSON line per case, and one at the end."
    ),
    full: bool = typer.Option(
        False, "--full", help="Every scale, pair, epsilon and way to ask: much longer."
    ),
    mechanism: list[str] = typer.Option([], help="Only this mechanism. Repeat it."),
    passes: int = typer.Option(
        1, min=1, help="How many times to repeat everything, with new samples."
    ),
) -> None:
    """Attack every mechanism of this installation, and mutants of it that must be caught."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from headcount.errors import UsageError
    from headcount.trials.register import MECHANISMS, trial_of
    from headcount.trials.session import hold, summary
    from headcount.trials.trial import Effort

    unknown = sorted(set(mechanism) - set(MECHANISMS))
    if unknown:
        raise UsageError(
            f"There is no mechanism {unknown[0]!r}; choose one of {', '.join(MECHANISMS)}."
        )
    started = time.monotonic()
    effort = Effort.FULL if full else Effort.QUICK
    trials = [trial_of(name) for name in MECHANISMS if not mechanism or name in mechanism]
    screen = Console(stderr=True)
    outcomes: list[Outcome] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=screen, transient=True) as progress:
        n_cases = passes * sum(len(trial.cases) for trial in trials)
        task = progress.add_task("auditing", total=n_cases)
        for outcome in hold(passes * trials, effort):
            outcomes.append(outcome)
            progress.update(task, advance=1, description=outcome.mechanism)
            if as_json:
                print(json.dumps(_record(outcome)))
    result = summary(outcomes, effort, passes, started)
    if as_json:
        print(json.dumps(asdict(result)))
    else:
        last = len(outcomes) - len(outcomes) // passes
        wrong = [outcome for outcome in outcomes[:last] if not outcome.is_as_it_should_be]
        _show([*wrong, *outcomes[last:]])
        print(
            f"{result.mechanisms} mechanisms, {result.violations} violations; {result.mutants} "
            f"mutants, {result.missed} missed; {result.findings} findings, {result.passes} "
            f"{'pass' if passes == 1 else 'passes'}, {result.seconds} s."
        )
        print(MEANING)
    if not result.is_clean:
        raise typer.Exit(EXIT_VIOLATION)


def _verdict(outcome: Outcome) -> str:
    if outcome.case.is_mutant:
        return "caught" if outcome.flagged else "MISSED"
    return "VIOLATION" if outcome.flagged else "no violation found"


def _record(outcome: Outcome) -> dict[str, object]:
    worst = outcome.worst
    return {
        "mechanism": outcome.mechanism,
        "variant": outcome.case.name,
        "is_mutant": outcome.case.is_mutant,
        "verdict": _verdict(outcome),
        "tier": worst.tier,
        "subject": worst.subject,
        "measure": worst.measure,
        "claimed": worst.claimed,
        "found": worst.found,
        "findings": len(outcome.findings),
    }


def _show(outcomes: list[Outcome]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("mechanism", "claimed", "found", "verdict"):
        table.add_column(name)
    for outcome in outcomes:
        worst, case = outcome.worst, outcome.case
        style = None if outcome.is_as_it_should_be else "bold red"
        table.add_row(
            f"  mutant: {case.name}" if case.is_mutant else outcome.mechanism,
            f"{worst.measure} {worst.claimed:.6g}",
            f"{worst.found:.6g} ({worst.tier})",
            _verdict(outcome),
            style=style,
        )
    Console().print(table, highlight=False)
