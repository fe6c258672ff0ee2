"""kill -9 at random and at every named point: nothing is shown that was not charged."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.slow


def shown(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".new"}


def show(folder: Path, key: str, rows: bytes) -> None:
    """What the world sees; in one step, so that a kill leaves all of it or nothing."""
    draft = folder / f"{key}.new"
    draft.write_bytes(rows)
    draft.rename(folder / key)


def charge_first(ledger: Any, clients: ModuleType, folder: Path, key: str) -> None:
    """The order of a release: charge, read and draw, store, show."""
    charge = clients.charge(ledger, key)
    rows = charge.result
    if rows is None:
        rows = ledger.store_result(charge.sequence, os.urandom(64))
    show(folder, key, rows)


def show_first(ledger: Any, clients: ModuleType, folder: Path, key: str) -> None:
    """The broken order, as a control."""
    rows = os.urandom(64)
    show(folder, key, rows)
    charge = clients.charge(ledger, key)
    ledger.store_result(charge.sequence, rows)


def program(
    address: str, clients: ModuleType, folder: Path, name: str, order: Callable[..., None]
) -> None:
    ledger = clients.Ledger(address)
    for number in range(1_000_000):
        order(ledger, clients, folder, f"{name}-{number}")


def audit(ledger: Any, folder: Path) -> tuple[set[str], set[str]]:
    """Shown and charged keys, after everything that must hold at any time was checked."""
    ledger.verify()
    entries = ledger.entries("web")
    assert sum(entry.spend.rho for entry in entries) == ledger.account("web").spent.rho
    return set(shown(folder)), {entry.key for entry in entries}


def kills(
    address: str, clients: ModuleType, folder: Path, n: int, order: Callable[..., None]
) -> None:
    """Each program is killed once it has shown something, however slow the machine is."""
    dice = random.Random(7)
    for number in range(0, n, 4):
        names = [f"{number + i}" for i in range(4)]
        children = [
            clients.forked(program, address, clients, folder, name, order) for name in names
        ]
        clients.wait_until(lambda names=names: all((folder / f"{n}-0").exists() for n in names))
        time.sleep(dice.random() * 0.1)
        clients.kill_all(children)


def test_random_kills_waste_budget_and_never_leak_it(
    new_address: Callable[[], str],
    clients: ModuleType,
    tmp_path: Path,
    long: bool,
    record_property: Callable[[str, object], None],
) -> None:
    counts = []
    # A long history takes long to open, and a kill should find a release and not an opening.
    for part in range(10 if long else 1):
        folder = tmp_path / f"shown-{part}"
        folder.mkdir()
        address = new_address()
        clients.new_ledger(address, clients.PLENTY)
        kills(address, clients, folder, 100 if long else 40, charge_first)
        ledger = clients.Ledger(address)
        seen, charged = audit(ledger, folder)
        assert not seen - charged
        counts.append((len(charged), len(seen)))
        # Whoever comes back with the key pays nothing and sees what was shown, to the byte.
        spent = ledger.account("web").spent
        for key, rows in list(shown(folder).items())[:50]:
            assert clients.charge(ledger, key).result == rows
        assert ledger.account("web").spent == spent
    record_property("charged and shown", counts)
    wasted = sum(charged - seen for charged, seen in counts)
    assert wasted, "no kill fell between charge and release: the test lost its grip"


def test_the_order_that_shows_first_is_caught(
    new_address: Callable[[], str], clients: ModuleType, tmp_path: Path
) -> None:
    folder = tmp_path / "shown"
    folder.mkdir()
    address = new_address()
    clients.new_ledger(address, clients.PLENTY)
    kills(address, clients, folder, 40, show_first)
    seen, charged = audit(clients.Ledger(address), folder)
    assert seen - charged


# Where a release can be cut: after the n-th time that something of this name happened.
POINTS = {
    "before the charge begins": "queue 1",
    "before the charge commits": "commit 1",
    "charge committed, perhaps not on disk": "settling 1",
    "charge on disk, head outside not moved": "settled 1",
    "head outside moved": "advanced 1",
    "data read, noise drawn": "drawn 1",
    "before the result's turn": "queue 2",
    "before the result commits": "commit 2",
    "result committed, perhaps not on disk": "settling 2",
    "result on disk, head outside not moved": "settled 2",
    "result stored, not shown": "advanced 2",
    "shown": "shown 1",
}


def killed_at(point: str, address: str, clients: ModuleType, folder: Path, key: str) -> None:
    """A release that kills itself at a point. The ledger is watched from outside, not prepared."""
    from headcount.ledger.heads import HeadFile
    from headcount.ledger.stores.store import Store

    ledger = clients.Ledger(address)
    counts: dict[str, int] = {}

    def reached(name: str) -> None:
        counts[name] = counts.get(name, 0) + 1
        if point == f"{name} {counts[name]}":
            os.kill(os.getpid(), signal.SIGKILL)

    store = type(ledger._store)
    queue, commit, settle, advance = store.queue, store.commit, store.settle, HeadFile.advance

    def watched_queue(self: Store) -> Any:
        reached("queue")
        return queue(self)

    def watched_commit(self: Store, connection: Any) -> int:
        reached("commit")
        return commit(self, connection)

    def watched_settle(self: Store, head: Any, ticket: int | None = None) -> None:
        reached("settling")
        settle(self, head, ticket)
        reached("settled")

    def watched_advance(self: HeadFile, head: Any) -> None:
        advance(self, head)
        reached("advanced")

    store.queue = watched_queue
    store.commit = watched_commit
    store.settle = watched_settle
    HeadFile.advance = watched_advance  # type: ignore[method-assign]
    charge = clients.charge(ledger, key)
    rows = charge.result or os.urandom(64)
    reached("drawn")
    if charge.result is None:
        rows = ledger.store_result(charge.sequence, rows)
    show(folder, key, rows)
    reached("shown")


CHARGED_FROM = list(POINTS).index("charge committed, perhaps not on disk")


def test_a_kill_at_each_named_point_keeps_the_promise(
    new_address: Callable[[], str], clients: ModuleType, tmp_path: Path
) -> None:
    folder = tmp_path / "shown"
    folder.mkdir()
    address = new_address()
    clients.new_ledger(address, clients.PLENTY)
    # On PostgreSQL a charge is one statement, which commits by itself.
    is_file = "://" not in address
    points = {n: p for n, p in POINTS.items() if is_file or not p.startswith("commit")}
    for number, (name, point) in enumerate(points.items()):
        child = clients.forked(killed_at, point, address, clients, folder, f"key-{number}")
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), f"the point was never reached: {name}"
        assert os.WTERMSIG(status) == signal.SIGKILL
        seen, charged = audit(clients.Ledger(address), folder)
        assert not seen - charged, name
        is_charged = list(POINTS).index(name) >= CHARGED_FROM
        assert (f"key-{number}" in charged) == is_charged, name
        assert (f"key-{number}" in seen) == (name == "shown"), name

        # Coming back finishes the release, and charges only if nothing was charged.
        child = clients.forked(killed_at, "never", address, clients, folder, f"key-{number}")
        assert os.waitpid(child, 0)[1] == 0, name
    ledger = clients.Ledger(address)
    seen, charged = audit(ledger, folder)
    assert seen == charged
    assert len(ledger.entries("web")) == len(points)
