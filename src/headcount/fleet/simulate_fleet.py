"""The fleet that a simulation runs: its programs, what it pays with, and its devices."""

from __future__ import annotations

import resource
import secrets
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from headcount.errors import FleetError
from headcount.fleet.control_store import ControlStore
from headcount.fleet.door import Door
from headcount.fleet.owner_key import make_owner_key
from headcount.fleet.senders import add_senders
from headcount.fleet.settings import CORE, FLEET, KEY, LEDGER
from headcount.fleet.simulate_devices import CALLED, Some, Told
from headcount.fleet.simulate_postgres import Cluster
from headcount.fleet.simulate_programs import Programs, all_told, free_ports, is_ready
from headcount.fleet.simulate_whole import whole_devices
from headcount.fleet.task import Task
from headcount.ledger.ledger import Ledger
from headcount.privacy.budget import Budget
from headcount.privacy.neighbours import Neighbours
from headcount.results.release import Release

if TYPE_CHECKING:
    from headcount.fleet.simulate_answers import MadeUp
    from headcount.fleet.store import Round
    from headcount.fleet.task_file import TaskFile
    from headcount.ledger.account import Account, Entry

WHOLE = 20
"""Devices that are whole programs, each with its folder; all others go the same way in memory."""
WORKERS = 2
DELTA = Fraction(1, 10**6)
HEADS = "HEADCOUNT_HEADS"
LOGINS = {"ingest": "hc_ingest", "driver": "hc_driver"}
BEAT = 0.2
OPEN_FILES = 16_384
PASSWORD_BYTES = 24


class SimulatedFleet:
    """A fleet that lasts as long as a block: everything it made is gone after it."""

    def __init__(self, file: TaskFile, population: MadeUp) -> None:
        self._file, self.population = file, population
        self._stack = ExitStack()

    def __enter__(self) -> SimulatedFleet:
        with ExitStack() as stack:
            self._start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _start(self, stack: ExitStack) -> None:
        _allow_connections()
        # A path of a socket is short.
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hc-")))
        database, ingest, relay = free_ports(3)
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        self._cluster = stack.enter_context(Cluster(database, password))
        self._cluster.let_in(LOGINS)
        self.store = ControlStore(self._cluster.address(whole=True))
        stack.callback(self.store.engine.dispose)
        for role, name in LOGINS.items():
            self.store.grant(role, name)
        self.ledger = Ledger(self.folder / "ledger.db", heads=self.folder / "heads")
        budget = Budget(epsilon=self._file.epsilon, delta=DELTA)
        self.ledger.open_account(self._file.account, budget, Neighbours.REPLACE)
        self._owner = make_owner_key(self.folder / "owner.key")
        self._tokens = self._senders("devices", self.population.devices)
        self._theirs, own = self._senders("relays", 2)
        (self.folder / "token").write_text(own)
        self.programs = stack.enter_context(Programs(self.folder))
        self._serve(ingest, relay, password)

    @property
    def database(self) -> str:
        """Where the database is, for its owner."""
        return self._cluster.address(whole=True)

    def _senders(self, kind: str, n: int) -> list[str]:
        return add_senders(self.folder / kind, [CALLED.format(i) for i in range(n)])

    def _serve(self, ingest: int, relay: int, password: str) -> None:
        folder, start = self.folder, self.programs.start
        socket = folder / "core.socket"
        start("core", "core_process", socket, folder / "keys", WORKERS)
        start("ingest", "serving", "ingest", self._cluster.address(LOGINS["ingest"]), "--port",
              ingest, "--relays", folder / "relays", PGPASSWORD=password)  # fmt: skip
        self._ingest, self._relay = (f"http://127.0.0.1:{port}" for port in (ingest, relay))
        start("relay", "serving", "relay", self._ingest, "--devices", folder / "devices",
              "--token", folder / "token", "--port", relay)  # fmt: skip
        start("driver", "driver", BEAT, **{
            FLEET: self._cluster.address(LOGINS["driver"], whole=True),
            LEDGER: str(folder / "ledger.db"),
            HEADS: str(folder / "heads"),
            CORE: str(socket),
            KEY: str(folder / "owner.key"),
        })  # fmt: skip
        for port in (ingest, relay):
            self.programs.until(lambda port=port: is_ready(port))  # type: ignore[misc]

    def apply(self) -> Task:
        """Charge the task, and wait until its first round is open and offered."""
        self.task = Door(self.store, self.ledger).apply(self._file)
        self.programs.until(lambda: self._round() is not None)
        return self.task

    def _round(self) -> Round | None:
        return self.store.round(self.task.id, 0)

    def answer(self) -> Told:
        """Let every device answer, past the relay; until all is acknowledged."""
        n = self.population.devices
        first = min(WHOLE, n)
        size = -(-(n - first) // WORKERS)
        given = [self._some(at, min(at + size, n)) for at in range(first, n, max(1, size))]
        with ThreadPoolExecutor(1) as pool:
            whole = pool.submit(
                whole_devices,
                self.population, self.task, self._tokens[:first], self._relay,
                self.folder, self._owner.public,
            )  # fmt: skip
            printed = all_told("simulate_devices", given)
            told = whole.result()
        for one in printed:
            told.add(Told.read(one))
        return told

    def _some(self, first: int, end: int) -> bytes:
        population = self.population
        return Some(
            population.key.hex(),
            population.devices,
            population.distinct,
            {str(device): answer for device, answer in population.said.items()},
            first,
            self._tokens[first:end],
            self._relay,
            self._ingest,
            self._theirs,
            (self.task.id.hex(), 0),
        ).spelled()

    def released(self) -> Release:
        """Close the round before its time, and wait until it is shown and all else is gone."""
        opened = self._round()
        if opened is None:
            raise FleetError("The round of the simulation is gone. Nothing was released.")
        self.store.close(opened.id)
        # However long it takes: that the core is at work is seen by its lease.
        self.programs.until(self._is_over, seconds=24 * 3_600)
        found = Door(self.store, self.ledger).shown(self.task.id, 0)
        if found is None:
            raise FleetError("The round of the simulation shows nothing, not even no rows.")
        self.ledger.verify()
        return found

    def _is_over(self) -> bool:
        found = self._round()
        return found is not None and found.state == "released" and found.has_ended

    def paid(self) -> tuple[Account, Entry]:
        """The account, and the entry that paid for all rounds."""
        (entry,) = self.ledger.entries(self._file.account)
        return self.ledger.account(self._file.account), entry


def _allow_connections() -> None:
    """As many open files as connections of devices need, for what is started from here."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
