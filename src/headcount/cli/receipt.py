"""``headcount receipt`` and ``headcount verify``: what was released, for whoever was not there."""

from __future__ import annotations

from pathlib import Path

import typer

from headcount.cli.ledger import KEY, WHERE, there
from headcount.cli.output import write_text


def receipt(
    key: str | None = KEY,
    account: str | None = typer.Option(None, help="Only of this account."),
    part: int | None = typer.Option(
        None, help="The round, where the charge pays for several: 0 for the first."
    ),
    out: Path | None = typer.Option(None, help="Write here: .json. Default: the screen."),
    ledger: str | None = WHERE,
) -> None:
    """Sign what was released under a key, at what cost, for others to verify. Free."""
    from headcount.releases.stored import stored_release

    def text() -> str:
        return stored_release(there(ledger), key, account, part).receipt()

    write_text(out, (".json",), text)


def verify(
    receipt: Path = typer.Argument(help="What headcount receipt wrote, or release.receipt(path)."),
    rows: Path | None = typer.Argument(None, help="The rows it should be of: .parquet or .csv."),
    public_key: str | None = typer.Option(
        None, help="The owner's key (headcount ledger key), or a file that has it."
    ),
    journal: Path | None = typer.Option(
        None, help="What headcount ledger export wrote: then earlier charges are added up too."
    ),
) -> None:
    """Check a receipt, offline: signature, costs, chain, rows. Exit code 4 if anything is wrong.

    A whole ledger is checked by: headcount ledger verify.
    """
    from headcount.receipts.verify import verify as verified

    print(verified(receipt, rows, public_key=public_key, journal=journal))
