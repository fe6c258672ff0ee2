"""The fleet's database on PostgreSQL: tasks, rounds and sealed posts. All questions to it are here.

Everything that changes something is one call of one function of the server
(``migrations/functions_0003``), and so one transaction: a program that is killed or frozen between
two calls leaves no lock and nothing half done. No key and no answer is ever here.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from headcount.errors import FleetError, MissingExtraError, UsageError
from headcount.fleet.allowed import Entry
from headcount.fleet.task import Task, task_from
from headcount.fleet.wire import Descriptor, descriptor_from
from headcount.ledger.address import Address, parse_address
from headcount.ledger.stores.postgres import settings_of, wrong_settings
from headcount.ledger.stores.refusals import is_forbidden, reason

T = TypeVar("T")
ROUND = (
    "SELECT r.id, r.number, r.state, r.descriptor, r.token, r.has_ended, t.spelled, t.account, "
    "t.entry, r.proof, extract(epoch FROM r.finished)::float8, r.evidence, "
    "extract(epoch FROM r.attested)::float8 "
    "FROM fleet.round r JOIN fleet.task t ON t.id = r.task "
)
BY_ID, BY_NUMBER = f"{ROUND} WHERE r.id = %s", f"{ROUND} WHERE r.task = %s AND r.number = %s"
NOT_ENDED = f"{ROUND} WHERE r.state IN ('released', 'cancelled') AND NOT r.has_ended ORDER BY r.id"
OPEN = f"{ROUND} WHERE r.state = 'open' AND r.closes > clock_timestamp() ORDER BY r.id"
TASK = "SELECT spelled, account, entry FROM fleet.task WHERE id = %s"
# In the order of the digests, which is the same whenever they are read.
# So many at a time that large posts fit in memory and small ones are no question each.
POSTS = (
    "SELECT digest, body FROM (SELECT digest, body, row_number() OVER by_digest AS at, "
    "sum(octet_length(body)) OVER by_digest AS so_far FROM (SELECT digest, body FROM fleet.posted "
    "WHERE round = %s AND digest > %s ORDER BY digest LIMIT 2000) next "
    "WINDOW by_digest AS (ORDER BY digest)) page WHERE at = 1 OR so_far <= 16777216 ORDER BY digest"
)
ALLOWED = "SELECT spelled, signature FROM fleet.allowed ORDER BY number"
HOLDS = "SELECT EXISTS (SELECT FROM fleet.round WHERE id = %s AND token = %s AND state = 'closing')"
# A reader that is frozen in the middle of a page must not keep its table for ever.
PATIENCE = "SET tcp_user_timeout = '60s'; SET idle_in_transaction_session_timeout = '60s'"


@dataclass(frozen=True, slots=True)
class Round:
    """One round as it is kept, with its task and the entry that paid for it.

    proof:    the owner's signature of its descriptor, which travels beside it
    finished: when it was released or called off, in seconds of the server's clock
    evidence: what shows which code made its key, and since when it does, in the same seconds
    """

    id: int
    number: int
    state: str
    descriptor: Descriptor
    token: int
    has_ended: bool
    task: Task
    account: str
    entry: int
    proof: bytes = b""
    finished: float | None = None
    evidence: bytes = b""
    attested: float | None = None


def _checker(shown: str) -> Callable[[Any, object], None]:
    """What is done with a new connection; it holds no store, which would stay alive by it."""

    def checked(connection: Any, _record: object) -> None:
        _, settings = settings_of(connection)
        wrong = wrong_settings(settings, "reports")
        if wrong is not None:
            connection.close()
            raise FleetError(
                f"The database {shown!r} cannot keep what a fleet acknowledges: {wrong}. "
                "Nothing was changed."
            )
        connection.execute(PATIENCE)
        connection.commit()

    return checked


class FleetStore:
    """A fleet on PostgreSQL; made or brought up to date when its owner opens it."""

    def __init__(self, address: str) -> None:
        self.address = _place(address)
        if find_spec("psycopg") is None:
            raise MissingExtraError("fleet", "A fleet on PostgreSQL")
        self.engine = sa.create_engine(
            self.address.url,
            isolation_level="AUTOCOMMIT",
            pool_pre_ping=True,
            connect_args={"connect_timeout": 10, "application_name": "headcount fleet"},
        )
        sa.event.listen(self.engine, "connect", _checker(str(self.address)))
        weakref.finalize(self, self.engine.dispose)
        from headcount.fleet.migrate import bring_up_to_date

        shown = str(self.address)
        self._guarded(lambda: bring_up_to_date(self.engine, shown), "Nothing was changed.")

    def _guarded(self, job: Callable[[], T], meaning: str) -> T:
        """Say what a driver's error means; never in its own words, which may hold a password."""
        import psycopg

        try:
            return job()
        except (SQLAlchemyError, psycopg.Error) as error:
            why = reason(error)
            if is_forbidden(error):
                why = "the role that logged in may not do this"
        # Out here, so that there is no link to it.
        raise FleetError(f"The fleet's database {str(self.address)!r}: {why}. {meaning}")

    def _ask(self, statement: str, *values: Any, meaning: str = "") -> list[Any]:
        unknown = "It is unknown whether this was written; doing it again is safe."

        def asked() -> list[Any]:
            with self.engine.connect() as connection:
                return list(connection.exec_driver_sql(statement, values).all())

        return self._guarded(asked, meaning or unknown)

    def grant(self, role: str, name: str) -> None:
        """Let a login of the server be a reader, an ingest, a driver or control, and no more."""
        from headcount.fleet.migrate import grant

        self._guarded(lambda: grant(self.engine, role, name), "Nothing was changed.")

    # Tasks and rounds

    def apply(self, task: Task, account: str, entry: int) -> bool:
        """Keep a task that was paid for; whether it is there now, paid for by this entry."""
        values = (task.id, task.spelled, account, entry, task.file.rounds.n)
        return bool(self._ask("SELECT fleet.apply(%s, %s, %s, %s, %s)", *values)[0][0])

    def task(self, name: bytes) -> tuple[Task, str, int] | None:
        """A task, its account, and the entry that paid for it."""
        found = self._ask(TASK, name)
        return (task_from(bytes(found[0][0])), found[0][1], int(found[0][2])) if found else None

    def open_round(self, descriptor: Descriptor, proof: bytes = b"") -> Descriptor:
        """Open a round, unless somebody did; the one that is open."""
        values = (descriptor.task, descriptor.round, descriptor.spelled, descriptor.closes, proof)
        ((found,),) = self._ask("SELECT fleet.open_round(%s, %s, %s, %s, %s)", *values)
        if found is None:
            raise FleetError(
                f"The task has no round {descriptor.round} to be opened. Nothing was opened."
            )
        return descriptor_from(bytes(found))

    def round(self, task: bytes, number: int) -> Round | None:
        """A round by its number."""
        found = self._ask(BY_NUMBER, task, number)
        return round_from(found[0]) if found else None

    def open_rounds(self) -> list[Round]:
        """Rounds that take reports now."""
        return [round_from(row) for row in self._ask(OPEN)]

    def not_ended(self) -> list[Round]:
        """Rounds that are over, and of which a key or posts may be left."""
        return [round_from(row) for row in self._ask(NOT_ENDED)]

    def now(self) -> int:
        """Seconds of the server's clock, by which rounds close and leases end."""
        return int(self._ask("SELECT floor(extract(epoch FROM clock_timestamp()))::bigint")[0][0])

    # What shows which code has a round's key

    def attest(self, number: int, evidence: bytes) -> bool:
        """Keep fresh evidence for a round; whether it is open."""
        return bool(self._ask("SELECT fleet.attest(%s, %s)", number, evidence)[0][0])

    def allow(self, number: int, entry: Entry) -> bool:
        """Keep an entry of the owner's log; whether it is the one of this number."""
        values = (number, entry.spelled, entry.signature)
        return bool(self._ask("SELECT fleet.allow(%s, %s, %s)", *values)[0][0])

    def allowed(self) -> list[Entry]:
        """The owner's log of code that may have keys of rounds."""
        return [Entry(bytes(spelled), bytes(signed)) for spelled, signed in self._ask(ALLOWED)]

    # Reports

    def take(self, number: int, bodies: Sequence[bytes]) -> bool:
        """Keep posts for the round of this id, durably and each once; or not, where it is over."""
        meaning = "Whether these reports were kept is unknown: send them again, they count once."
        # Binary: as text an array of bytes costs the server three times as much.
        found = self._ask("SELECT fleet.take(%s, %b)", number, list(bodies), meaning=meaning)
        return bool(found[0][0])

    def page(self, number: int, after: bytes) -> list[tuple[bytes, bytes]]:
        """The next posts of a round, each with its digest."""
        return [(bytes(d), bytes(body)) for d, body in self._ask(POSTS, number, after)]

    # Who counts

    def close(self, number: int | None = None) -> list[int]:
        """Close one round, or all whose time is over. What was acknowledged before is in it."""
        return [int(row[0]) for row in self._ask("SELECT fleet.close_rounds(%s)", number)]

    def lease(self, seconds: float) -> Round | None:
        """A closed round that nobody else counts, for so long."""
        found = self._ask("SELECT * FROM fleet.lease(%s)", seconds)
        return self._held(*found[0]) if found else None

    def seize(self, number: int, seconds: float) -> Round | None:
        """The same for one round, closed with it, unless somebody is counting it."""
        found = self._ask("SELECT fleet.seize(%s, %s)", number, seconds)
        return self._held(number, found[0][0]) if found else None

    def _held(self, number: int, token: int) -> Round:
        row = tuple(self._ask(BY_ID, number)[0])
        # The number of this lease, whoever has leased it since.
        return round_from((*row[:4], token, *row[5:]))

    def beat(self, held: Round, seconds: float) -> bool:
        """Keep a lease for longer; whether it is still ours."""
        return bool(self._ask("SELECT fleet.beat(%s, %s, %s)", held.id, held.token, seconds)[0][0])

    def holds(self, held: Round) -> bool:
        """Whether nobody leased the round since, and it is still to be counted."""
        return bool(self._ask(HOLDS, held.id, held.token)[0][0])

    def finish(self, held: Round, state: str) -> bool:
        """Say how a round ended and drop its posts, if the lease is still ours."""
        return bool(self._ask("SELECT fleet.finish(%s, %s, %s)", held.id, held.token, state)[0][0])

    def end(self, number: int) -> bool:
        """Note that a round's key is destroyed, once its posts are dropped too."""
        return bool(self._ask("SELECT fleet.end_round(%s)", number)[0][0])


def round_from(row: Sequence[Any]) -> Round:
    """A round from its row."""
    described, spelled = descriptor_from(bytes(row[3])), task_from(bytes(row[6]))
    paid, proof = (row[7], row[8]), bytes(row[9])
    finished, evidence, attested = row[10], bytes(row[11]), row[12]
    return Round(
        *(row[0], row[1], row[2], described, row[4], row[5], spelled),
        *(*paid, proof, finished, evidence, attested),
    )


def _place(address: str) -> Address:
    try:
        place = parse_address(address)
    except UsageError:
        place = None
    if place is None or not place.is_postgres:
        raise UsageError(
            "A fleet is kept in a database of PostgreSQL: postgresql://user@host:5432/database, "
            "with special characters percent-encoded. Nothing was changed."
        )
    return place
