"""A fleet for long stories: servers that are killed and come back, and a note of what was told.

Each answer is given by just as many sampled devices as the threshold asks for, and by nobody else:
a report that is lost takes it away, and one that is counted twice changes its number.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.service.fleet_servers import Running, bearer
from tests.service.fleets import ACCOUNT
from tests.unit.fleet.devices import WRITTEN

from headcount.errors import UsageError
from headcount.fleet import core_process, ingest, relay, relay_mix, sandbox, serving
from headcount.fleet.answering import kept, reports
from headcount.fleet.core_client import Core
from headcount.fleet.device_http import Http
from headcount.fleet.door import Door
from headcount.fleet.owner_key import make_owner_key
from headcount.fleet.relay import POST_SECONDS, Relay
from headcount.fleet.senders import TokenFile, add_senders
from headcount.fleet.store import FleetStore
from headcount.fleet.task import Task
from headcount.fleet.task_file import TaskFile, read_task
from headcount.fleet.wire import Descriptor
from headcount.ledger.ledger import Ledger
from headcount.privacy.budget import Budget
from headcount.privacy.neighbours import Neighbours

EPSILON, DELTA = 20, 0.1
ROUNDS = 3
N_TOKENS = 400
TABLES = ("task", "round", "ordered", "job")
PARTITIONS = "SELECT relname FROM pg_class WHERE relname ~ '^posted_[0-9]+$' ORDER BY 1"
ID = "pg_get_serial_sequence('fleet.round', 'id')"


def nothing() -> None:
    """No edit."""


@dataclass
class Bundle:
    """One answer, and the reports of the devices that give it."""

    answer: str
    described: Descriptor
    sealed: list[bytes]
    sent: set[bytes] = field(default_factory=set)
    """Reports that may have come to the database."""


class RunningCore:
    """A core, forked; all that it keeps is in its folder."""

    def __init__(self, clients: ModuleType, folder: Path, edit: Callable[[], None]) -> None:
        self.clients, self.folder, self.edit = clients, folder, edit
        self.place = folder / "core.socket"
        self.start()

    def start(self) -> None:
        self.pid = self.clients.forked(self._serve)
        self.clients.wait_until(self._answers, 60)

    def _serve(self) -> None:
        handle = os.open(self.folder / "printed", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        os.closerange(3, 4_096)
        # All memory of a test would be copied before it is kept from swap.
        for one in (core_process, sandbox):
            one.keep_from_swap = lambda: False  # type: ignore[attr-defined]
        self.edit()
        core_process.serve(self.place, self.folder / "keys", 1, 5.0)

    def _answers(self) -> bool:
        try:
            with Core(self.place) as asked:
                asked.given_up()
        except UsageError:
            return False
        return True

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.place.unlink(missing_ok=True)


class World:
    """One database, core, ingest and relay for all stories; a ledger for each.

    edit: what is run in the core before it serves, to make a mutant of it
    """

    numbers = itertools.count()

    def __init__(
        self, server: Any, clients: ModuleType, folder: Path, edit: Callable[[], None] = nothing
    ) -> None:
        self.server, self.clients, self.folder = server, clients, folder
        self.address = server.new_database()
        self.database = self.address.rsplit("/", 1)[1]
        self.store = FleetStore(self.address)
        (folder / "core").mkdir(mode=0o700)
        self.core = RunningCore(clients, folder / "core", edit)
        self.owner = make_owner_key(folder / "owner.key")
        names = [f"device-{i}" for i in range(N_TOKENS)]
        self.tokens = add_senders(folder / "devices", names)
        self.ingest = Running(self._ingest, clients, folder / "ingest")
        self.relay = Running(self._relay, clients, folder / "relay")
        self._template = folder / "template.db"
        budget = Budget(epsilon=2.2 * EPSILON, delta=DELTA)
        Ledger(self._template, heads=folder / "no").open_account(
            ACCOUNT, budget, Neighbours.REPLACE
        )
        self.begin()
        self._import_all()

    def _import_all(self) -> None:
        """Go through one round, so that drivers that are forked find all of it imported."""
        task = self.door.apply(self.written())
        self.door.open_round(task.id, 0)
        self.door.close(task.id, 0)
        self.door.step()
        Ledger(self.book, heads=self.heads).verify()
        self.begin()

    def _ingest(self) -> Any:
        # A relay waits for as long as a list of the ingest's is old.
        ingest.LIST_SECONDS = 0.01  # type: ignore[attr-defined]
        return serving.ingest(self.address)

    def _relay(self) -> Relay:
        relay.LIST_SECONDS = 0.02  # type: ignore[attr-defined]
        relay_mix.TRY_SECONDS = 3.0
        way = Http(self.ingest.address, seconds=POST_SECONDS)
        return Relay(way, TokenFile(self.folder / "devices"), gather=0.01, delay=0.0)

    def end(self) -> None:
        for one in (self.ingest, self.relay):
            if one.pid:
                one.kill()
        self.core.kill()
        self.store.engine.dispose()

    # A story

    def begin(self) -> None:
        """An empty database, and a ledger with an account."""
        self.number = next(self.numbers)
        self.sql(f"TRUNCATE {', '.join(f'fleet.{one}' for one in TABLES)} CASCADE")
        self._drop_partitions()
        place = self.folder / f"story-{self.number}"
        if self.number:
            shutil.rmtree(self.folder / f"story-{self.number - 1}", ignore_errors=True)
        place.mkdir()
        self.book, self.heads = place / "ledger.db", place / "heads"
        shutil.copy(self._template, self.book)
        self.tasks: list[Task] = []
        self.bundles: list[Bundle] = []
        self.described: dict[tuple[bytes, int], Descriptor] = {}
        self.acked: set[bytes] = set()
        self.first_shown: dict[tuple[bytes, int], bytes] = {}
        self.used = itertools.count()
        self.was_put_back = False
        self.door = self.new_door(self.store)

    def new_door(self, store: FleetStore | None = None, lease: float = 60.0) -> Door:
        """As another process has it."""
        ledger = Ledger(self.book, heads=self.heads)
        place = self.core.place
        return Door(store or FleetStore(self.address), ledger, place, lease, self.owner)

    def written(self) -> TaskFile:
        """A task of this story."""
        expires = (datetime.now(UTC).date() + timedelta(days=30)).isoformat()
        rounds = {"every": "1d", "keep_open": "18h", "n": ROUNDS}
        named = {"task": f"task-{len(self.tasks)}", "purpose": f"story {self.number}"}
        spend = {"account": ACCOUNT, "epsilon": EPSILON}
        return read_task({**WRITTEN, **named, "expires": expires, "rounds": rounds, "spend": spend})

    def bundle(self, task: Task, described: Descriptor) -> Bundle:
        """Just as many sampled devices as are shown, with an answer that nobody else gives."""
        answer = f"answer-{len(self.bundles)}"
        sealed: list[bytes] = []
        while len(sealed) < task.terms.threshold:
            secret, name = os.urandom(32), os.urandom(16)
            if kept(task, described.round, secret)[0]:
                sealed += reports(task, described, secret, [answer], [name])
        self.bundles.append(Bundle(answer, described, sealed))
        return self.bundles[-1]

    # On the wire

    def post(self, described: Descriptor, body: bytes, token: str | None = None) -> int | None:
        """The status of one post, past the relay where it has a token; nothing where none came."""
        server = self.ingest if token is None else self.relay
        for bundle in self.bundles:
            if bundle.described == described:
                bundle.sent |= set(parts(body)) & set(bundle.sealed)
        try:
            status = server.post(described, body, **({} if token is None else bearer(token)))
        except (OSError, HTTPException):
            return None
        if status == 204 and not self.is_stored(described):
            self.acked |= set(parts(body))
        return status

    def token(self) -> str:
        """That of a device which sent nothing in this story."""
        return self.tokens[next(self.used) % N_TOKENS]

    def cut_short(self, described: Descriptor, body: bytes, n: int) -> None:
        """Send so many bytes of a request, and go away without waiting for an answer."""
        for bundle in self.bundles:
            if bundle.described == described:
                bundle.sent |= set(parts(body)) & set(bundle.sealed)
        head = (
            f"POST /rounds/{described.hash.hex()}/reports HTTP/1.1\r\nHost: x\r\n"
            f"Content-Type: application/vnd.headcount\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.ingest.port)) as line:
            line.sendall((head.encode() + body)[:n])

    def is_stored(self, described: Descriptor) -> bool:
        """Whether a round was shown; what comes to it after that counts nowhere."""
        return self.part(described.task, described.round) is not None

    def part(self, name: bytes, number: int) -> bytes | None:
        found = self.store.task(name)
        return None if found is None else self.door.ledger.stored_part(found[2], number)

    # What happens to it

    def sql(self, *statements: str) -> None:
        self.server.sql(*statements, database=self.database)

    def pass_leases(self) -> None:
        """Let the clock of the database jump past all leases."""
        self.sql("UPDATE fleet.round SET leased_until = '-infinity'")

    def crash_database(self) -> None:
        self.server.crash()
        self.server.start()

    @contextmanager
    def copying(self) -> Iterator[Any]:
        with self.server.connected(self.database) as connection, connection.transaction():
            connection.execute("SET session_replication_role = replica")
            with connection.cursor() as cursor:
                yield cursor

    def partitions(self) -> list[str]:
        with self.server.connected(self.database) as connection:
            return [name for (name,) in connection.execute(PARTITIONS).fetchall()]

    def _drop_partitions(self) -> None:
        self.sql(*(f"DROP TABLE fleet.{one}" for one in self.partitions()))

    def save(self) -> Any:
        """A copy of the database, and of what was told so far."""
        names = [*TABLES, *self.partitions()]
        found: dict[str, bytes] = {}
        with self.copying() as cursor:
            for name in names:
                columns = " (round, body)" if name.startswith("posted_") else ""
                with cursor.copy(f"COPY fleet.{name}{columns} TO STDOUT") as out:
                    found[name] = b"".join(map(bytes, out))
        return found, set(self.acked), dict(self.described), list(self.tasks)

    def put_back(self, saved: Any) -> None:
        """Put a copy in its place, as from a backup; servers are started again with it."""
        found, acked, described, tasks = saved
        for one in (self.ingest, self.relay):
            one.kill()
        self._drop_partitions()
        with self.copying() as cursor:
            cursor.execute(f"TRUNCATE {', '.join(f'fleet.{one}' for one in TABLES)} CASCADE")
            for name, rows in found.items():
                columns = ""
                if name.startswith("posted_"):
                    columns, number = " (round, body)", name.removeprefix("posted_")
                    cursor.execute(f"CREATE TABLE fleet.{name} (LIKE fleet.posted INCLUDING ALL)")
                    cursor.execute(
                        f"ALTER TABLE fleet.posted ATTACH PARTITION fleet.{name} "
                        f"FOR VALUES IN ({number})"
                    )
                with cursor.copy(f"COPY fleet.{name}{columns} FROM STDIN") as into:
                    into.write(rows)
        self.acked, self.described = set(acked), dict(described)
        self.tasks, self.was_put_back = list(tasks), True
        for one in (self.ingest, self.relay):
            one.start()


def parts(body: bytes) -> list[bytes]:
    """The reports of a post."""
    return [body[i : i + 320] for i in range(0, len(body), 320)]


def wait_for(child: int, seconds: float = 60) -> int:
    """How a child ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
        if found:
            return status
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("a driver did not end")
