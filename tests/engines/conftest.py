"""Real engines for the tests: DuckDB, a PostgreSQL server, a Spark standalone cluster.

Every server listens on loopback at a port that was free, and is stopped by its process id.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.engines.loaders.loader import Loader, loaders

from headcount.contributions import BoundedContributions, Tally
from headcount.contributions.groups import TOTAL

POSTGRES = max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path("/usr/lib/postgresql/bin"))
KEY = bytes(range(32))
# Short tests on few cores spend more on optimising Java code than on running it.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def missing(what: str) -> None:
    if os.environ.get("HEADCOUNT_SKIP_SERVERS") == "1":
        pytest.skip(f"{what} is not installed and HEADCOUNT_SKIP_SERVERS=1")
    pytest.fail(f"{what} is not installed; install it or set HEADCOUNT_SKIP_SERVERS=1")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def key() -> bytes:
    return KEY


@pytest.fixture(scope="session")
def postgres_address() -> Iterator[str]:
    """A new PostgreSQL cluster, as the user ``postgres`` because the server refuses root."""
    if not (POSTGRES / "initdb").exists():
        missing("PostgreSQL")
    folder = Path(tempfile.mkdtemp(prefix="headcount-postgres-"))
    as_server = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    if as_server:
        shutil.chown(folder, "postgres")
    port = free_port()
    data = folder / "data"

    def run(*command: str) -> None:
        subprocess.run(
            [*as_server, *command], check=True, cwd=folder, stdout=subprocess.DEVNULL, timeout=180
        )

    control = [str(POSTGRES / "pg_ctl"), "-D", str(data), "-w"]
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    # A locale whose order is not that of bytes, so that tests see a forgotten sort key.
    run(str(POSTGRES / "initdb"), "-D", str(data), "-A", "trust", "-U", "postgres", "-E", "UTF8",
        "--locale-provider=icu", "--icu-locale=en", "--locale=C.UTF-8")  # fmt: skip
    run(*control, "-o", options, "-l", str(folder / "log"), "start")
    try:
        yield f"postgres://postgres@127.0.0.1:{port}/postgres"
    finally:
        run(*control, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


class SparkCluster:
    """A master and two workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self.folder = folder
        self.home = Path(pyspark.__file__).parent
        self.port = free_port()
        self.processes: list[subprocess.Popen[bytes]] = []
        self._start("master.Master", "--host", "127.0.0.1", "--port", str(self.port),
                    "--webui-port", str(free_port()))  # fmt: skip
        self._wait_for_master()
        self.workers = [self.start_worker(), self.start_worker()]
        self.session = self._connect()

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    def _start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        log = self.folder / f"{name}-{len(self.processes)}.log"
        environment = {
            **os.environ,
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
        }
        command = [
            str(self.home / "bin" / "spark-class"),
            f"org.apache.spark.deploy.{name}",
            *arguments,
        ]
        with log.open("wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
        self.processes.append(process)
        return process

    def _wait_for_master(self) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.2)
        raise TimeoutError("the Spark master did not start")

    def start_worker(self) -> subprocess.Popen[bytes]:
        folder = tempfile.mkdtemp(dir=self.folder)
        return self._start("worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory",
                           "1g", "--webui-port", str(free_port()), "-d", folder,
                           self.url)  # fmt: skip

    def _connect(self) -> Any:
        from pyspark.sql import SparkSession

        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        os.environ["PYSPARK_PYTHON"] = sys.executable
        (self.folder / "events").mkdir()
        session = (
            SparkSession.builder.master(self.url)
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.executor.memory", "700m")
            .config("spark.driver.extraJavaOptions", QUICK_JAVA)
            .config("spark.executor.extraJavaOptions", QUICK_JAVA)
            .config("spark.sql.adaptive.enabled", "false")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "2")
            # A zone with summer time, so that tests see a forgotten conversion.
            .config("spark.sql.session.timeZone", "America/New_York")
            .config("spark.sql.warehouse.dir", str(self.folder / "warehouse"))
            # What Spark writes down of itself, for tests of what must not be in it.
            .config("spark.eventLog.enabled", "true")
            .config("spark.eventLog.compress", "false")
            .config("spark.eventLog.dir", (self.folder / "events").as_uri())
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
        return session

    def stop(self) -> None:
        self.session.stop()
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture(scope="session")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    if shutil.which("java") is None:
        missing("Java, which Spark needs,")
    cluster = SparkCluster(tmp_path_factory.mktemp("spark"))
    try:
        yield cluster
    finally:
        cluster.stop()


ENGINES = loaders()


@pytest.fixture(scope="session")
def loader_of(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Loader]:
    """A loader of one engine, for tests that differ from engine to engine."""

    def made(name: str) -> Loader:
        kind = ENGINES[name]
        server = None if kind.server is None else request.getfixturevalue(kind.server)
        return kind(tmp_path_factory.mktemp(name), server)

    return made


@pytest.fixture(
    scope="session",
    params=[pytest.param(name, marks=one.marks) for name, one in ENGINES.items()],
)
def loader(request: pytest.FixtureRequest, loader_of: Callable[[str], Loader]) -> Loader:
    return loader_of(request.param)


@pytest.fixture(scope="session")
def duckdb_loader(loader_of: Callable[[str], Loader]) -> Loader:
    return loader_of("duckdb")


def tally_table(contributions: BoundedContributions) -> pa.Table:
    tally = Tally(contributions)
    total = tally.schema.field(TOTAL)
    parts = [
        part.every_name().append_column(total, pa.array(part.query.ask()))
        for part in tally.parts(ordered=True)
    ]
    return pa.concat_tables([tally.schema.empty_table(), *parts]).combine_chunks()


def digest(table: pa.Table) -> str:
    """SHA-256 of the Arrow IPC bytes, which hold every value, type and name.

    What lies in the place of a missing value is nobody's, and made anew.
    """
    columns = [
        pa.array(column.to_pylist(), column.type) if column.null_count else column
        for column in table.columns
    ]
    table = pa.table(columns, schema=table.schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()


@pytest.fixture(scope="session")
def tally_of() -> Callable[[BoundedContributions], pa.Table]:
    return tally_table


@pytest.fixture(scope="session")
def digest_of() -> Callable[[pa.Table], str]:
    return digest
