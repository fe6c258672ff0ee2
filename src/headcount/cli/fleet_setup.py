"""``headcount fleet prepare``, ``key``, ``token`` and ``senders``: what is made once."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from headcount.cli import fleet_places as place
from headcount.errors import UsageError
from headcount.screens import as_word, visible

token = typer.Typer(help="Tokens of people who use the control API.", no_args_is_help=True)


def prepare(
    grant: list[str] = typer.Option(
        [],
        help="Let a login of the server be a reader, ingest, driver or control: driver=hc_driver. "
        "Repeat it.",
    ),
    database: str | None = place.DATABASE,
) -> None:
    """Make the tables of a fleet or bring them up to date, and give logins their rights."""
    pairs = [one.partition("=") for one in grant]
    if not all(role and name for role, _, name in pairs):
        raise UsageError("--grant is a role and a login: driver=hc_driver. Nothing was changed.")
    store = place.store_of(database)
    from headcount.fleet.migrate import CURRENT, ROLES

    print(f"The fleet {visible(str(store.address))} is ready (schema {CURRENT}).")
    for role, _, name in pairs:
        store.grant(role, name)
        print(f"  {visible(name)} may do what {role} is for, and nothing else")
    if not pairs:
        print("Give each program a login of its own, such as --grant driver=hc_driver. Roles:")
        print(f"  {', '.join(ROLES)}")


def key(
    file: Path | None = typer.Argument(
        None, help="Where the owner's key is, or will be. Default: HEADCOUNT_FLEET_KEY."
    ),
) -> None:
    """Show the public half of the owner's key, for devices to pin; the first look makes it."""
    from headcount.fleet.owner_key import make_owner_key
    from headcount.fleet.settings import KEY

    print(make_owner_key(place.place_of(file, KEY)).public)


@token.command()
def make(
    role: str = typer.Argument(help="reader, analyst, operator or owner."),
    whose: str = typer.Argument(help="Whose it is, such as 'Ada, weekly report'."),
    days: int = typer.Option(90, help="How long it lets somebody in."),
    database: str | None = place.DATABASE,
) -> None:
    """Make a token for the control API. It is shown this once; the database keeps a hash."""
    store = place.store_of(database)
    from headcount.fleet.tokens import make_token

    made = make_token(store, role, whose, days)
    print(made)
    name = made.split(".")[1]
    print(
        f"It is not shown again. To take it back: headcount fleet token revoke {as_word(name)}",
        file=sys.stderr,
    )


@token.command()
def revoke(
    name: str = typer.Argument(help="The 16 digits that name it, between its two points."),
    database: str | None = place.DATABASE,
) -> None:
    """Take a token of the control API back: it lets nobody in any more."""
    store = place.store_of(database)
    from headcount.fleet.tokens import revoke_token

    revoke_token(store, name)
    print("The token lets nobody in any more.")


def senders(
    file: Path = typer.Argument(help="The file of hashed tokens, made if there is none."),
    names: list[str] = typer.Argument(help="Names of devices or relays, such as phone-17."),
) -> None:
    """Make a token for each device. They are shown this once; the file keeps hashes."""
    place.needs_fleet()
    from headcount.fleet.senders import add_senders

    if not file.absolute().parent.is_dir():
        raise UsageError("The folder of the file of tokens is not there. Nothing was changed.")
    for name, made in zip(names, add_senders(file, names), strict=True):
        print(f"{name} {made}")
