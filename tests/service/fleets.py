"""A fleet as it is run: a database, a ledger, a core in a process of its own, and devices."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.unit.fleet.devices import WRITTEN, secret, sent

from headcount.errors import UsageError
from headcount.fleet.answering import kept
from headcount.fleet.core_client import Core
from headcount.fleet.door import Door
from headcount.fleet.migrations import functions_0001, functions_0002, functions_0003
from headcount.fleet.owner_key import OwnerKey, make_owner_key
from headcount.fleet.store import FleetStore
from headcount.fleet.task import Task
from headcount.fleet.task_file import TaskFile, read_task
from headcount.fleet.wire import Descriptor
from headcount.ledger.ledger import Ledger
from headcount.privacy.budget import Budget
from headcount.privacy.neighbours import Neighbours
from headcount.results.release import Release

ACCOUNT = "app-users"
CANARY = "canary-0123456789"
SAID: list[str | None] = ["mail"] * 400 + ["maps"] * 300 + [CANARY] * 3 + [None] * 47
SERVE = "from headcount.fleet.core_process import *; import sys; a = sys.argv; "
SERVE += "serve(a[1], a[2], int(a[3]), float(a[4]))"


class RunningCore:
    """A core in a folder of its own; what it prints is kept.

    edit:      what is run before it serves, to make a mutant of it
    test_root: where the root of its evidence is, if it shows any
    """

    def __init__(
        self, folder: Path, patience: float = 30.0, edit: str = "", test_root: str | Path = ""
    ) -> None:
        self.folder, self.place = folder, folder / "core.socket"
        self.patience, self.edit, self.test_root = patience, edit, str(test_root)
        self.start()

    def start(self) -> None:
        place, keys = str(self.place), str(self.folder / "keys")
        command = [sys.executable, "-m", "headcount.fleet.core_process", place, keys, "2"]
        if self.edit:
            command[1:3] = ["-c", f"{self.edit}\n{SERVE}"]
        with (self.folder / "printed").open("ab") as printed:
            self.process = subprocess.Popen(
                [*command, str(self.patience), self.test_root], stdout=printed, stderr=printed
            )
        end = time.monotonic() + 60
        while True:
            assert self.process.poll() is None, (self.folder / "printed").read_text()
            try:
                with Core(self.place) as asked:
                    asked.given_up()
                return
            except UsageError:
                assert time.monotonic() < end
                time.sleep(0.02)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.place.unlink(missing_ok=True)

    def children(self) -> list[int]:
        pid = self.process.pid
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def key_bytes(self, task: Task, number: int) -> bytes:
        return (self.folder / "keys" / f"{task.id.hex()}-{number}.key").read_bytes()


class Fleet:
    """A database and a ledger that can pay for one task of two rounds, and a little more."""

    def __init__(self, server: Any, folder: Path, core: RunningCore, epsilon: float = 1.3) -> None:
        self.server, self.folder, self.core = server, folder, core
        self.frozen: list[int] = []
        self.address = server.new_database()
        self.book: str | Path = folder / "ledger.db"
        self.open_account(self.book, epsilon)

    def open_account(self, book: str | Path, epsilon: float = 1.3) -> None:
        self.book = book
        budget = Budget(epsilon=epsilon, delta=1e-6)
        Ledger(book).open_account(ACCOUNT, budget, Neighbours.REPLACE)

    @property
    def database(self) -> str:
        return str(self.address.rsplit("/", 1)[1])

    def door(self, lease: float = 60.0) -> Door:
        """As another process has it: with connections of its own."""
        store, ledger = FleetStore(self.address), Ledger(self.book)
        return Door(store, ledger, self.core.place, lease, self.owner)

    @property
    def key(self) -> Path:
        return self.folder / "owner.key"

    @property
    def owner(self) -> OwnerKey:
        return make_owner_key(self.key)

    def mutate(self, function: str, shipped: str, instead: str) -> None:
        """Put a function of the server in the place of the one that is shipped."""
        self.door()
        # As the newest step left it.
        steps = (functions_0003, functions_0002, functions_0001)
        texts = [text for step in steps for text in step.functions()]
        text = next(one for one in texts if f"FUNCTION fleet.{function}(" in one)
        assert shipped in text
        mutant = text.replace(shipped, instead).replace("CREATE FUNC", "CREATE OR REPLACE FUNC")
        self.sql(mutant)

    def put_back(self, saved: str) -> None:
        """Put the copy of the database of this name in its place, as from a backup."""
        self.address = self.server.address(saved)

    def save(self) -> str:
        """Copy the database as it is."""
        saved = f"{self.database}_saved"
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'"
        self.server.sql(end.format(self.database))
        self.server.sql(f"CREATE DATABASE {saved} TEMPLATE {self.database}")
        return saved

    def sql(self, statement: str, *values: Any) -> list[Any]:
        with self.server.connected(self.database) as connection:
            found = connection.execute(statement, values or None)
            return list(found.fetchall()) if found.description else []

    def partitions(self) -> list[str]:
        found = self.sql("SELECT relname FROM pg_class WHERE relname ~ '^posted_[0-9]+$'")
        return sorted(name for (name,) in found)

    def states(self) -> list[tuple[str, bool]]:
        return [(a, b) for a, b in self.sql("SELECT state, has_ended FROM fleet.round ORDER BY id")]

    def is_in_order(self, task: Task, shown: int) -> None:
        """One charge, a part for each round that was released, no key and no post left."""
        history = Ledger(self.book).verify()
        assert history.n_charges == 1
        assert len(history.parts) == shown
        states = self.states()
        assert [state for state, _ in states].count("released") == shown
        assert all(ended for _, ended in states)
        assert self.partitions() == []
        for number in range(len(states)):
            assert self.core.key_bytes(task, number) == b""


def written(**more: Any) -> TaskFile:
    expires = (datetime.now(UTC).date() + timedelta(days=30)).isoformat()
    rounds = {"every": "1d", "keep_open": "18h", "n": 2}
    return read_task({**WRITTEN, "expires": expires, "rounds": rounds, **more})


def reports(
    task: Task, descriptor: Descriptor, said: Sequence[str | None] = SAID, first: int = 0
) -> list[bytes]:
    """One report of each device."""
    return [sent(task, descriptor, first + d, one)[0] for d, one in enumerate(said)]


def cut(sealed: Sequence[bytes], size: int) -> list[bytes]:
    """Reports as posts of so many."""
    return [b"".join(sealed[i : i + size]) for i in range(0, len(sealed), size)]


def round_id(door: Door, task: Task, number: int = 0) -> int:
    found = door.store.round(task.id, number)
    assert found is not None
    return found.id


def upload(door: Door, task: Task, posts: Sequence[bytes], number: int = 0) -> bool:
    return door.store.take(round_id(door, task, number), posts)


def truth(
    task: Task, number: int = 0, said: Sequence[str | None] = SAID, first: int = 0
) -> dict[str, int]:
    """What the round must show: the sampled devices of each answer, from the threshold on."""
    true_counts = Counter(
        one
        for d, one in enumerate(said)
        if one is not None and kept(task, number, secret(first + d))[0]
    )
    rate, least = float(task.terms.rate), task.terms.threshold
    return {one: round(n / rate) for one, n in sorted(true_counts.items()) if n >= least}


def counts(release: Release | None) -> dict[str, int]:
    assert release is not None
    rows = release.to_arrow()
    return dict(zip(rows["group"].to_pylist(), rows["count"].to_pylist(), strict=True))
