"""``headcount run``: releases that repeat, each window once; for cron and whatever starts jobs."""

from __future__ import annotations

from pathlib import Path

import typer

DAYS = 365
"""So far does --dry-run look ahead."""


def run(
    series: Path = typer.Argument(help="The file that says which releases: releases.yaml."),
    dry_run: bool = typer.Option(
        False, "--dry-run", help="Only say what a year would cost: nothing is read or charged."
    ),
    only: list[str] | None = typer.Option(None, help="Only this release. Repeat it."),
    until: str | None = typer.Option(None, help="Only windows that end by this day: 2026-04-01."),
    backfill: bool = typer.Option(
        False,
        "--backfill",
        help="Let a release with a new name pay for windows that an old name paid for.",
    ),
    revise: str | None = typer.Option(
        None, help="Draw and charge a released window once more: pages/2026-03-01."
    ),
    quiet: bool = typer.Option(
        False, "--quiet", "-q", help="Print only what was not released, and warnings."
    ),
) -> None:
    """Release every window that is due, once, and write its file; what is due, it finds itself.

    Start it from cron as often as you like: a run that was killed is finished by the next one.
    """
    from headcount.cli.stopped import saying_that_a_run_goes_on
    from headcount.screens import visible_lines
    from headcount.series.series import Series

    asked = Series(series)
    if dry_run:
        planned = asked.dry_run(DAYS)
        print(visible_lines(str(planned)))
        raise typer.Exit(planned.exit_code)
    with saying_that_a_run_goes_on():
        ran = asked.run(only=only, until=until, backfill=backfill, revise=revise)
    if not quiet or ran.exit_code or ran.warnings:
        print(visible_lines(str(ran)))
    raise typer.Exit(ran.exit_code)
