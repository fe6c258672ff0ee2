"""Two places for a ledger: a file, and a PostgreSQL server of our own that flushes to disk."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import psycopg

POSTGRES = Path("/usr/lib/postgresql/15/bin")
LONG = os.environ.get("HEADCOUNT_LONG") == "1"


def missing(what: str) -> None:
    if os.environ.get("HEADCOUNT_SKIP_SERVERS") == "1":
        pytest.skip(f"{what} is not installed and HEADCOUNT_SKIP_SERVERS=1")
    pytest.fail(f"{what} is not installed; install it or set HEADCOUNT_SKIP_SERVERS=1")


class Server:
    """A PostgreSQL cluster on loopback, run as ``postgres`` because the server refuses root.

    ``of`` is the primary that it is a standby of.
    """

    def __init__(self, of: Server | None = None) -> None:
        if not (POSTGRES / "initdb").exists():
            missing("PostgreSQL 15")
        self.folder = Path(tempfile.mkdtemp(prefix="headcount-ledger-"))
        self._as_server = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        if self._as_server:
            shutil.chown(self.folder, "postgres")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        if of is None:
            self._run("initdb", "-D", f"{self.folder}/data", "-A", "trust", "-U", "postgres",
                      "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")  # fmt: skip
        else:
            self._run("pg_basebackup", "-d", of.address(), "-D", f"{self.folder}/data",
                      "-R", "-X", "stream", "-c", "fast", "--no-sync")  # fmt: skip
        self._numbers = itertools.count()
        self.start()

    def _run(self, command: str, *arguments: str, check: bool = True) -> None:
        subprocess.run(
            [*self._as_server, str(POSTGRES / command), *arguments],
            check=check,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            timeout=300,
        )

    def start(self, *, check: bool = True) -> None:
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 "
        options += "-c max_connections=200 -c fsync=on"
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-o", options,
                  "-l", f"{self.folder}/log", "start", check=check)  # fmt: skip

    def crash(self) -> None:
        """Stop as a crash does: no checkpoint, no goodbye."""
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-m", "immediate", "stop")

    def promote(self) -> None:
        """Let a standby take over."""
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-w", "promote")

    def close(self) -> None:
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop", check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self, database: str = "postgres", user: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def new_schema(self) -> str:
        """The address of a place of its own for a ledger, much cheaper than a database."""
        name = f"ledger_{next(self._numbers)}"
        self.sql(f"CREATE SCHEMA {name}")
        return f"{self.address()}?options=-csearch_path%3D{name}"

    def new_database(self) -> str:
        name = f"ledger_{next(self._numbers)}"
        self.sql(f"CREATE DATABASE {name}")
        return self.address(name)

    def connected(self, database: str = "postgres") -> psycopg.Connection:
        import psycopg

        return psycopg.connect(self.address(database), autocommit=True)

    def sql(self, *statements: str, database: str = "postgres") -> None:
        with self.connected(database) as connection:
            for statement in statements:
                connection.execute(statement)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.fixture
def server_of_its_own() -> Iterator[Server]:
    """A server that a test may crash."""
    running = Server()
    yield running
    running.close()


@pytest.fixture(scope="session")
def long() -> bool:
    """Whether to run at full size: HEADCOUNT_LONG=1."""
    return LONG


@pytest.fixture(scope="session")
def clients() -> ModuleType:
    """The programs that tests fork."""
    return beside("clients")


@pytest.fixture(scope="session")
def memory() -> ModuleType:
    """A ledger without a disk, and copies of those that have one."""
    return beside("memory")


@pytest.fixture(scope="session")
def bulk() -> ModuleType:
    """Long ledgers."""
    return beside("bulk")


def beside(name: str) -> ModuleType:
    """What several tests use, loaded once by path since test folders are not packages."""
    import importlib.util

    loaded = sys.modules.get(f"headcount_service_{name}")
    if loaded is not None:
        return loaded
    where = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"headcount_service_{name}", where)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def people(server: Server) -> Server:
    """The server, with a login for everyone."""
    books = beside("books")
    server.sql(*(f"CREATE ROLE {name} LOGIN" for name in (books.OWNER, *books.PEOPLE)))
    return server


@pytest.fixture
def book(people: Server, clients: ModuleType, tmp_path: Path) -> Any:
    """A ledger with an owner, two analysts and an auditor, and one charge."""
    return beside("books").Book(people, clients, tmp_path)


STORES = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(params=STORES)
def new_address(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes the address of a new, empty ledger on each store."""
    if request.param == "postgres":
        found: Callable[[], str] = request.getfixturevalue("server").new_schema
        return found
    return files(tmp_path)


@pytest.fixture(params=STORES)
def new_database(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """The same with a whole database for each ledger, so that it can be copied and put back."""
    if request.param == "postgres":
        found: Callable[[], str] = request.getfixturevalue("server").new_database
        return found
    return files(tmp_path)


def files(folder: Path) -> Callable[[], str]:
    numbers = itertools.count()
    return lambda: str(folder / f"ledger-{next(numbers)}.db")


@pytest.fixture
def open_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that everybody can get to; those of pytest are its user's alone."""
    made = Path(tempfile.mkdtemp(prefix="headcount-files-"))
    made.chmod(0o755)
    monkeypatch.setenv("HEADCOUNT_HEADS", str(made / "heads"))
    (made / "ledgers").mkdir()
    yield made / "ledgers"
    shutil.rmtree(made)


@pytest.fixture
def core() -> Iterator[Any]:
    """A core of a fleet, in a process and a folder of its own."""
    from tests.service.fleets import RunningCore

    # A path of a socket is short.
    with tempfile.TemporaryDirectory(prefix="hc-") as folder:
        running = RunningCore(Path(folder), patience=5)
        yield running
        running.process.kill()
        running.process.wait()


@pytest.fixture
def fleet(server: Server, tmp_path: Path, core: Any) -> Iterator[Any]:
    """A fleet without a task."""
    from tests.service.fleets import Fleet

    made = Fleet(server, tmp_path, core)
    yield made
    for child in made.frozen:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.fixture
def servers(fleet: Any, clients: ModuleType) -> Iterator[Any]:
    """A fleet whose servers are started by whoever tests them."""
    from tests.service.fleet_servers import Servers

    made = Servers(fleet, clients)
    yield made
    made.end()


@pytest.fixture
def control(fleet: Any) -> Iterator[Any]:
    """The control API of a fleet, in a process of its own."""
    from tests.service.controls import RunningControl

    running = RunningControl(fleet)
    yield running
    running.close()


@pytest.fixture
def drivers(fleet: Any) -> Iterator[Callable[..., Any]]:
    """A way to start drivers, which are ended with the test."""
    from tests.service.controls import RunningDriver

    started: list[Any] = []

    def start(**given: Any) -> Any:
        started.append(RunningDriver(fleet, **given))
        return started[-1]

    yield start
    for one in started:
        one.kill()
