"""``headcount fleet allow``, ``withdraw`` and ``allowed``: which code may have keys of rounds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from headcount.cli import fleet_places as place
from headcount.screens import visible

if TYPE_CHECKING:
    from headcount.fleet.allowed_file import AllowedFile

MEASUREMENT = typer.Argument(help="96 hexadecimal digits, as headcount fleet core prints them.")
SOURCE = typer.Option("", help="Where the code is from, such as the digest of its sources.")


def allow(
    measurement: str = MEASUREMENT,
    version: str = typer.Option("", help="Which version of the code it is."),
    source: str = SOURCE,
    key: Path | None = place.KEY,
    database: str | None = place.DATABASE,
) -> None:
    """Allow code to have keys of rounds: sign it into the log that devices are sent."""
    _add("allow", measurement, key, database, version, source)


def withdraw(
    measurement: str = MEASUREMENT,
    key: Path | None = place.KEY,
    database: str | None = place.DATABASE,
) -> None:
    """Withdraw code that was allowed: devices that see the log answer it no more."""
    _add("withdraw", measurement, key, database)


def allowed(key: Path | None = place.KEY, database: str | None = place.DATABASE) -> None:
    """Show the log, and let the database catch up with the file beside the owner's key."""
    log = _log(key, database)
    log.publish()
    for one in log.entries:
        said = one.said
        words = " ".join(visible(said[name]) for name in ("version", "source") if said[name])
        print(f"{said['act']:<8}  {said['measurement']}  {words}".rstrip())
    print(f"{len(log.measurements)} allowed now.")
    if log.entries:
        print(f"For apps to pin: seen=({len(log.entries)}, '{log.entries[-1].hash.hex()}')")


def _add(act: str, measurement: str, key: Path | None, database: str | None, *more: str) -> None:
    is_new = _log(key, database).add(act, measurement, *more)
    print("Signed. Devices hear of it when they ask next." if is_new else "It is so already.")


def _log(key: Path | None, database: str | None) -> AllowedFile:
    from headcount.fleet.settings import KEY

    store = place.store_of(database)
    from headcount.fleet.allowed_file import AllowedFile

    return AllowedFile(place.place_of(key, KEY), store)
