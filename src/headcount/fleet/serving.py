"""Start the servers of a fleet: on this machine alone unless told otherwise, and without logs.

``python -m headcount.fleet.serving ingest postgresql://ines@host/fleet --port 8401``
``python -m headcount.fleet.serving relay http://127.0.0.1:8401 --devices devices --port 8402``

At SIGTERM no connection is taken any more, and whoever waits is answered: what is on disk is
acknowledged, what is not is refused. Neither speaks TLS: what does stands in front of them.
"""

from __future__ import annotations

import argparse
import logging
import socket
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from headcount.errors import HeadcountError, MissingExtraError, UsageError
from headcount.fleet.asgi import application
from headcount.fleet.device_http import Http
from headcount.fleet.relay import POST_SECONDS, Relay
from headcount.fleet.senders import TokenFile
from headcount.fleet.upload import Side, answered

HOST = "127.0.0.1"
STOP_SECONDS = 40
"""That whoever waits is given, more than any answer takes."""
MOST_CONNECTIONS = 10_000
PENDING = 2_048


class Stopping(Side, Protocol):
    """A server that is told when it ends."""

    def stop(self) -> None:
        """Wait for nothing that need not come."""
        ...


def serve(side: Stopping, port: int, host: str = HOST) -> None:
    """Answer until the process is told to end."""
    if find_spec("uvicorn") is None or find_spec("httptools") is None:
        raise MissingExtraError("fleet", "A server of a fleet")
    import uvicorn

    from headcount.fleet.connection import Connection

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            side.stop()
            await super().shutdown(sockets)

    # What they say of an error could quote a request.
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio"):
        logging.getLogger(name).disabled = True
    config = uvicorn.Config(
        application(lambda asked: answered(side, asked)),
        loop="asyncio",
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    Server(config).run([_listening(host, port)])


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError):
        listening.close()
        raise UsageError(
            f"Nothing can listen at {host} port {port}: choose another --host or --port."
        ) from None
    listening.listen(PENDING)
    return listening


def ingest(database: str, relays: str | None = None, metrics: str | None = None) -> Stopping:
    """An ingest on a database.

    relays:  the file of tokens of those who may ask
    metrics: the file of tokens of those who may see its metrics
    """
    from headcount.fleet.ingest import Ingest
    from headcount.fleet.store import FleetStore

    return Ingest(FleetStore(database), _tokens(relays), _tokens(metrics))


def relay(
    address: str, devices: str, token: str | None = None, metrics: str | None = None
) -> Stopping:
    """A relay in front of an ingest.

    devices: the file of tokens of devices
    token:   a file with the relay's own token, if the ingest asks for one
    metrics: the file of tokens of those who may see its metrics
    """
    own = None if token is None else _own_token(token)
    headers = None if own is None else {"Authorization": f"Bearer {own}"}
    way = Http(address, headers=headers, seconds=POST_SECONDS)
    return Relay(way, TokenFile(devices), _tokens(metrics))


def _tokens(path: str | None) -> TokenFile | None:
    return None if path is None else TokenFile(path)


def _own_token(path: str) -> str:
    try:
        return Path(path).read_text("utf-8").strip()
    except (OSError, ValueError):
        raise UsageError(
            f"The relay's own token cannot be read from {path!r}. Nothing was started."
        ) from None


def main(said: list[str] | None = None) -> int:
    """Serve as the command line says."""
    where = argparse.ArgumentParser(add_help=False)
    where.add_argument("--host", default=HOST, help="where to listen")
    where.add_argument("--port", type=int, required=True)
    where.add_argument("--metrics", help="file of tokens of those who may see metrics")
    parser = argparse.ArgumentParser("python -m headcount.fleet.serving")
    kinds = parser.add_subparsers(dest="kind", required=True)
    one = kinds.add_parser("ingest", parents=[where], help="takes reports into a database")
    one.add_argument("database", help="postgresql://user@host/fleet; passwords are in ~/.pgpass")
    one.add_argument("--relays", help="file of tokens of relays")
    two = kinds.add_parser(
        "relay", parents=[where], help="takes reports of devices, and mixes them"
    )
    two.add_argument("ingest", help="such as https://ingest.example")
    two.add_argument("--devices", required=True, help="file of tokens of devices")
    two.add_argument("--token", help="file with the relay's own token")
    given = parser.parse_args(said)
    try:
        if given.kind == "ingest":
            side = ingest(given.database, given.relays, given.metrics)
        else:
            side = relay(given.ingest, given.devices, given.token, given.metrics)
        serve(side, given.port, given.host)
    except HeadcountError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
