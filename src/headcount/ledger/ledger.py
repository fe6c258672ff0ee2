"""The ledger: accounts, charges, and what was released, in a SQLite file or on PostgreSQL.

Order matters more than anything else here. A charge is committed before data is read; a result is
stored before it is shown; neither is ever taken back. A crash at any point may waste budget, and
never hands any out twice.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from headcount.accounting.compose import cost, cost_in_account
from headcount.errors import LedgerError, NoAccountError
from headcount.ledger import charging, opening, reading
from headcount.ledger.account import Account, Charge, Entry, Quota, units_up
from headcount.ledger.account import refusal as refusal
from headcount.ledger.address import parse_address
from headcount.ledger.arguments import read
from headcount.ledger.connect import open_store, reason
from headcount.ledger.heads import HeadFile, default_folder
from headcount.ledger.journal import Head
from headcount.ledger.migrate import bring_up_to_date
from headcount.ledger.store import Writer
from headcount.ledger.verify import History, check
from headcount.ledger.words import LARGEST, storable
from headcount.privacy.budget import Budget
from headcount.privacy.event import Event, to_record
from headcount.privacy.neighbours import Neighbours

T = TypeVar("T")
WAITS = (0.1, 0.5, 2.0)
UNKNOWN = (
    "It is unknown whether this was written, so count it as spent. Nothing is released. Trying "
    "again under the same key never charges twice."
)


class Ledger:
    """Accounts and their charges. Safe to use from many processes at once.

    address: the path of a file, for one machine; ``postgresql://user@host/database``, for a team
    heads:   the folder that keeps the head of each ledger; ``HEADCOUNT_HEADS`` or the user's
             settings folder when not given
    """

    def __init__(self, address: str | Path, *, heads: str | Path | None = None) -> None:
        place = parse_address(read("address", address))
        heads = read("heads", heads)
        self.address = place.shown
        self._store = open_store(place)
        # Connections end with the ledger, not when the collector happens to find them.
        weakref.finalize(self, self._store.engine.dispose)
        self._heads = HeadFile(default_folder() if heads is None else Path(heads), place)
        try:
            self._id = self._open()
        except BaseException:
            self._store.engine.dispose()
            raise
        # What never changes once an account is open: its limit, its neighbours, its delta.
        self._known: dict[str, Account] = {}

    def _open(self) -> str:
        meaning = "It cannot be opened and written as a ledger. Nothing was charged."
        self._guarded(lambda: bring_up_to_date(self._store), meaning, waits=())
        self.analyst = storable(self._store.analyst(), "The analyst's name")
        return self._guarded(lambda: self._check(full=False), meaning).head.ledger

    def open_account(
        self,
        name: str,
        budget: Budget | None = None,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
        covers: Sequence[str] = (),
    ) -> Account:
        """The account of this name; opened with ``budget`` if there is none yet.

        A budget is a promise that was made: a different one for an open account is refused. So is
        a source in ``covers`` that belongs to another account: its people have a budget already.
        """
        name, budget = read("account", name, called="name"), read("budget", budget)
        neighbours, covers = read("neighbours", neighbours), read("covers", covers)
        return self._write(
            lambda writer: opening.open_account(
                writer, self._id, self.analyst, name, budget, neighbours, covers
            )
        )

    def set_quota(self, account: str, analyst: str, budget: Budget) -> Quota:
        """Let one analyst spend up to ``budget`` of an account, and nobody without a quota."""
        analyst, budget = read("analyst", analyst), read("share", budget, called="budget")
        whole = self.account(account)
        return self._write(
            lambda writer: opening.set_quota(writer, self._id, self.analyst, whole, analyst, budget)
        )

    def covering(self, source: str) -> str | None:
        """The account that a source belongs to, if any."""
        named = {"source": read("source", source)}
        found = self._read(lambda c: c.execute(reading.COVERING, named).scalar())
        return None if found is None else str(found)

    def covered_by(self, account: str) -> list[str]:
        """The sources that belong to an account."""
        name = read("account", account)
        return self._read(lambda connection: reading.covered_by(connection, name))

    def account(self, name: str) -> Account:
        """The account of this name as it stands now."""
        named = {"name": read("account", name, called="name")}
        row = self._read(lambda c: c.execute(reading.ACCOUNT, named).first())
        if row is None:
            raise NoAccountError(f"There is no account {name!r} in the ledger {self.address!r}.")
        return reading.account_from(row)

    def accounts(self) -> list[Account]:
        """All accounts, by name."""
        return self._read(reading.all_accounts)

    def quotas(self, account: str) -> list[Quota]:
        """The quotas of an account, by analyst."""
        name = read("account", account)
        return self._read(lambda connection: reading.quotas_of(connection, name))

    def entries(self, account: str, verb: str | None = None) -> list[Entry]:
        """All charges of an account, or those of one verb, oldest first."""
        name, verb = read("account", account), read("verb", verb)
        return self._read(lambda connection: reading.charges_of(connection, name, verb))

    def stored_result(self, sequence: int) -> bytes | None:
        """What the charge of this number released, if it came to that."""
        number = read("sequence", sequence)
        return self._read(lambda connection: reading.result_of(connection, number))

    def journal(self) -> list[dict[str, Any]]:
        """Every entry of every kind, oldest first, with its hash."""
        return self._read(reading.journal)

    def charge(
        self,
        account: str,
        *,
        key: str,
        request_hash: str,
        verb: str,
        event: Event,
        neighbours: Neighbours,
        about: Mapping[str, str] | None = None,
    ) -> Charge:
        """Charge an event, or find the charge made before under the same key.

        The cost comes from the event's parameters and nothing else, so that neither it nor a
        refusal can depend on data. ``about`` is kept for people: public words on what was asked.
        """
        if account not in self._known:
            self._known[account] = self.account(account)
        here = self._known[account]
        spend = cost_in_account(cost(event), neighbours, here.neighbours)
        rho, delta = units_up(spend)
        ask = charging.Ask(
            account=here,
            analyst=self.analyst,
            key=read("key", key),
            request_hash=request_hash,
            verb=verb,
            about=about or {},
            event=to_record(event),
            neighbours=neighbours.value,
            spend=spend,
            rho=min(rho, LARGEST),
            delta=delta,
        )
        return self._write(lambda writer: charging.charge(writer, self._id, ask))

    def store_result(self, sequence: int, payload: bytes) -> bytes:
        """Keep what a charge is about to release, and return what may be shown.

        If another process stored a result for the same charge first, that one is returned: a
        second draw of noise for one charge must never leave.
        """
        return self._write(
            lambda writer: charging.store_result(writer, self._id, self.analyst, sequence, payload)
        )

    def verify(self) -> History:
        """Check everything again: the journal, the accounts, the results, and the head outside."""
        return self._guarded(lambda: self._check(full=True), "It cannot be read to its end.")

    def _check(self, *, full: bool) -> History:
        # The head first: what it says was committed before, so the view below must contain it.
        seen = self._heads.read()
        with self._store.reading() as connection:
            history = check(self._store, connection, seen, full=full)
        self._heads.advance(history.head)
        return history

    def _read(self, job: Callable[[sa.Connection], T]) -> T:
        def read() -> T:
            with self._store.reading() as connection:
                return job(connection)

        return self._guarded(read, "It cannot be read. Nothing was charged.")

    def _write(self, job: Callable[[Writer], tuple[T, Head]]) -> T:
        """Do one write transaction, then move the head outside, then return what may be shown."""

        def write() -> tuple[T, Head]:
            with self._store.writing() as writer:
                return job(writer)

        value, head = self._guarded(write, UNKNOWN)
        self._heads.advance(head)
        return value

    def _guarded(self, job: Callable[[], T], meaning: str, waits: Sequence[float] = WAITS) -> T:
        """Do a job; again when a connection was lost, since each finds out if it was done before.

        What a driver says may hold the address with its password, or a stored payload, so it is
        neither repeated nor linked to the error that is raised.
        """
        for wait in (*waits, None):
            try:
                return job()
            except self._store.errors as error:
                failed = reason(error)
                if wait is None or not self._store.is_lost(error):
                    break
                time.sleep(wait)
        raise LedgerError(f"The ledger {self.address!r}: {failed}. {meaning}")

    def __repr__(self) -> str:
        return f"Ledger({self.address!r})"
