"""A standby takes over, or a server crashes before its log is on disk: nothing is lost unseen."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
import pytest

from headcount.errors import LedgerError

pytestmark = [pytest.mark.slow, pytest.mark.postgres]


class Pair:
    """A primary and its standby, and the address of whichever of them can be written to."""

    def __init__(self, primary: Any) -> None:
        self.primary, self.standby = primary, type(primary)(of=primary)

    @property
    def address(self) -> str:
        ports = f"{self.primary.port},{self.standby.port}"
        return (
            f"postgresql://postgres@/postgres?host=127.0.0.1,127.0.0.1&port={ports}"
            "&target_session_attrs=read-write"
        )

    def cut(self) -> None:
        """The standby hears no more."""
        self.standby.sql("ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")
        until(lambda: not self.senders(), "the standby went on listening")

    def in_step(self) -> None:
        """A charge is acknowledged when the standby has it, from now on."""
        until(lambda: self.senders() == ["streaming"], "the standby does not listen")
        self.primary.sql(
            "ALTER SYSTEM SET synchronous_commit = remote_apply",
            "ALTER SYSTEM SET synchronous_standby_names = '*'",
            "SELECT pg_reload_conf()",
        )
        shown = "SELECT sync_state FROM pg_stat_replication"
        until(lambda: ask(self.primary, shown) == ["sync"], "the standby is not waited for")

    def senders(self) -> list[Any]:
        return ask(self.primary, "SELECT state FROM pg_stat_replication")

    def fail_over(self) -> None:
        self.primary.crash()
        self.standby.promote()


def ask(server: Any, query: str) -> list[Any]:
    with psycopg.connect(server.address(), autocommit=True) as connection:
        return [row[0] for row in connection.execute(query)]


def until(is_so: Callable[[], bool], otherwise: str) -> None:
    for _ in range(600):
        if is_so():
            return
        time.sleep(0.05)
    pytest.fail(otherwise)


@pytest.fixture
def pair(server_of_its_own: Any) -> Iterator[Pair]:
    found = Pair(server_of_its_own)
    yield found
    found.standby.close()


def test_a_standby_that_lags_is_refused_when_it_takes_over(
    pair: Pair, clients: ModuleType, tmp_path: Path
) -> None:
    ledger, other = clients.new_ledger(pair.address), clients.Ledger(pair.primary.address())
    clients.charge(ledger, "both have it")
    (at,) = ask(pair.primary, "SELECT pg_current_wal_insert_lsn()::text")
    has_it = f"SELECT pg_last_wal_replay_lsn() >= '{at}'"
    until(lambda: ask(pair.standby, has_it) == [True], "the standby never has it")
    pair.cut()
    clients.charge(other, "only the primary has it")
    made = clients.charge(ledger, "nor this")
    pair.fail_over()
    assert made.sequence == 4
    for _ in range(2):
        with pytest.raises(LedgerError, match="entry 4, which this machine saw, is not in it"):
            clients.charge(ledger, "after the failover")
    with pytest.raises(LedgerError, match="entry 4, which this machine saw, is not in it"):
        ledger.store_result(made.sequence, b"what must not be shown")
    with pytest.raises(LedgerError, match="ends at entry 2 and had come to entry 4"):
        ledger.verify()
    with pytest.raises(LedgerError, match="ends at entry 2 and had come to entry 4"):
        clients.Ledger(pair.standby.address())
    # A machine that never saw what was lost has no way to know, and writes over it.
    stranger = clients.Ledger(pair.standby.address(), heads=tmp_path / "another machine")
    for number in range(4):
        clients.charge(stranger, f"stranger-{number}")
    with pytest.raises(LedgerError, match="entry 4, which this machine saw, is not in it"):
        clients.charge(ledger, "after others went on")


def test_a_standby_in_step_takes_over_and_nothing_is_lost(pair: Pair, clients: ModuleType) -> None:
    ledger = clients.new_ledger(pair.address, clients.PLENTY)
    pair.in_step()
    acknowledged: list[str] = []
    doubts: list[str] = []

    def write(name: int) -> None:
        mine = clients.Ledger(pair.address)
        for number in range(15):
            while True:
                try:
                    clients.charge(mine, f"{name}-{number}")
                    break
                except LedgerError as error:
                    if "trusted" in str(error):
                        doubts.append(str(error))
                        return
                    time.sleep(0.05)
            acknowledged.append(f"{name}-{number}")

    writers = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    for writer in writers:
        writer.start()
    until(lambda: len(acknowledged) >= 20, "nobody writes")
    told = list(acknowledged)
    pair.fail_over()
    for writer in writers:
        writer.join()
    keys = [entry.key for entry in ledger.entries("web")]
    assert sorted(keys) == sorted(set(keys))
    assert set(told) < set(acknowledged) == set(keys)
    assert not doubts
    assert ledger.account("web").spent.rho * 100 == len(keys)
    assert clients.charge(ledger, "charging goes on").is_new
    ledger.verify()
    clients.Ledger(pair.standby.address()).verify()


def test_a_wait_for_the_standby_that_is_ended_acknowledges_nothing(
    pair: Pair, clients: ModuleType
) -> None:
    """To the server that is a warning beside a success."""
    ledger = clients.new_ledger(pair.address)
    pair.in_step()
    clients.charge(ledger, "before")
    pair.standby.crash()
    said: list[str] = []

    def charge() -> None:
        try:
            clients.charge(ledger, "key")
        except LedgerError as error:
            said.append(str(error))

    thread = threading.Thread(target=charge)
    thread.start()
    waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    until(lambda: bool(ask(pair.primary, waiting)), "nobody waits for the standby")
    pair.primary.sql(f"SELECT pg_cancel_backend(pid) FROM ({waiting}) AS waiting")
    thread.join()
    assert len(said) == 1
    assert "whether a standby has it is unknown" in said[0]
    assert "Nothing is released" in said[0]
    pair.standby.start()
    until(lambda: pair.senders() == ["streaming"], "the standby does not come back")
    assert not clients.charge(ledger, "key").is_new, "the charge stays"


def test_a_crash_between_a_charge_and_its_flush_acknowledges_nothing_that_is_lost(
    server_of_its_own: Any, clients: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = server_of_its_own
    # Its commits would flush everybody's.
    server.sql("ALTER SYSTEM SET autovacuum = off", "SELECT pg_reload_conf()")
    address = server.new_schema()
    schema = address.rsplit("%3D", 1)[1]
    clients.new_ledger(address)
    count = f"SELECT count(*) FROM {schema}.entries"
    ledgers = [clients.Ledger(address) for _ in range(4)]
    # Whoever would flush by and by stands still; then it dies, and takes the server with it.
    flusher = flusher_of(server)
    assert flusher is not None
    os.kill(flusher, signal.SIGSTOP)
    all_are_in, crashed = threading.Barrier(5, timeout=300), threading.Event()
    settle = clients.postgres.PostgresStore.settle
    waited: set[int] = set()

    def late(store: Any, head: Any, ticket: int | None = None) -> None:
        if id(store) not in waited:
            waited.add(id(store))
            all_are_in.wait()
            crashed.wait()
            if store is ledgers[0]._store:
                # One of them comes back by a new connection, and looks for its entry.
                store.engine.dispose()
        settle(store, head, ticket)

    monkeypatch.setattr(clients.postgres.PostgresStore, "settle", late)
    said: dict[int, str] = {}

    def charge(number: int) -> None:
        try:
            said[number] = str(clients.charge(ledgers[number], f"key-{number}").is_new)
        except LedgerError as error:
            said[number] = str(error)

    threads = [threading.Thread(target=charge, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    all_are_in.wait()
    assert ask(server, count) == [5], "all four are committed"
    os.kill(flusher, signal.SIGKILL)
    # It answers for a moment longer: until it has seen that one of its own is dead.
    until(lambda: flusher_of(server) not in (None, flusher), "the server does not come back")
    assert ask(server, count) == [1], "and lost"
    crashed.set()
    for thread in threads:
        thread.join()
    assert "which this machine saw, is not in it" in said[0]
    assert [said[number] for number in (1, 2, 3)] == ["True"] * 3, "these charged anew"
    assert clients.charge(ledgers[0], "key-0").is_new, "nothing was told, so nothing was seen"
    keys = sorted(entry.key for entry in ledgers[0].entries("web"))
    assert keys == [f"key-{number}" for number in range(4)]
    for ledger in ledgers:
        ledger.verify()


def flusher_of(server: Any) -> int | None:
    """The process that flushes the server's log by and by, if the server answers."""
    question = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
    try:
        found = ask(server, question)
    except psycopg.OperationalError:
        return None
    return int(found[0]) if found else None
