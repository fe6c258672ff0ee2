"""Long results: stored in pieces, shown again to the byte, once, and in nobody's way."""

from __future__ import annotations

import hashlib
import io
import itertools
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from headcount.ledger import pieces

pytestmark = pytest.mark.slow

SIZE = pieces.SIZE


def long_result(size: int) -> bytes:
    """Bytes that no two pieces share; made again from nothing but the size."""
    whole = io.BytesIO()
    for part in parts_of(size):
        whole.write(part)
    return whole.getvalue()


def parts_of(size: int) -> Iterator[bytes]:
    block = hashlib.shake_256(b"a long result").digest(SIZE - 8)
    for number in range(-(-size // SIZE)):
        yield (block + number.to_bytes(8, "big"))[: size - number * SIZE]


def is_long_result(rows: bytes, size: int) -> bool:
    view = memoryview(rows)
    places = itertools.count(0, SIZE)
    return len(rows) == size and all(
        view[at : at + SIZE] == part for at, part in zip(places, parts_of(size), strict=False)
    )


def store_and_show(
    _number: int, ready: Callable[[], object], clients: ModuleType, address: str, size: int
) -> dict[str, float]:
    """In a process of its own, so that its peak of memory is known."""
    before = peak_megabytes()
    ready()
    ledger = clients.new_ledger(address)
    sequence = clients.charge(ledger, "long").sequence
    rows = long_result(size)
    began = time.monotonic()
    assert ledger.store_result(sequence, rows) is rows
    stored = time.monotonic()
    del rows
    again = clients.charge(clients.Ledger(address), "long")
    shown = time.monotonic()
    assert again.result is not None
    assert is_long_result(again.result, size)
    del again
    verifying = time.monotonic()
    assert len(clients.Ledger(address).verify().results) == 1
    return {
        "store seconds": round(stored - began, 1),
        "show seconds": round(shown - stored, 1),
        "verify seconds": round(time.monotonic() - verifying, 1),
        "peak MB": peak_megabytes() - before,
    }


def peak_megabytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def test_a_long_result_is_stored_and_shown_again(
    new_address: Callable[[], str],
    clients: ModuleType,
    long: bool,
    record_property: Callable[[str, object], None],
) -> None:
    size = 2_000_000_000 if long else 10 * SIZE
    (figures,) = clients.together(1, store_and_show, clients, new_address(), size)
    record_property("figures", figures)
    print(figures)
    # Beyond what the process had before: what is stored is held once, and so is what is shown.
    assert figures["peak MB"] < 200 + 1.5 * size / 1e6


@pytest.mark.parametrize("size", [100, 3 * SIZE + 1])
@pytest.mark.parametrize("late_size", [50, 2 * SIZE, 5 * SIZE])
def test_who_comes_second_gets_what_the_first_stored(
    new_address: Callable[[], str], clients: ModuleType, size: int, late_size: int
) -> None:
    address = new_address()
    ledger = clients.new_ledger(address)
    sequence = clients.charge(ledger, "twice").sequence
    first, late = os.urandom(size), os.urandom(late_size)
    assert ledger.store_result(sequence, first) == first
    assert clients.Ledger(address).store_result(sequence, late) == first
    assert clients.charge(ledger, "twice").result == first
    ledger.verify()


def storer(
    number: int, ready: Callable[[], object], clients: ModuleType, address: str, sizes: list[int]
) -> bytes:
    ledger = clients.Ledger(address)
    rows = bytes([number]) * sizes[number]
    ready()
    found: bytes = ledger.store_result(2, rows)
    return hashlib.sha256(found).digest()


def test_storers_of_one_charge_at_the_same_moment_get_one_result(
    new_address: Callable[[], str], clients: ModuleType
) -> None:
    address = new_address()
    sizes = [5 * SIZE, 10, 3 * SIZE, SIZE, 5 * SIZE, 1]
    clients.charge(clients.new_ledger(address), "one")
    got = clients.together(len(sizes), storer, clients, address, sizes)
    assert len(set(got)) == 1
    ledger = clients.Ledger(address)
    kept = ledger.stored_result(2)
    assert hashlib.sha256(kept).digest() == got[0]
    assert len(kept) == sizes[kept[0]]
    ledger.verify()


class Midway:
    """A storer that stops after some pieces of a result, until it is let go on or killed."""

    def __init__(self, clients: ModuleType, address: str, key: str, *, stop_after: int) -> None:
        self.arrived, self._told = os.pipe()
        self._waiting, self.go = os.pipe()
        self.child = clients.forked(self._run, clients, address, key, stop_after)
        assert os.read(self.arrived, 1) == b"!"

    def _run(self, clients: ModuleType, address: str, key: str, stop_after: int) -> None:
        # It must end with the test, also when that fails.
        os.close(self.go)
        ledger = clients.Ledger(address)
        charge = clients.charge(ledger, key)
        store = ledger._store
        send, sent = store.send, 0

        def watched(connection: Any, steps: Any) -> Any:
            nonlocal sent
            found = send(connection, steps)
            sent += any("payload" in dict(values) for _, values in steps)
            if sent == stop_after:
                sent += 1
                os.write(self._told, b"!")
                os.read(self._waiting, 1)
            return found

        store.send = watched
        ledger.store_result(charge.sequence, long_result(3 * SIZE))

    def kill(self) -> None:
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)

    def finish(self) -> None:
        os.write(self.go, b"!")
        assert os.waitpid(self.child, 0)[1] == 0


@pytest.mark.parametrize("stop_after", [1, 2, 3])
def test_a_kill_in_the_middle_leaves_nothing_of_a_result(
    new_address: Callable[[], str], clients: ModuleType, stop_after: int
) -> None:
    address = new_address()
    clients.new_ledger(address)
    Midway(clients, address, "cut", stop_after=stop_after).kill()
    ledger = clients.Ledger(address)
    ledger.verify()
    charge = clients.charge(ledger, "cut")
    assert (charge.is_new, charge.result) == (False, None)
    assert ledger.store_result(charge.sequence, b"drawn again") == b"drawn again"
    assert len(ledger.entries("web")) == 1
    ledger.verify()


@pytest.mark.postgres
def test_others_charge_while_a_long_result_is_on_its_way(server: Any, clients: ModuleType) -> None:
    address = server.new_schema()
    ledger = clients.new_ledger(address)
    storing = Midway(clients, address, "long", stop_after=1)
    for number in range(5):
        charge = clients.charge(ledger, f"others-{number}")
        assert ledger.store_result(charge.sequence, b"short") == b"short"
    assert ledger.stored_result(2) is None
    storing.finish()
    assert clients.charge(ledger, "long").result == long_result(3 * SIZE)
    ledger.verify()


def second_storer(clients: ModuleType, address: str, out: Path) -> None:
    out.write_bytes(clients.Ledger(address).store_result(2, b"late and short"))


@pytest.mark.postgres
def test_who_waits_for_a_long_result_keeps_nobody_from_charging(
    server: Any, clients: ModuleType, tmp_path: Path
) -> None:
    """The second storer of one charge waits for the first, and not in a turn of its own."""
    address = server.new_schema()
    ledger = clients.new_ledger(address)
    storing = Midway(clients, address, "long", stop_after=1)
    waiting = clients.forked(second_storer, clients, address, tmp_path / "got")
    blocked = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with server.connected() as connection:
        while connection.execute(blocked).fetchone() != (1,):
            assert os.waitpid(waiting, os.WNOHANG) == (0, 0)
            time.sleep(0.01)
    clients.charge(ledger, "another")
    storing.finish()
    assert os.waitpid(waiting, 0)[1] == 0
    assert (tmp_path / "got").read_bytes() == long_result(3 * SIZE)
    ledger.verify()
