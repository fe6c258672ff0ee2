"""``headcount demo``."""

from __future__ import annotations

from pathlib import Path

import typer

from headcount.screens import visible


def demo(
    out: Path = typer.Argument(Path("events.parquet"), help="The file to write."),
    users: int = typer.Option(20_000, min=1, help="How many people."),
    pages: int = typer.Option(2_000, min=1, help="How many pages there are."),
) -> None:
    """Write a table of made-up page views: a few people do most of it, a few pages get most."""
    from headcount.tables.demo import write_demo

    n_rows = write_demo(out, n_users=users, n_pages=pages)
    place = visible(str(out))
    print(f"Wrote {place}: {n_rows:,} events of {users:,} made-up users (user_id, page, time).")
    print(f"Next: headcount count-users {place} --user user_id --by page --within 0.10 --epsilon 1")
