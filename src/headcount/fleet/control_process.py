"""The control API in a process of its own, for this machine; what speaks TLS stands before it."""

from __future__ import annotations

import sys
from pathlib import Path

from headcount.errors import HeadcountError
from headcount.fleet.control import Control
from headcount.fleet.control_app import create_app
from headcount.fleet.control_store import ControlStore
from headcount.fleet.schedule import DELAY
from headcount.fleet.settings import FLEET, LEDGER, settings

HOST = "127.0.0.1"
MOST_CONNECTIONS = 1_000


def serve(
    fleet: str, ledger: str | Path, port: int, delay: int = DELAY, *, host: str = HOST
) -> None:
    """Answer until the process is ended.

    delay: seconds from the end of a round to the moment that it is shown
    """
    import uvicorn

    from headcount.fleet.connection import Connection

    app = create_app(Control(ControlStore(fleet), ledger, delay))
    # Paths hold names of tasks and jobs, which belong in no log of ours.
    uvicorn.run(
        app,
        host=host,
        port=port,
        http=Connection,
        limit_concurrency=MOST_CONNECTIONS,
        access_log=False,
        log_level="warning",
        server_header=False,
    )


if __name__ == "__main__":
    try:
        fleet, ledger = settings(FLEET, LEDGER)
        port, *delay = map(int, sys.argv[1:3])
        serve(fleet, ledger, port, *delay)
    except HeadcountError as error:
        sys.exit(str(error))
