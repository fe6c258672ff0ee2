"""What people order and collect, and by which token, in the fleet's database.

Every answer here is about times, people and the calendar. None is about reports.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headcount.fleet.store import ROUND, FleetStore, Round, round_from
from headcount.fleet.task import Task, task_from

APPLIED = (
    "SELECT id, spelled, account, entry, floor(extract(epoch FROM applied))::bigint "
    "FROM fleet.task "
)
ALL, ONE = f"{APPLIED} ORDER BY applied, id", f"{APPLIED} WHERE id = %s"
# Each round that was paid for is opened or called off in the end.
SETTLED = (
    "(SELECT count(*) FROM fleet.round WHERE task = t.id) + "
    "(SELECT count(*) FROM fleet.ordered WHERE task = t.id AND what = 'cancel')"
)
UNFINISHED = f"{APPLIED} t WHERE {SETTLED} < rounds ORDER BY applied, id"
OPENED = "SELECT number FROM fleet.round WHERE task = %s"
ORDERS = "SELECT number, what FROM fleet.ordered WHERE task = %s"
ROUNDS = f"{ROUND} WHERE r.task = %s ORDER BY r.number"
JOB = "SELECT number FROM fleet.job WHERE task = %s AND id = %s"
LET_IN = (
    "SELECT digest, role, expires > clock_timestamp() AND revoked IS NULL FROM fleet.token "
    "WHERE id = %s"
)
LET_IN_NEW = (
    "INSERT INTO fleet.token (id, digest, name, role, made, expires) "
    "SELECT %s, %s, %s, %s, now, now + %s * interval '1 second' FROM clock_timestamp() now "
    "RETURNING id"
)
REVOKE = (
    "UPDATE fleet.token SET revoked = coalesce(revoked, clock_timestamp()) WHERE id = %s "
    "RETURNING id"
)


@dataclass(frozen=True, slots=True)
class Applied:
    """A task that was paid for, and since when its rounds are due."""

    task: Task
    account: str
    entry: int
    at: int


class ControlStore(FleetStore):
    """The database of a fleet, with what people have to do with it."""

    def tasks(self) -> list[Applied]:
        """All tasks, oldest first."""
        return [_applied(row) for row in self._ask(ALL)]

    def applied(self, name: bytes) -> Applied | None:
        """A task by its name."""
        found = self._ask(ONE, name)
        return _applied(found[0]) if found else None

    def unfinished(self) -> list[Applied]:
        """Tasks with rounds that were neither opened nor called off."""
        return [_applied(row) for row in self._ask(UNFINISHED)]

    def opened(self, name: bytes) -> set[int]:
        """Which rounds of a task were ever opened."""
        return {int(row[0]) for row in self._ask(OPENED, name)}

    def rounds(self, name: bytes) -> dict[int, Round]:
        """The rounds of a task that were ever opened."""
        return {int(row[1]): round_from(row) for row in self._ask(ROUNDS, name)}

    def orders(self, name: bytes) -> dict[int, str]:
        """What was ordered for rounds of a task: that they open now, or never."""
        return {int(number): str(what) for number, what in self._ask(ORDERS, name)}

    def order(self, name: bytes, number: int, what: str) -> str | None:
        """Order a round; what holds for it now, or nothing where the task has no such round."""
        ((found,),) = self._ask("SELECT fleet.order_round(%s, %s, %s)", name, number, what)
        return None if found is None else str(found)

    # What is collected

    def make_job(self, name: bytes, job: str, number: int) -> int | None:
        """Keep a collection job; the round that it is about, from when it was made first."""
        ((found,),) = self._ask("SELECT fleet.make_job(%s, %s, %s)", name, job, number)
        return None if found is None else int(found)

    def job(self, name: bytes, job: str) -> int | None:
        """The round that a collection job is about."""
        found = self._ask(JOB, name, job)
        return int(found[0][0]) if found else None

    # Who is let in

    def token(self, name: str) -> tuple[bytes, str, bool] | None:
        """What a token is known by, its role, and whether it still lets anybody in."""
        found = self._ask(LET_IN, name)
        return (bytes(found[0][0]), str(found[0][1]), bool(found[0][2])) if found else None

    def keep_token(self, name: str, digest: bytes, whose: str, role: str, seconds: int) -> None:
        """Keep what a new token is known by. Only the owner of the tables may."""
        self._ask(LET_IN_NEW, name, digest, whose, role, seconds)

    def revoke_token(self, name: str) -> bool:
        """Let a token let nobody in any more; whether there is such a token."""
        return bool(self._ask(REVOKE, name))


def _applied(row: Any) -> Applied:
    return Applied(task_from(bytes(row[1])), row[2], int(row[3]), int(row[4]))
