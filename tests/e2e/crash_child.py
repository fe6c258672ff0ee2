"""A program that releases and shows, and kills itself at a named point of the door.

The points are before and after every call that a release makes of the ledger, the engine and the
file system. A program that is told to die at the n-th does so by SIGKILL, at that very moment: no
clock decides, so a busy machine changes nothing. Programs are forked from one that has loaded what
they need; none of it holds an engine or a connection.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

import headcount as hc
from headcount.ledger.account import Charge, Opening
from headcount.ledger.heads import HeadFile
from headcount.ledger.ledger import Ledger
from headcount.ledger.stores.store import Writer
from headcount.releases import run
from headcount.results.release import Release

WATCHED: list[tuple[Any, str]] = [
    (Ledger, "known"),
    (Ledger, "charge"),
    (Ledger, "store_result"),
    (Writer, "run"),
    (Writer, "finish"),
    (HeadFile, "advance"),
    (run, "_withholding_engine_errors"),
    (Release, "to_bytes"),
]


class Points:
    """Counts the points that are passed, and dies at one of them."""

    def __init__(self, last: int) -> None:
        self.last, self.passed = last, 0

    def __call__(self) -> None:
        self.passed += 1
        if self.passed == self.last:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def call(*arguments: Any, **named: Any) -> Any:
            self()
            value = original(*arguments, **named)
            self()
            return value

        setattr(owner, name, call)


def events() -> pa.Table:
    return pa.table({"user": list(range(2000)), "group": [str(i % 3) for i in range(2000)]})


def show(folder: Path, key: str, payload: bytes) -> None:
    """All at once: a kill while writing shows nothing. What was shown before must be the same."""
    draft = folder / f"draft-{key}"
    draft.write_bytes(payload)
    place = folder / "shown" / key
    if place.exists() and place.read_bytes() != payload:
        (folder / "differs").mkdir(exist_ok=True)
        draft.rename(folder / "differs" / key)
    else:
        draft.rename(place)


def release_and_show(folder: Path, key: str, points: Points) -> None:
    """A user's program: showing is putting a file where the world can see it."""
    data = hc.open(events(), user="user", account="crash", ledger=folder / "ledger.db")
    plan = data.count_users(by="group", spend=hc.Budget(epsilon="0.1"))
    for owner, name in WATCHED:
        points.watch(owner, name)
    release = plan.release(key=key, fresh=True, progress=lambda _stage: points())
    points()
    show(folder, key, release.to_bytes())
    points()


def charge_only_after_showing(folder: Path, key: str, points: Points) -> None:
    """The broken order, as a control: the rows leave, and the charge is committed later."""
    original_charge, original_store = Ledger.charge, Ledger.store_result
    held: dict[str, object] = {}

    def charge(_self: Ledger, opening: Opening, **arguments: object) -> Charge:
        held.update(arguments, opening=opening)
        return Charge(0, True, key, "2026-01-01T00:00:00+00:00", None)

    def store(self: Ledger, _sequence: int, payload: bytes) -> bytes:
        show(folder, key, payload)
        points()
        made = original_charge(self, **held)  # type: ignore[arg-type]
        return original_store(self, made.sequence, payload)

    Ledger.charge, Ledger.store_result = charge, store  # type: ignore[method-assign, assignment]


def in_a_fork(job: Callable[[], None]) -> None:
    child = os.fork()
    if child == 0:
        job()
        os._exit(0)
    os.waitpid(child, 0)


def load_what_a_release_loads() -> None:
    """Import once, before the forks; an engine itself must never be forked."""
    reader, writer = os.pipe()

    def release_once() -> None:
        with tempfile.TemporaryDirectory() as place:
            budget = hc.Budget(epsilon=1)
            data = hc.open(
                events(), user="user", account="x", budget=budget, ledger=f"{place}/l.db"
            )
            data.count_users(by="group", spend=budget).release()
        os.write(writer, "\n".join(list(sys.modules)).encode())

    in_a_fork(release_once)
    os.close(writer)
    with os.fdopen(reader) as lines:
        for name in lines.read().split():
            with contextlib.suppress(Exception):
                importlib.import_module(name)


def main() -> None:
    folder = Path(sys.argv[1])
    load_what_a_release_loads()
    print("ready", flush=True)
    for line in sys.stdin:
        key, last, order = line.split()

        def job(key: str = key, last: str = last, order: str = order) -> None:
            points = Points(int(last))
            if order == "charge-last":
                charge_only_after_showing(folder, key, points)
            release_and_show(folder, key, points)
            print(f"passed {points.passed}", flush=True)

        in_a_fork(job)
        print("ended", flush=True)


if __name__ == "__main__":
    main()
