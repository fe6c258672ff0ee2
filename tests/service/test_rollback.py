"""A ledger is put back to an earlier day under programs that use it: the next write finds out.

The copy that is put back is in perfect order. What it lacks is what this machine saw.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
import pyarrow as pa
import pytest

import headcount as hc
from headcount.errors import LedgerError
from headcount.ledger.ledger import Ledger

BUDGET = hc.Budget(rho=1, delta=1e-6)
TABLE = pa.table({"user": list(range(500)), "group": ["a"] * 500})
LAST = 7
"""An account, and three releases with a charge and a result each."""
GONE = rf"entry {LAST}, which this machine saw, is not in it any more"
SHORT = rf"ends at entry 3 and had come to entry {LAST}"


class Place:
    """A ledger's database, and one way to put it back to how it was after its third entry."""

    def __init__(self, way: str, address: str, server: Any, folder: Path) -> None:
        self.way, self.address, self.server = way, address, server
        self.copy = str(folder / "copy.db") if server is None else address + "_copy"
        self.name = address.rsplit("/", 1)[1]

    def back_up(self) -> None:
        if self.server is None:
            copied(self.address, self.copy)
        else:
            # A database in use cannot be copied; whoever used it comes back.
            self.server.sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                f"WHERE datname = '{self.name}'",
                f"CREATE DATABASE {self.name}_copy TEMPLATE {self.name}",
            )

    def put_back(self) -> None:
        if self.way == "row by row":
            self.cut()
        elif self.way == "onto the file":
            copied(self.copy, self.address)
        elif self.way == "another file":
            for ending in ("-wal", "-shm"):
                Path(self.address + ending).unlink(missing_ok=True)
            copied(self.copy, self.address + ".new")
            os.replace(self.address + ".new", self.address)
        else:
            self.server.sql(
                f"DROP DATABASE {self.name} WITH (FORCE)",
                f"CREATE DATABASE {self.name} TEMPLATE {self.name}_copy",
            )

    def cut(self) -> None:
        """As its owner can: triggers off, rows gone, sums to match."""
        cuts = [f"DELETE FROM {table} WHERE sequence > 3" for table in ("entries", "pieces")]
        cuts.append("UPDATE accounts SET rho_spent = rho_spent / 3")
        if self.server is None:
            with sqlite3.connect(self.address) as raw:
                triggers = raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
                for statement in [f"DROP TRIGGER {name}" for (name,) in triggers] + cuts:
                    raw.execute(statement)
            raw.close()
        else:
            self.server.sql("SET session_replication_role = replica", *cuts, database=self.name)


def copied(source: str, target: str) -> None:
    old, new = sqlite3.connect(source), sqlite3.connect(target)
    old.backup(new)
    old.close()
    new.close()


WAYS = [
    "onto the file",
    "another file",
    "row by row",
    pytest.param("dropped and made again", marks=pytest.mark.postgres),
    pytest.param("row by row on a server", marks=pytest.mark.postgres),
]


@pytest.fixture(params=WAYS)
def place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    monkeypatch.setenv("HEADCOUNT_HEADS", str(tmp_path / "heads"))
    way = request.param.removesuffix(" on a server")
    if way == "dropped and made again" or way != request.param:
        server = request.getfixturevalue("server")
        yield Place(way, server.new_database(), server, tmp_path)
    else:
        yield Place(way, str(tmp_path / "ledger.db"), None, tmp_path)


def released(data: Any) -> int:
    plan = data.count_users(by="group", groups=["a"], bound=1, spend=hc.Budget(rho="0.25"))
    return plan.release(fresh=True).to_arrow().num_rows


def used(place: Place, after_the_copy: int = 2) -> Any:
    """A dataset in use: one release before the copy was made, and some after it."""
    data = hc.open(TABLE, user="user", account="web", budget=BUDGET, ledger=place.address)
    released(data)
    place.back_up()
    for _ in range(after_the_copy):
        released(data)
    return data


def test_programs_that_are_running_notice_at_their_next_write(
    place: Place, clients: ModuleType, tmp_path: Path
) -> None:
    Ledger(place.address).open_account("web", BUDGET)
    running, new = (clients.other_process(place.address) for _ in range(2))
    assert running("open") == "open", "it has seen one entry, and its machine will see more"
    data = used(place)
    place.put_back()
    for _ in range(2):
        with pytest.raises(LedgerError, match=GONE):
            released(data)
    assert f"entry {LAST}, which this machine saw" in running("key")
    assert "had come to entry 7" in new("key")
    with pytest.raises(LedgerError, match=SHORT):
        data.ledger.verify()
    with pytest.raises(LedgerError, match="treat all of its budgets as spent"):
        data.ledger.open_account("another", BUDGET)
    with pytest.raises(LedgerError, match=SHORT):
        hc.open(TABLE, user="user", account="web", ledger=place.address)
    elsewhere = Ledger(place.address, heads=tmp_path / "another machine")
    assert len(elsewhere.entries("web")) == 1, "nothing was written to what was put back"


def test_a_charge_that_was_put_back_shows_nothing(place: Place, clients: ModuleType) -> None:
    ledger = used(place).ledger
    charge = clients.charge(ledger, "key")
    place.put_back()
    with pytest.raises(LedgerError, match=f"entry {LAST + 1}, which this machine saw") as caught:
        ledger.store_result(charge.sequence, b"rows")
    assert "Nothing was charged" not in str(caught.value), "it was, and may be lost"


def test_a_copy_that_others_went_on_with_is_noticed(
    place: Place, clients: ModuleType, tmp_path: Path
) -> None:
    """Its numbers have come as far as ours, or farther."""
    data = used(place)
    place.put_back()
    elsewhere = Ledger(place.address, heads=tmp_path / "another machine")
    for number in range(LAST):
        clients.charge(elsewhere, f"elsewhere-{number}")
    with pytest.raises(LedgerError, match=GONE):
        released(data)
    with pytest.raises(LedgerError, match=f"entry {LAST} is not the one that this machine saw"):
        Ledger(place.address)


def test_deleted_heads_do_not_deceive_a_program_that_is_running(
    place: Place, tmp_path: Path
) -> None:
    data = used(place)
    place.put_back()
    for path in (tmp_path / "heads").iterdir():
        path.unlink()
    with pytest.raises(LedgerError, match=GONE):
        released(data)


def test_a_copy_elsewhere_is_held_to_what_was_seen_of_the_ledger(
    place: Place, clients: ModuleType
) -> None:
    """Under another path, in another database, or by another name of the same host."""
    data = used(place)
    with pytest.raises(LedgerError, match=SHORT):
        Ledger(place.copy)
    if place.server is not None:
        place.put_back()
        by_name = place.address.replace("127.0.0.1", "localhost")
        with pytest.raises(LedgerError, match=SHORT):
            Ledger(by_name)
    else:
        copied(place.address, place.copy)
        copy = Ledger(place.copy)
        assert clients.charge(copy, "key").is_new
        with pytest.raises(LedgerError, match=f"entry {LAST + 1}, which this machine saw"):
            released(data)


@pytest.mark.postgres
def test_connections_that_were_cut_do_not_hide_it(server: Any, clients: ModuleType) -> None:
    """The server is gone for a moment and comes back with an older ledger."""
    address = server.new_database()
    name = address.rsplit("/", 1)[1]
    ledger = clients.new_ledger(address)
    Place("", address, server, Path()).back_up()
    clients.charge(ledger, "key")
    with psycopg.connect(address) as held:  # somebody else is using it, too
        server.sql(
            f"DROP DATABASE {name} WITH (FORCE)", f"ALTER DATABASE {name}_copy RENAME TO {name}"
        )
        with pytest.raises(psycopg.OperationalError):
            held.execute("SELECT 1")
    with pytest.raises(LedgerError, match="entry 2, which this machine saw"):
        clients.charge(ledger, "key")
