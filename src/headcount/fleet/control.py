"""What people may do with a fleet: apply tasks, look at rounds, order them, collect what is shown.

Here are the database and the ledger, and neither a key nor a post: nothing here can open, count or
read a report. What is ordered the driver does. Nothing depends on how many reports there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headcount.errors import FleetError, UsageError
from headcount.fleet import control_views as views
from headcount.fleet.control_problems import ProblemError
from headcount.fleet.control_store import Applied, ControlStore
from headcount.fleet.door import Door
from headcount.fleet.schedule import DELAY
from headcount.fleet.task_file import read_task
from headcount.ledger.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Control:
    """What the control API does, without HTTP."""

    store: ControlStore
    ledger: str | Path
    delay: int = DELAY

    def apply(self, given: dict[str, Any]) -> Applied:
        """Charge a task, and keep it; again is nothing."""
        try:
            file = read_task(given)
        except UsageError as error:
            raise ProblemError("wrong-task", str(error)) from None
        try:
            task = Door(self.store, Ledger(self.ledger)).apply(file)
        except UsageError:
            raise ProblemError("no-plan") from None
        return self.applied(task.id.hex())

    def applied(self, task: str) -> Applied:
        """A task that is here."""
        found = self.store.applied(bytes.fromhex(task))
        if found is None:
            raise ProblemError("not-here")
        return found

    def rounds(self, one: Applied) -> list[views.RoundShown]:
        """All rounds of a task that were paid for."""
        name, now = one.task.id, self.store.now()
        opened, orders = self.store.rounds(name), self.store.orders(name)
        return [
            views.round_shown(one, i, opened.get(i), orders.get(i), now, self.delay)
            for i in range(one.task.file.rounds.n)
        ]

    def round(self, one: Applied, number: int) -> views.RoundShown:
        """One of them."""
        if number >= one.task.file.rounds.n:
            raise ProblemError("not-here")
        name = one.task.id
        opened, order = self.store.round(name, number), self.store.orders(name).get(number)
        return views.round_shown(one, number, opened, order, self.store.now(), self.delay)

    def order(self, one: Applied, number: int, what: str) -> str:
        """Order a round; what holds for it now."""
        found = self.store.order(one.task.id, number, what)
        if found is None:
            raise ProblemError("not-here")
        return found

    def close(self, one: Applied, number: int) -> None:
        """Take no more reports for a round. When it is shown stays as it was."""
        if self.round(one, number).state == "cancelled":
            raise ProblemError("called-off")
        found = self.store.round(one.task.id, number)
        if found is None:
            raise ProblemError("not-opened")
        self.store.close(found.id)

    def release(self, one: Applied, number: int) -> views.ReleaseShown:
        """What a round shows, from the moment on that was fixed for it."""
        if self.round(one, number).state != "released":
            raise ProblemError("not-shown")
        ledger = Ledger(self.ledger)
        found = Door(self.store, ledger).shown(one.task.id, number)
        entries = [e for e in ledger.entries(one.account, "fleet") if e.sequence == one.entry]
        if found is None or not entries:
            raise FleetError("The ledger does not have what was released.")
        return views.release_shown(one, number, found, entries[0])
