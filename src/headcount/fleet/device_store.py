"""What a device keeps: its consents, what it paid, and sealed reports until they are taken.

A folder of its user's alone: ``secret``, ``device.db`` (SQLite) and ``lock``. Every change is one
transaction that is on disk when it returns, and decides by what is there and not by what was read
before: so that two processes at once, or one that is killed anywhere, come to the same.

No answer is ever here: reports are sealed before they are kept. With cover there are as many of
them however coins fall; without, they are no longer here once they are taken.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from headcount.errors import FleetError
from headcount.fleet.allowed import Seen
from headcount.fleet.device_rows import FORGET, KEPT, OF_ROUND, SCHEMA, Kept, Paid
from headcount.fleet.device_secret import destroy_secret, make_secret, name_of
from headcount.fleet.own_folder import own_folder
from headcount.fleet.task import Task
from headcount.fleet.wire import Descriptor
from headcount.privacy.spend import Zcdp


class DeviceStore:
    """The folder of one device."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = own_folder(folder, "a device")
        self._secret = self._folder / "secret"
        with self._connected() as connection:
            connection.executescript(SCHEMA)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        place = self._folder / "device.db"
        try:
            with closing(sqlite3.connect(place, timeout=30, isolation_level=None)) as connection:
                connection.execute("PRAGMA synchronous = EXTRA")
                connection.execute("PRAGMA secure_delete = ON")
                yield connection
        except sqlite3.Error as error:
            why = type(error).__name__
            # Out here, so that there is no link to it.
        else:
            return
        raise FleetError(
            f"The device's folder cannot be read or written: {why}. Nothing was sent that is not "
            "kept; running again is safe."
        )

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    def _ask(self, statement: str, *values: Any) -> list[Any]:
        with self._connected() as connection:
            return connection.execute(statement, values).fetchall()

    @contextmanager
    def locked(self, *, wait: bool) -> Iterator[bool]:
        """Whether nobody else runs on this folder; nobody does until the block ends."""
        handle = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(handle)

    def secret(self) -> bytes:
        """The device's secret, made when it is first needed."""
        return make_secret(self._secret)

    def forget(self) -> None:
        """Destroy the secret and all that was kept, but for what must not be done again."""
        with self._connected() as connection:
            connection.executescript(FORGET)
        destroy_secret(self._secret)

    # Consent

    def consent(self, purpose: str, given: bool, now: int) -> None:
        """Note that somebody agreed to a purpose, or does no longer."""
        with self._writing() as connection:
            connection.execute("DELETE FROM consent WHERE purpose = ?", (purpose,))
            if given:
                connection.execute("INSERT INTO consent VALUES (?, ?)", (purpose, now))

    def has_consent(self, purpose: str) -> bool:
        """Whether somebody agreed to just this purpose."""
        return bool(self._ask("SELECT 1 FROM consent WHERE purpose = ?", purpose))

    def has_any_consent(self) -> bool:
        """Whether somebody agreed to any purpose."""
        return bool(self._ask("SELECT 1 FROM consent LIMIT 1"))

    # What owners allow

    def seen(self, owner: str) -> Seen:
        """The log of an owner's allowed code as it was seen last; it outlives forgetting."""
        found = self._ask("SELECT n, head FROM allowed WHERE owner = ?", owner)
        return Seen(found[0][0], bytes(found[0][1])) if found else Seen()

    def saw(self, owner: str, log: Seen) -> None:
        """Remember a log, unless a longer one was seen."""
        longer = (
            "INSERT INTO allowed VALUES (?, ?, ?) ON CONFLICT (owner) "
            "DO UPDATE SET n = excluded.n, head = excluded.head WHERE excluded.n > n"
        )
        with self._writing() as connection:
            connection.execute(longer, (owner, log.n, log.head))

    # What was asked

    def hear(self, heard: Sequence[tuple[Task, str]], now: int) -> None:
        """Keep what the device was asked last, and what became of it, in place of before."""
        with self._writing() as connection:
            connection.execute("DELETE FROM heard")
            for task, said in heard:
                values = (task.id, task.spelled, said, now)
                connection.execute("INSERT OR REPLACE INTO heard VALUES (?, ?, ?, ?)", values)

    def heard(self) -> list[tuple[bytes, str]]:
        """Tasks that the device was asked last, and what became of each."""
        found = self._ask("SELECT spelled, said FROM heard ORDER BY task")
        return [(bytes(spelled), said) for spelled, said in found]

    # What it costs

    def pay(self, task: Task, secret: bytes, limit: Zcdp, window: int, now: int) -> str | None:
        """Note the price of a task before it is answered, or say why it cannot be.

        A task costs its whole period, however many of its rounds are answered. It counts until
        ``window`` has passed its last answer, so that one that is answered again counts again.
        """
        with self._writing() as connection:
            row = connection.execute("SELECT secret FROM paid WHERE task = ?", (task.id,))
            before = row.fetchone()
            if before is not None and bytes(before[0]) != name_of(secret):
                # Its coins were flipped with a secret that is gone; others would be a second
                # sample of the same answers.
                return "the task was answered before the device forgot"
            spent = _sum(
                connection.execute(
                    "SELECT rho, delta FROM paid WHERE last > ? AND task <> ?", (window, task.id)
                ).fetchall()
            )
            rho, delta = task.terms.rho, task.terms.delta
            if spent[0] + rho > limit.rho or spent[1] + delta > limit.delta:
                return "the device would spend more than it allows itself"
            if before is None:
                values = (task.id, task.spelled, name_of(secret), str(rho), str(delta))
                connection.execute("INSERT INTO paid VALUES (?,?,?,?,?,?,?)", (*values, now, now))
            else:
                latest = "UPDATE paid SET last = max(last, ?) WHERE task = ?"
                connection.execute(latest, (now, task.id))
        return None

    def paid(self) -> list[Paid]:
        """What the device paid for, from the first on."""
        found = self._ask("SELECT task, spelled, rho, delta, first, last FROM paid ORDER BY first")
        return [
            Paid(bytes(task), bytes(spelled), Zcdp(Fraction(rho), Fraction(delta)), first, last)
            for task, spelled, rho, delta, first, last in found
        ]

    def spent(self, window: int) -> tuple[Fraction, Fraction]:
        """The rho and the delta of all tasks together that were answered since."""
        return _sum(self._ask("SELECT rho, delta FROM paid WHERE last > ?", window))

    # Sealed reports

    def keep(self, round_: Descriptor, sealed: Sequence[bytes], now: int) -> Kept:
        """Keep the reports of a round, unless there are some: those that are there [FL9]."""
        key = (round_.task, round_.round)
        with self._writing() as connection:
            values = (*key, round_.spelled, b"".join(sealed), len(sealed), 0, "kept", now)
            connection.execute("INSERT OR IGNORE INTO answered VALUES (?,?,?,?,?,?,?,?)", values)
        return self._kept(OF_ROUND, *key)[0]

    def kept(self, task: bytes, number: int) -> list[Kept]:
        """What the device sealed for a round, if it did."""
        return self._kept(OF_ROUND, task, number)

    def waiting(self) -> list[Kept]:
        """What was sealed and not yet taken."""
        return self._kept("WHERE state = 'kept' ORDER BY at, task, round")

    def answered(self, task: bytes) -> list[Kept]:
        """All rounds of a task that the device answered."""
        return self._kept("WHERE task = ? ORDER BY round", task)

    def _kept(self, where: str, *values: Any) -> list[Kept]:
        rows = self._ask(KEPT + where, *values)
        return [Kept(bytes(r[0]), r[1], bytes(r[2]), bytes(r[3]), *r[4:]) for r in rows]

    def taken(self, one: Kept, n_taken: int) -> None:
        """Note that so many reports of a round are taken; when all are, they are not kept."""
        if n_taken >= one.n_reports:
            self.end(one, "taken")
        else:
            with self._writing() as connection:
                more = "UPDATE answered SET n_taken = max(n_taken, ?) WHERE task = ? AND round = ?"
                connection.execute(more, (n_taken, one.task, one.round))

    def end(self, one: Kept, state: str) -> None:
        """Keep that a round was answered, and no longer what was sealed for it."""
        ended = (
            "UPDATE answered SET sealed = x'', n_reports = 0, n_taken = 0, state = ? "
            "WHERE task = ? AND round = ? AND state = 'kept'"
        )
        with self._writing() as connection:
            connection.execute(ended, (state, one.task, one.round))


def _sum(rows: Sequence[tuple[str, str]]) -> tuple[Fraction, Fraction]:
    rho = sum((Fraction(one) for one, _ in rows), Fraction(0))
    return rho, sum((Fraction(one) for _, one in rows), Fraction(0))
