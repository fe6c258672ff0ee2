"""``headcount fleet serve``, ``relay``, ``core`` and ``aggregate``: the programs of a fleet."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import typer

from headcount.cli import fleet_places as place
from headcount.errors import UsageError

serve = typer.Typer(help="Start a server that reaches the database.", no_args_is_help=True)
METRICS = typer.Option(
    None, help="A file of tokens: who has one may read /metrics. Else nobody may."
)
LONGEST_SOCKET = 107
"""Bytes of a path that the system takes for a socket."""


@serve.command()
def ingest(
    port: int = typer.Option(8401, help="The port to listen at."),
    host: str = place.HOST,
    relays: Path | None = typer.Option(
        None, help="A file of tokens: only relays with one of them may ask. Else everybody may."
    ),
    metrics: Path | None = METRICS,
    database: str | None = place.DATABASE,
) -> None:
    """Take sealed reports into the database, until the process is ended."""
    address = place.database_of(database)
    from headcount.fleet import serving

    side = serving.ingest(address, _text(relays), _text(metrics))
    _say("ingest", host, port)
    serving.serve(side, port, host)


@serve.command()
def control(
    port: int = typer.Option(8080, help="The port to listen at."),
    host: str = place.HOST,
    delay: int = place.DELAY,
    database: str | None = place.DATABASE,
    ledger: str | None = place.LEDGER,
) -> None:
    """Answer people and programs that have a token, until the process is ended."""
    from headcount.cli.ledger import there
    from headcount.releases.accounts import ledger_place

    address = place.database_of(database)
    there(ledger)
    from headcount.fleet import control_process

    _say("control API", host, port)
    control_process.serve(address, ledger_place(ledger), port, delay, host=host)


def relay(
    ingest: str = typer.Argument(help="Where the ingest is, such as https://ingest.example."),
    devices: Path = typer.Option(help="The file of tokens of devices: headcount fleet senders."),
    token: Path | None = typer.Option(
        None, help="A file with the relay's own token, if the ingest asks for one."
    ),
    metrics: Path | None = METRICS,
    port: int = typer.Option(8402, help="The port to listen at."),
    host: str = place.HOST,
) -> None:
    """Take reports of devices, take their names off, mix them, and hand them to an ingest."""
    place.needs_fleet()
    from headcount.fleet import serving

    side = serving.relay(ingest, str(devices), _text(token), _text(metrics))
    _say("relay", host, port)
    serving.serve(side, port, host)


def aggregate(
    core: Path | None = place.CORE,
    key: Path | None = place.KEY,
    database: str | None = place.DATABASE,
    ledger: str | None = place.LEDGER,
    beat: float = typer.Option(1.0, help="Seconds between two looks at what is due.", min=0.05),
    lease: float = typer.Option(
        60.0, help="Seconds after which a silent driver loses its round to another.", min=1
    ),
) -> None:
    """Open rounds when they are due, close them, and have them counted, until it is ended."""
    from headcount.cli.ledger import there
    from headcount.fleet.settings import CORE, KEY
    from headcount.releases.accounts import ledger_place

    address = place.database_of(database)
    socket, owner = place.place_of(core, CORE), place.place_of(key, KEY)
    there(ledger)
    from headcount.fleet import driver

    print("headcount: opens, closes and counts rounds", file=sys.stderr, flush=True)
    driver.run(address, ledger_place(ledger), socket, owner, beat, lease)


def core(
    keys: Path = typer.Option(help="The folder of keys, the core's alone and in no backup."),
    socket: Path | None = place.CORE,
    workers: int = typer.Option(2, help="Processes that open reports.", min=1),
    test_root: Path | None = typer.Option(
        None, help="A folder for a root of evidence of the kind test, made if there is none."
    ),
) -> None:
    """Start the core: it has the keys, opens reports and counts, in a process without a network."""
    place.needs_fleet()
    from headcount.fleet.own_folder import own_folder
    from headcount.fleet.settings import CORE

    where = Path(place.place_of(socket, CORE)).absolute()
    if len(os.fsencode(where)) > LONGEST_SOCKET or not where.parent.is_dir():
        raise UsageError(
            f"A socket is in a folder that is there, at a path of at most {LONGEST_SOCKET} bytes. "
            "Choose another --socket. Nothing was started."
        )
    own_folder(keys, "the keys of rounds")
    more: list[str] = []
    if test_root is not None:
        from headcount.fleet.core_process import PATIENCE
        from headcount.fleet.evidence_test import TestRoot

        root = TestRoot(test_root)
        print(f"headcount: root {root.fingerprint}", file=sys.stderr)
        print(f"headcount: code {root.measurement.hex()}", file=sys.stderr, flush=True)
        more = [str(PATIENCE), str(test_root)]
    # In place of this process: what a command imports has no business where keys are.
    module = [sys.executable, "-m", "headcount.fleet.core_process"]
    os.execv(sys.executable, [*module, str(where), str(keys), str(workers), *more])  # noqa: S606


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _say(what: str, host: str, port: int) -> None:
    shown = f"[{host}]" if ":" in host else host
    print(f"headcount: {what} at http://{shown}:{port}", file=sys.stderr, flush=True)
