"""The second door: charge, then read, then count, then store, then release; for devices.

As in ``releases/run.py``, and for the same reason: a crash between any two steps wastes what was
paid for, and shows nothing that was not. A task is charged for its whole period before any device
hears of it. Nothing else of the fleet charges, stores a part or asks the core.

Each step finds out what was done before: whoever comes after a crash does all of them again.
``core.md`` has the argument [FL8].
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from headcount.errors import FleetError, HeadcountError, LedgerError, UsageError
from headcount.fleet.attesting import evidence_of, renew
from headcount.fleet.core_client import Core
from headcount.fleet.lease import Lease, LostLeaseError
from headcount.fleet.owner_key import OwnerKey
from headcount.fleet.plan import mechanism_of, planned
from headcount.fleet.released import VERB, released
from headcount.fleet.store import FleetStore, Round
from headcount.fleet.task import Task
from headcount.fleet.task_file import SAMPLE, TaskFile
from headcount.fleet.wire import Descriptor
from headcount.ledger.account import Charge, Opening
from headcount.ledger.ledger import Ledger
from headcount.results.release import Release

log = logging.getLogger("headcount")

LEASE = 60.0
"""Seconds after which a round goes to another driver, if its own says nothing."""


@dataclass(frozen=True, slots=True)
class Door:
    """The three that a fleet needs: its database, the ledger that pays, and the core.

    core:  the socket of the core; who has none can apply tasks, and neither open nor count
    owner: the key that signs rounds; devices that pin one answer no others
    """

    store: FleetStore
    ledger: Ledger
    core: str | Path = ""
    lease: float = LEASE
    owner: OwnerKey | None = None

    def apply(self, file: TaskFile) -> Task:
        """Charge a task for its whole period, and only then keep it for devices to hear of."""
        account = self.ledger.account(file.account)
        task = planned(file, account, _day(self.store.now()))
        mechanism = mechanism_of(task)
        charge = self.ledger.charge(
            Opening(account, covers=(f"fleet:{file.population}",)),
            key=key_of(task),
            request_hash=task.id.hex(),
            verb=VERB,
            event=mechanism.event,
            neighbours=mechanism.neighbours,
            about=_about(task),
        )
        self._refuse_unpaid(task, account.name, charge.sequence)
        if not self.store.apply(task, account.name, charge.sequence):
            raise FleetError(
                f"The task {file.task!r} is here already, paid for by another entry than "
                f"{charge.sequence}. Nothing was opened."
            )
        log.info("entry %d of account %r: a fleet's task", charge.sequence, account.name)
        return task

    def open_round(
        self, name: bytes, number: int, window: tuple[int, int] | None = None
    ) -> Descriptor:
        """Make the key of a round and open it, or find it open; refused unless it is paid for.

        window: from when to when it is open by the calendar, which is now; where it is left out,
                from now on for as long as the task says
        """
        task, account, entry = self._kept(name)
        self._refuse_unpaid(task, account, entry)
        known = self.store.round(name, number)
        if known is not None:
            return known.descriptor
        rounds, now = task.file.rounds, self.store.now()
        opens, closes = window or (now, now + rounds.keep_open)
        if not (opens <= now < closes and closes - opens <= rounds.keep_open):
            raise UsageError(f"Round {number} has another time to be open in. Nothing was opened.")
        if not 0 <= number < rounds.n or _day(closes) > date.fromisoformat(task.file.expires):
            raise UsageError(
                f"The task {task.file.task!r} has {rounds.n} rounds, and ends on "
                f"{task.file.expires}: round {number} is not one of them. Nothing was opened."
            )
        if number in self.ledger.stored_parts(entry):
            raise LedgerError(
                f"Round {number} of entry {entry} was shown before, and this database does not "
                "know of it: it was put back. Nothing was opened."
            )
        with Core(self.core) as core:
            descriptor = Descriptor(name, number, opens, closes, core.make(task, number))
            evidence_of(core, self.store, self.owner, task, descriptor)
        proof = b"" if self.owner is None else self.owner.proof(descriptor)
        return self.store.open_round(descriptor, proof)

    def close(self, name: bytes, number: int) -> None:
        """Close a round before its time; again is nothing. ``step`` closes those that are due."""
        self.store.close(self._round(name, number).id)

    def step(self) -> list[Release]:
        """Close what is due, count what is closed, and tidy up what others left."""
        self.store.close()
        found: list[Release] = []
        while (one := self.finalise()) is not None:
            found.append(one)
        self.tidy()
        return found

    def finalise(self) -> Release | None:
        """Count a closed round that nobody else counts, store what it shows, and end it."""
        held = self.store.lease(self.lease)
        if held is None:
            return None
        with Lease(self.store, held, self.lease) as lease:
            payload = self._part(lease, held)
            # Whether there is anything to see in it decides about nothing.
            if not self.store.finish(held, "released"):
                raise LostLeaseError
        self._end(held)
        return Release.from_bytes(payload)

    def cancel(self, name: bytes, number: int) -> bool:
        """Call a round off, unless it was shown already. What was charged stays charged.

        Its key goes first: from then on nobody can count it.
        """
        held = self.store.seize(self._round(name, number).id, self.lease)
        if held is None:
            raise FleetError(
                f"Round {number} is over, or is being counted just now. Nothing was called off."
            )
        with Lease(self.store, held, self.lease), Core(self.core) as core:
            core.destroy(held.task, held.number)
            was_shown = self.ledger.stored_part(held.entry, held.number) is not None
            if not self.store.finish(held, "released" if was_shown else "cancelled"):
                raise LostLeaseError
        self._end(held)
        return not was_shown

    def shown(self, name: bytes, number: int) -> Release | None:
        """What a round has shown, from the ledger; the same bytes for ever."""
        _, _, entry = self._kept(name)
        payload = self.ledger.stored_part(entry, number)
        return None if payload is None else Release.from_bytes(payload)

    def attest(self) -> None:
        """Let rounds that are open, and whose tasks ask for it, have fresh evidence."""
        renew(lambda: Core(self.core), self.store, self.owner)

    def tidy(self) -> None:
        """Destroy keys and drop posts of rounds that are over, where a crash left them."""
        failed: HeadcountError | None = None
        for one in self.store.not_ended():
            try:
                self._end(one)
            except HeadcountError as error:
                # One round that cannot be ended yet keeps no key of another.
                failed = failed or error
        if failed is not None:
            raise failed

    def _part(self, lease: Lease, held: Round) -> bytes:
        """What the round shows: what was stored before, or what the core counts now."""
        self._refuse_unpaid(held.task, held.account, held.entry)
        before = self.ledger.stored_part(held.entry, held.number)
        if before is not None:
            return before
        with Core(self.core) as core:
            shown = core.count(held.task, held.descriptor, lease.posts())
        account = self.ledger.account(held.account)
        payload = released(held.task, shown, account, held.entry).to_bytes()
        lease.check()
        return self.ledger.store_part(held.entry, held.number, payload)

    def _end(self, over: Round) -> None:
        with Core(self.core) as core:
            core.destroy(over.task, over.number)
        self.store.end(over.id)

    def _refuse_unpaid(self, task: Task, account: str, entry: int) -> None:
        """Open and count only what the ledger says was paid for; others write the database."""
        mechanism = mechanism_of(task)
        known = paid_before(self.ledger, account, task)
        paid_for = mechanism.event, mechanism.neighbours
        if known is None or known.sequence != entry or known.paid_for != paid_for:
            raise LedgerError(
                f"Entry {entry} of account {account!r} did not pay for the task "
                f"{task.file.task!r}. Nothing was opened and nothing was charged."
            )

    def _kept(self, name: bytes) -> tuple[Task, str, int]:
        found = self.store.task(name)
        if found is None:
            raise UsageError("There is no such task here: apply it first. Nothing was opened.")
        return found

    def _round(self, name: bytes, number: int) -> Round:
        found = self.store.round(name, number)
        if found is None:
            raise UsageError(f"Round {number} of this task was never opened. Nothing was changed.")
        return found


def _day(seconds: int) -> date:
    return datetime.fromtimestamp(seconds, UTC).date()


def key_of(task: Task) -> str:
    """One charge for a task of this name and period; another task under it is refused."""
    return f"fleet/{task.file.task}/{task.file.expires}"


def paid_before(ledger: Ledger, account: str, task: Task) -> Charge | None:
    """The charge that paid for a task, if there is one."""
    return ledger.known(account, task.id.hex(), key=key_of(task), to_show=False)


def _about(task: Task) -> dict[str, str]:
    """Public words for the statement."""
    file = task.file
    return {
        "by": file.task,
        "task": file.task,
        "population": file.population,
        "rounds": str(file.rounds.n),
        "cover": "yes" if file.cover else "no",
        "attestation": file.attestation,
        "owner": file.owner,
        "purpose": file.purpose,
        **({} if file.method == SAMPLE else {"method": file.method}),
    }
