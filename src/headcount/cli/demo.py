"""``headcount demo``."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer

from headcount.cli.examples import FIRST_COUNT
from headcount.errors import UsageError
from headcount.screens import quoted, visible


def demo(
    out: Path = typer.Argument(Path("events.parquet"), help="The file to write."),
    users: int = typer.Option(20_000, min=1, max=10_000_000, help="How many people."),
    pages: int = typer.Option(2_000, min=1, max=1_000_000, help="How many pages there are."),
) -> None:
    """Write a table of made-up page views: a few people do most of it, a few pages get most."""
    from headcount.results.output import check_output, write_whole
    from headcount.tables.demo import write_demo

    check_output(out, (".parquet",), name="OUT")
    if out.exists():
        other = out.with_stem("demo" if out.stem != "demo" else "demo2")
        raise UsageError(
            f"{quoted(out)} is there already and is not overwritten. Name another: headcount demo "
            f"{shlex.quote(str(other))}"
        )
    rows: list[int] = []
    write_whole(out, lambda draft: rows.append(write_demo(draft, n_users=users, n_pages=pages)))
    place = visible(str(out))
    print(f"Wrote {place}: {rows[0]:,} events of {users:,} made-up users (user_id, page, time).")
    print(f"Next: {FIRST_COUNT.replace('events.parquet', shlex.quote(place))}")
