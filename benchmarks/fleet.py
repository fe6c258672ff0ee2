"""What one report of 320 bytes costs the servers of a fleet, in microseconds of CPU, step by step.

Reports are sealed, posted over HTTP to an ingest in a process of its own, kept by a PostgreSQL
server that flushes to disk, read back, opened and counted. They come one by one, as devices send
without a relay, and in posts of 100 and of 500, as relays send. HPKE's own open is timed in the
same run: it is the floor, whatever the machine is, and what comes on top of it is ours.

``direct`` and ``relay`` add up ingest, PostgreSQL, reading, and opening and counting, for one and
for 500 reports a post. A tenth of all posts comes twice. CPU is that of processes, not of the
clock: others may use the machine. ``--quick`` takes under a minute. The last line is JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from headcount.fleet.core import count
from headcount.fleet.posts import REPORT
from headcount.fleet.seal import SUITE, new_private_key, public_key_of, seal
from headcount.fleet.simulate_postgres import Cluster
from headcount.fleet.simulate_programs import Programs, free_ports, is_ready
from headcount.fleet.simulate_sending import send_all
from headcount.fleet.store import FleetStore
from headcount.fleet.task import Task, Terms
from headcount.fleet.task_file import read_task
from headcount.fleet.wire import ID_BYTES, Descriptor, body, info
from headcount.privacy.neighbours import Neighbours

SIZES = (1, 100, 500)
CONNECTIONS = {1: 200, 100: 8, 500: 4}
ANSWER = "org.example.mail"
TICK = 1e6 / os.sysconf("SC_CLK_TCK")
HOUR = 3_600
FLOOR = 1_000
TASK = {
    "task": "top_app",
    "population": "phones",
    "owner": "fleet-analytics@example.com",
    "purpose": "Which app is used most, per day",
    "expires": "2099-01-01",
    "question": {"max_bytes": 64, "pattern": "[a-z0-9._-]+"},
    "rounds": {"every": "1d", "keep_open": "18h", "n": len(SIZES)},
    "spend": {"account": "app-users", "epsilon": 1},
}


def cpu_of(process: int) -> float:
    """Microseconds of CPU of a process and of those it waited for."""
    spelled = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, spelled[11:15])) * TICK


def tree_cpu(process: int) -> float:
    """The same with its children that run."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return cpu_of(process) + sum(cpu_of(int(one)) for one in children)


def each(job: Callable[[], object], n: int) -> float:
    """Microseconds of this process's CPU for one of ``n`` calls."""
    begun = time.process_time()
    for _ in range(n):
        job()
    return (time.process_time() - begun) / n * 1e6


@dataclass(frozen=True)
class Round:
    """One round, with its key here: nobody is behind these reports."""

    key: bytes
    described: Descriptor

    def sealed(self, n: int) -> list[bytes]:
        """So many reports."""
        one = body(ANSWER)
        return [seal(self.described, secrets.token_bytes(ID_BYTES), one) for _ in range(n)]

    def hpke(self, n: int) -> dict[str, float]:
        """HPKE's own open and its X25519, and a seal."""
        private = X25519PrivateKey.from_private_bytes(self.key)
        public = X25519PublicKey.from_public_bytes(self.described.public_key)
        report = self.sealed(1)[0]
        bound = info(self.described.hash, report[:ID_BYTES])
        return {
            "hpke_open_us": each(lambda: SUITE.decrypt(report[ID_BYTES:], private, bound), n),
            "x25519_us": each(lambda: private.exchange(public), n),
            "seal_us": each(lambda: self.sealed(1), n),
        }


def opened(store: FleetStore, task: Task, number: int) -> Round:
    """A round that is open."""
    key, now = new_private_key(), store.now()
    described = Descriptor(task.id, number, now, now + HOUR, public_key_of(key))
    assert store.open_round(described) == described
    return Round(key, described)


def posts_of(store: FleetStore, number: int) -> Iterator[bytes]:
    """All posts of a round, as a driver reads them."""
    after = b""
    while page := store.page(number, after):
        yield from (post for _, post in page)
        after = page[-1][0]


@dataclass(frozen=True)
class Servers:
    """An ingest and its database."""

    store: FleetStore
    address: str
    ingest: int
    database: int

    def measure(self, task: Task, number: int, size: int, n: int) -> dict[str, float]:
        """Microseconds a report of each step, for so many reports a post."""
        round_ = opened(self.store, task, number)
        sealed = round_.sealed(n)
        posts = [b"".join(sealed[i : i + size]) for i in range(0, n, size)]
        posts += posts[::10]
        sent = sum(map(len, posts)) / REPORT
        before = cpu_of(self.ingest), tree_cpu(self.database)
        waiting = iter([("", post) for post in posts])
        sending = send_all(self.address, round_.described.hash, waiting, CONNECTIONS[size])
        taken = asyncio.run(sending)
        after = cpu_of(self.ingest), tree_cpu(self.database)
        found = self.store.round(task.id, number)
        assert found is not None
        reading = time.process_time(), tree_cpu(self.database)
        stored = list(posts_of(self.store, found.id))
        read = (time.process_time() - reading[0]) * 1e6 + tree_cpu(self.database) - reading[1]
        # Before and after, since others may use the machine more at one moment than at another.
        floor = [round_.hpke(FLOOR)["hpke_open_us"]]
        begun = time.process_time()
        shown = count(task, round_.described, round_.key, stored)
        counting = (time.process_time() - begun) * 1e6
        floor.append(round_.hpke(FLOOR)["hpke_open_us"])
        counted = dict(shown.counts).get(ANSWER, 0)
        return {
            "ingest": (after[0] - before[0]) / sent,
            "postgres": (after[1] - before[1]) / sent,
            "read": read / n,
            "count": counting / (sum(map(len, stored)) / REPORT),
            "hpke_open": sum(floor) / 2,
            "lost": max(0, n - counted) + len(posts) - taken,
            "double": max(0, counted - n),
            "bytes": self.on_disk(found.id) / (sum(map(len, stored)) / REPORT),
        }

    def on_disk(self, number: int) -> int:
        """Bytes of a round's posts, with their index."""
        asked = f"SELECT pg_total_relation_size('fleet.posted_{number}')"
        with self.store.engine.connect() as connection:
            return int(connection.exec_driver_sql(asked).scalar_one())


def run(n: dict[int, int], n_hpke: int) -> dict[str, float]:
    """All of it, with servers of its own."""
    terms = Terms(Fraction(1, 2), 5, Fraction(1, 2), Fraction(1, 10**6), Neighbours.REPLACE)
    task = Task(read_task(TASK), terms)
    password, (database, port) = secrets.token_urlsafe(16), free_ports(2)
    with (
        tempfile.TemporaryDirectory() as folder,
        Cluster(database, password) as cluster,
        Programs(Path(folder)) as programs,
    ):
        store = FleetStore(cluster.address(whole=True))
        assert store.apply(task, "app-users", 1)
        programs.start("ingest", "serving", "ingest", cluster.address(), "--port", port,
                       PGPASSWORD=password)  # fmt: skip
        programs.until(lambda: is_ready(port))
        servers = Servers(store, f"http://127.0.0.1:{port}", programs.process("ingest"),
                          cluster.process)  # fmt: skip
        found = {size: servers.measure(task, i, size, n[size]) for i, size in enumerate(SIZES)}
        store.engine.dispose()
    key = new_private_key()
    alone = Round(key, Descriptor(task.id, 0, 0, HOUR, public_key_of(key))).hpke(n_hpke)
    return {**alone, **reported(found)}


def reported(found: dict[int, dict[str, float]]) -> dict[str, float]:
    """What is printed."""
    for size, steps in found.items():
        said = ", ".join(f"{name} {value:.1f}" for name, value in steps.items())
        print(f"  {size:3} a post: {said}")

    def total(size: int) -> float:
        return sum(found[size][name] for name in ("ingest", "postgres", "read", "count"))

    return {
        "cpu_us_direct": total(1),
        "cpu_us_relay": total(SIZES[-1]),
        "direct_over_hpke_us": total(1) - found[1]["hpke_open"],
        "relay_over_hpke_us": total(SIZES[-1]) - found[SIZES[-1]]["hpke_open"],
        "postgres_us": found[1]["postgres"],
        "postgres_relay_us": found[SIZES[-1]]["postgres"],
        "bytes_per_report": found[SIZES[-1]]["bytes"],
        "lost": sum(one["lost"] for one in found.values()),
        "double": sum(one["double"] for one in found.values()),
    }


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    is_quick = options.parse_args().quick
    n = {1: 3_000, 100: 10_000, 500: 20_000} if is_quick else {1: 20_000, 100: 50_000, 500: 200_000}
    found = run(n, 2_000 if is_quick else 10_000)
    print(json.dumps({"reports": sum(n.values()), **{k: round(v, 1) for k, v in found.items()}}))


if __name__ == "__main__":
    main()
