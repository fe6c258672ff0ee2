"""Where commands of a fleet find its database, its ledger, its core and its key."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import typer

from headcount.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from headcount.fleet.control_store import ControlStore

PARTS = ("fastapi", "httptools", "psycopg", "uvicorn", "yaml")
DATABASE = typer.Option(
    None,
    help="The fleet's database, postgresql://user@host/database, without a password. Default: "
    "HEADCOUNT_FLEET.",
)
LEDGER = typer.Option(
    None, help="The ledger's file, or postgresql://user@host/database. Default: HEADCOUNT_LEDGER."
)
CORE = typer.Option(None, help="The socket of the core. Default: HEADCOUNT_FLEET_CORE.")
KEY = typer.Option(None, help="The file of the owner's key. Default: HEADCOUNT_FLEET_KEY.")
HOST = typer.Option("127.0.0.1", help="Where to listen. By default on this machine alone.")
DELAY = typer.Option(
    900, help="Seconds from a round's end until it is shown, the same for all who look.", min=1
)


def needs_fleet() -> None:
    """Refuse to go on without what a fleet is made of."""
    if any(find_spec(name) is None for name in PARTS):
        raise MissingExtraError("fleet", "A fleet")


def database_of(said: str | None) -> str:
    """The address of the fleet's database, as it was said or as the environment has it."""
    from headcount.fleet.settings import FLEET, settings
    from headcount.ledger.address import parse_address

    needs_fleet()
    if said is None:
        return settings(FLEET)[0]
    place = parse_address(said)
    if place.url.password is not None or "password" in place.url.query:
        raise UsageError(
            "Everybody on a machine can read the words of a command: leave the password out of "
            "--database. It belongs in HEADCOUNT_FLEET or in ~/.pgpass. Nothing was done."
        )
    return said


def store_of(said: str | None) -> ControlStore:
    """The fleet's database."""
    address = database_of(said)
    from headcount.fleet.control_store import ControlStore

    return ControlStore(address)


def place_of(said: Path | None, name: str) -> str:
    """A path as it was said, or as the environment has it under this name."""
    from headcount.fleet.settings import settings

    return settings(name)[0] if said is None else str(said)
