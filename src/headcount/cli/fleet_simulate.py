"""``headcount fleet simulate``: a whole fleet on one machine, with devices that are made up."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from headcount.cli import fleet_places as place
from headcount.cli import options as option
from headcount.screens import visible

if TYPE_CHECKING:
    from headcount.fleet.simulate import Simulated


def simulate(
    task: Path = typer.Argument(help="The task file, in YAML."),
    devices: int = typer.Option(10_000, help="How many devices are made up.", min=1),
    distinct: int = typer.Option(1_000, help="How many different answers there are.", min=1),
    out: option.Out = None,
    plot: option.Plot = None,
    report: option.Report = None,
    json: option.Json = False,
    csv: option.AsCsv = False,
    quiet: option.Quiet = False,
) -> None:
    """Run a round of a task with real programs and made-up devices. No account of yours pays."""
    place.needs_fleet()
    from headcount.cli.output import Output
    from headcount.cli.show import write_and_show
    from headcount.fleet import simulate as whole
    from headcount.fleet.plan_words import plan_lines
    from headcount.fleet.task_file import read_file

    output = Output.asked(out, plot, report, as_json=json, as_csv=csv, quiet=quiet)
    output.check([task])
    file = read_file(task)
    population = whole.made_up(devices, distinct)

    def say(stage: str) -> None:
        if not quiet:
            print(f"headcount: {stage}", file=sys.stderr, flush=True)

    found = whole.simulate(file, population, say)
    if not quiet:
        for name, said in plan_lines(found.task, found.account, devices):
            if name != "account":
                print(f"{name:<10} {visible(said)}", file=output.aside)
        for name, said in _came_of_it(found):
            print(f"{name:<10} {visible(said)}", file=output.aside)
    write_and_show(found.release, output, found.release.facts.notes, "")


def _came_of_it(found: Simulated) -> list[tuple[str, str]]:
    told, (shown, sampled) = found.told, found.answers
    spend, least = found.entry.spend, found.task.terms.threshold
    return [
        (
            "reports",
            f"{told.acknowledged:,} acknowledged, {told.again:,} of them sent twice; each is "
            "counted once",
        ),
        (
            "counts",
            f"{shown:,} answers shown of {sampled:,} that were sampled, all equal to what was "
            f"sampled; none of fewer than {least:,} sampled devices",
        ),
        (
            "entry",
            f"{found.entry.sequence} of a ledger of the simulation's own, for all "
            f"{found.task.file.rounds.n:,} rounds: rho {float(spend.rho):.4g}, delta "
            f"{float(spend.delta):.3g}",
        ),
        ("took", f"{found.seconds:.0f} s"),
    ]
