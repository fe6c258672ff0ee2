"""The driver of a fleet: opens rounds when they are due, closes, counts and ends them, in a loop.

It may be killed at any moment, and any number of them may run at once: what to do is read anew each
time, every step finds what was done before it (``door.py``), and a lease keeps two from counting
one round. What it does depends on times and orders, and never on what is in reports.
"""

from __future__ import annotations

import logging
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from headcount.errors import HeadcountError
from headcount.fleet.control_store import Applied, ControlStore
from headcount.fleet.door import LEASE, Door
from headcount.fleet.owner_key import OwnerKey
from headcount.fleet.schedule import CANCEL, due
from headcount.fleet.settings import CORE, FLEET, KEY, LEDGER, settings
from headcount.ledger.ledger import Ledger

log = logging.getLogger("headcount")

BEAT = 1.0
"""Seconds between two looks at what is due."""


def turn(store: ControlStore, door: Door) -> None:
    """Do all that is due now, once. What fails is said, and keeps nothing else from being done."""
    for one in store.unfinished():
        _open_due(store, door, one)
    for what, step in (("attested", door.attest), ("counted", door.step)):
        try:
            step()
        except HeadcountError as error:
            _say(f"A round could not be {what}", error)


def _open_due(store: ControlStore, door: Door, applied: Applied) -> None:
    task = applied.task
    opened, orders = store.opened(task.id), store.orders(task.id)
    for one in due(task, applied.at, opened, orders, store.now()):
        try:
            if one.is_missed:
                store.order(task.id, one.number, CANCEL)
            else:
                door.open_round(task.id, one.number, one.window)
        except HeadcountError as error:
            _say(f"Round {one.number} of {task.file.task!r} could not be opened", error)


def drive(store: ControlStore, door: Door, is_over: Callable[[], bool], beat: float = BEAT) -> None:
    """Take turns until it is over."""
    while not is_over():
        try:
            turn(store, door)
        except HeadcountError as error:
            _say("A turn could not be taken", error)
        time.sleep(beat)


def _say(what: str, error: HeadcountError) -> None:
    # The words of headcount's own errors hold no answer, no number of reports and no password.
    log.warning("%s, and is tried again: %s", what, error)


def run(
    fleet: str,
    ledger: str | Path,
    core: str | Path,
    key: str | Path,
    beat: float = BEAT,
    lease: float = LEASE,
) -> None:
    """Drive a fleet until the process is told to end."""
    # A list, since a lock that a signal finds taken is never let go.
    told: list[int] = []
    for which in (signal.SIGTERM, signal.SIGINT):
        signal.signal(which, lambda number, _: told.append(number))
    store = ControlStore(fleet)
    drive(store, Door(store, Ledger(ledger), core, lease, OwnerKey(key)), lambda: bool(told), beat)


def main() -> None:
    """Drive the fleet that the environment names."""
    fleet, ledger, core, key = settings(FLEET, LEDGER, CORE, KEY)
    run(fleet, ledger, core, key, *map(float, sys.argv[1:3]))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    try:
        main()
    except HeadcountError as error:
        sys.exit(str(error))
