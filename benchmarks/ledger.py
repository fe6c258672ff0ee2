"""What a charge costs beside a bare durable insert, and whether anyone starves.

On each store: one row inserted and flushed by the driver alone, and one charge, taken in turns by
one process; then charges by 8 and by 32 processes at once. Ratios within one run, since disks
differ and are noisy. A bare insert is one row of about the same size in a table of the same
database with the same settings, committed before the next.

Of windows: a charge of one beside a plain one, in turns; ten years of days in one charge; and how
long the processor works to open a file, from the start, after three releases a day for ten years.

``--quick`` takes under a minute. The last line is JSON.
"""

from __future__ import annotations

import argparse
import faulthandler
import itertools
import json
import logging
import multiprocessing
import os
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from fractions import Fraction
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import psycopg

from headcount.ledger.account import Opening
from headcount.ledger.ledger import Ledger
from headcount.ledger.stores import postgres, sqlite  # noqa: F401  imported before any fork
from headcount.ledger.windows import Windows
from headcount.privacy.budget import Budget
from headcount.privacy.event import Event, GaussianNoise, Windowed
from headcount.privacy.neighbours import Neighbours

POSTGRES = Path("/usr/lib/postgresql/15/bin")
EVENT = GaussianNoise(Fraction(1), Fraction(50))
FORK = multiprocessing.get_context("fork")
ROW = "x" * 600
ROUNDS = 3
DECADE = 3650
PATIENCE = 120
"""Seconds after which a process hangs, and is not slow."""


def charger(address: str) -> Callable[[], object]:
    """Charge once under a new key."""
    ledger = Ledger(address)
    opening = ledger.opening("bench")

    def charge() -> object:
        return ledger.charge(
            opening,
            fresh=True,
            key=uuid.uuid4().hex,
            request_hash="r" * 64,
            verb="count_users",
            event=EVENT,
            neighbours=Neighbours.ADD_REMOVE,
            about={"source": "events.parquet", "user": "user_id", "by": "page"},
        )

    return charge


@contextmanager
def bare_sqlite(address: str) -> Iterator[Callable[[], object]]:
    """Insert one row into SQLite, flushed."""
    # Closed before any fork: a child of an open connection believes in locks it does not have.
    with closing(sqlite3.connect(address, isolation_level=None)) as raw:
        raw.execute("PRAGMA synchronous=FULL")
        raw.execute("CREATE TABLE IF NOT EXISTS bare (key TEXT PRIMARY KEY, row TEXT)")
        yield lambda: raw.execute("INSERT INTO bare VALUES (?, ?)", (uuid.uuid4().hex, ROW))


@contextmanager
def bare_postgres(address: str) -> Iterator[Callable[[], object]]:
    """Insert one row into PostgreSQL, flushed."""
    with psycopg.connect(address, autocommit=True) as raw:
        raw.execute("CREATE TABLE IF NOT EXISTS bare (key text PRIMARY KEY, row text)")
        yield lambda: raw.execute("INSERT INTO bare VALUES (%s, %s)", (uuid.uuid4().hex, ROW))


def seconds(act: Callable[[], object]) -> float:
    """How long one call takes."""
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def one_process(charge: Callable[[], object], bare: Callable[[], object], n: int) -> Any:
    """Latencies of a charge and of a bare insert, taken in turns."""
    for _ in range(20):
        charge()
        bare()
    pairs = [(seconds(charge), seconds(bare)) for _ in range(n)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def crowd(address: str, n: int, for_seconds: float) -> list[list[float]]:
    """Latencies of charges by ``n`` processes at once, one list for each."""
    gate, answers = FORK.Barrier(n), FORK.SimpleQueue()

    def member() -> None:
        # One that hangs is asked where.
        faulthandler.register(signal.SIGUSR1)
        charge = charger(address)
        charge()
        gate.wait()
        until = time.perf_counter() + for_seconds
        took = []
        while time.perf_counter() < until:
            took.append(seconds(charge))
        answers.put(took)
        os._exit(0)

    members = [FORK.Process(target=member) for _ in range(n)]
    for process in members:
        process.start()
    took: list[list[float]] = []
    until = time.monotonic() + PATIENCE + for_seconds
    while len(took) < n and time.monotonic() < until and not any(p.exitcode for p in members):
        # Woken by each that ends, so that one that died is not waited for.
        wait([process.sentinel for process in members if process.is_alive()], timeout=1)
        while not answers.empty():
            took.append(answers.get())
    if len(took) < n:
        for process in members:
            if process.is_alive():
                os.kill(process.pid or 0, signal.SIGUSR1)
        time.sleep(1)
        codes = [process.exitcode for process in members]
        for process in members:
            process.kill()
        raise SystemExit(f"{n - len(took)} of {n} processes gave no answer: exit codes {codes}")
    for process in members:
        process.join()
    return took


def p99(latencies: list[float]) -> float:
    """The 99th percentile."""
    return sorted(latencies)[int(len(latencies) * 0.99)]


def measure(
    name: str,
    new_address: Callable[[], str],
    bare: Callable[[str], AbstractContextManager[Callable[[], object]]],
    scale: int,
) -> dict[str, float]:
    """All figures of one store."""
    charges: list[float] = []
    bares: list[float] = []
    crowds: dict[int, list[list[list[float]]]] = {8: [], 32: []}
    overspend = Fraction(0)
    for _ in range(ROUNDS):
        # A new ledger each time: opening one reads its history, and 32 processes open it.
        address = new_address()
        ledger = Ledger(address)
        ledger.open_account("bench", Budget(rho=10**6, delta=1e-6))
        with bare(address) as insert:
            one, plain = one_process(charger(address), insert, 100 * scale)
        charges += one
        bares += plain
        for n, rounds in crowds.items():
            rounds.append(crowd(address, n, scale))
        ledger.verify()
        charged = sum((entry.spend.rho for entry in ledger.entries("bench")), Fraction(0))
        overspend += abs(charged - ledger.account("bench").spent.rho)
    median, floor = statistics.median(charges), statistics.median(bares)
    figures: dict[str, float] = {
        "overspend": float(overspend),
        "bare_ms": floor * 1e3,
        "one_ms": median * 1e3,
        "one_over_bare": median / floor,
        "one_p99_over_bare_p99": p99(charges) / p99(bares),
        "per_second_1": 1 / statistics.mean(charges),
    }
    for n, rounds in crowds.items():
        took = [latency for members in rounds for member in members for latency in member]
        rate = len(took) / (ROUNDS * scale)
        # How evenly turns are given: the member with the fewest against the one with the most.
        even = min(min(map(len, members)) / max(map(len, members)) for members in rounds)
        figures[f"fewest_over_most_{n}"] = even
        figures[f"p99_{n}_over_mean_{n}"] = p99(took) / statistics.mean(took)
        figures[f"per_second_{n}"] = rate
        figures[f"p99_{n}_ms"] = p99(took) * 1e3
        figures[f"p99_{n}_over_median_1"] = p99(took) / median
        figures[f"rate_{n}_over_bare"] = rate * floor
    figures |= windows(new_address(), scale)
    for key, value in figures.items():
        print(f"  {name:9} {key:22} {value:10.3f}", flush=True)
    return {key: round(value, 3) for key, value in figures.items()}


def windows(address: str, scale: int) -> dict[str, float]:
    """What a charge of windows takes beside a plain one, and what ten years of them do."""
    ledger = Ledger(address)
    daily = Windows.of("time", "day", "UTC", Budget(rho=10**6, delta="1e-6"))
    ledger.open_account("bench", windows=daily)
    ledger.open_account("plain", Budget(rho=10**6, delta="1e-6"))
    plain, days = ledger.opening("plain"), ledger.opening("bench")

    def charge(opening: Opening, event: Event) -> object:
        return ledger.charge(
            opening,
            fresh=True,
            key=uuid.uuid4().hex,
            request_hash="r" * 64,
            verb="count_users",
            event=event,
            neighbours=Neighbours.ADD_REMOVE,
            about={"source": "events.parquet", "user": "user_id", "by": "page"},
        )

    one, without, all_days = [], [], []
    for day in range(20 + 100 * scale):
        # In turns: disks and neighbours are noisy.
        one.append(seconds(lambda day=day: charge(days, Windowed(day, day, 1, EVENT))))  # type: ignore[misc]
        without.append(seconds(lambda: charge(plain, EVENT)))
    for start in range(3):
        event = Windowed(DECADE * start, DECADE * (start + 1) - 1, DECADE, EVENT)
        all_days.append(seconds(lambda event=event: charge(days, event)))  # type: ignore[misc]
    ledger.verify()
    return {
        "one_window_over_plain": statistics.median(one[20:]) / statistics.median(without[20:]),
        "decade_in_one_charge_ms": statistics.median(all_days) * 1e3,
    }


def after_ten_years(address: str) -> float:
    """Seconds of the processor to open, from the start, ten years of three releases a day."""
    ledger = Ledger(address)
    daily = Windows.of("time", "day", "UTC", Budget(rho=10**6, delta="1e-6"))
    ledger.open_account("bench", windows=daily)
    opening = ledger.opening("bench")
    for day in range(DECADE):
        for release in ("pages", "countries", "clicks"):
            ledger.charge(
                opening,
                key=f"{release}/{day}",
                request_hash=f"{release}/{day}",
                verb="count_users",
                event=Windowed(day, day, 1, EVENT),
                neighbours=Neighbours.ADD_REMOVE,
                about={"source": "events.parquet", "user": "user_id", "by": "page"},
            )
    logging.disable(logging.WARNING)
    took = []
    for number in range(3):
        started = time.process_time()
        Ledger(address, heads=f"{address}.heads-{number}")
        took.append(time.process_time() - started)
    logging.disable(logging.NOTSET)
    return min(took)


@contextmanager
def server() -> Iterator[str]:
    """A PostgreSQL server of our own, with its settings as they come: everything is flushed."""
    folder = Path(tempfile.mkdtemp(prefix="headcount-bench-"))
    as_server = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    if as_server:
        shutil.chown(folder, "postgres")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def run(command: str, *arguments: str) -> None:
        subprocess.run(
            [*as_server, str(POSTGRES / command), "-D", str(folder / "data"), *arguments],
            check=True,
            cwd=folder,
            stdout=subprocess.DEVNULL,
        )

    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c max_connections=100"
    run("initdb", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
    run("pg_ctl", "-w", "-o", options, "-l", str(folder / "log"), "start")
    try:
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        run("pg_ctl", "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Measure both stores and print the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    scale = 1 if options.parse_args().quick else 4
    stores: dict[str, dict[str, float]] = {}
    numbers = itertools.count()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HEADCOUNT_HEADS"] = f"{folder}/heads"
        stores["sqlite"] = measure(
            "sqlite", lambda: f"{folder}/ledger-{next(numbers)}.db", bare_sqlite, scale
        )
        opening = after_ten_years(f"{folder}/decade.db")
        print(f"  sqlite    opens_after_ten_years  {opening:10.3f}", flush=True)
        stores["sqlite"]["opens_after_ten_years_s"] = round(opening, 3)
        if (POSTGRES / "initdb").exists():
            with server() as address:

                def new_schema() -> str:
                    schema = f"ledger_{next(numbers)}"
                    with psycopg.connect(address, autocommit=True) as connection:
                        connection.execute(f"CREATE SCHEMA {schema}")
                    return f"{address}?options=-csearch_path%3D{schema}"

                stores["postgres"] = measure("postgres", new_schema, bare_postgres, scale)
        else:
            print("  PostgreSQL 15 is not installed: only SQLite was measured")
    worst = max(store["overspend"] for store in stores.values())
    report = {"overspend": int(worst) if worst == 0 else worst, **stores}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
