"""A ledger that is looked for, opened or made: how everything reads from it and writes to it."""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa

from headcount.errors import LedgerError
from headcount.ledger import reading
from headcount.ledger.address import parse_address
from headcount.ledger.arguments import read
from headcount.ledger.distrust import NOTHING, distrusted, gone
from headcount.ledger.heads import Heads, default_folder
from headcount.ledger.history import History, load
from headcount.ledger.journal import AT, LAST, Head, head_from
from headcount.ledger.pieces import Run
from headcount.ledger.storable import storable
from headcount.ledger.stores.connect import open_store
from headcount.ledger.stores.migrate import bring_up_to_date, is_there
from headcount.ledger.stores.refusals import forbidden, is_forbidden, reason
from headcount.ledger.stores.store import Writer
from headcount.ledger.verify import check, name_of

T = TypeVar("T")
log = logging.getLogger("headcount")
UNSEEN = (
    "The ledger %s has %d entries, and none of them was seen from here before (this is remembered "
    "in %s). If it was put back from a backup, what was spent after that backup is not in it: look "
    "for the newest copy before you charge."
)
CHECKPOINT = 500
"""So many entries are read again at each opening before the sums are kept anew."""
WAITS = (0.1, 0.5, 2.0)
CANNOT = "It cannot be opened and written as a ledger. Nothing was charged."
UNKNOWN = (
    "It is unknown whether this was written, so count it as spent. Nothing is released. Trying "
    "again under the same key never charges twice."
)


class Opened:
    """A place for a ledger, and the ledger in it once there is one."""

    def __init__(self, address: str | Path, *, heads: str | Path | None = None) -> None:
        place = parse_address(read("address", address))
        heads = read("heads", heads)
        self.address = place.shown
        try:
            self._store = open_store(place)
        except OSError as error:
            raise self._out_of_reach(error, CANNOT) from None
        # Connections end with the ledger, not when the collector happens to find them.
        weakref.finalize(self, self._store.engine.dispose)
        self._heads = Heads(default_folder() if heads is None else Path(heads), place)
        self._id = ""
        self._is_private = False
        # What was written by this object. A source never leaves its account.
        self._covered: dict[str, set[str]] = {}
        try:
            self._find()
            self.analyst = storable(self._store.analyst(), "The analyst's name")
        except BaseException:
            self._store.engine.dispose()
            raise

    @property
    def is_there(self) -> bool:
        """Whether the ledger was made: by this program or, meanwhile, by another."""
        return self._find()

    def _find(self) -> bool:
        """Open the ledger, if there is one."""
        if not self._id:
            # The head first: what it says was there before the look that follows.
            there = self._guarded(
                lambda: is_there(self._store, self._heads.read()), CANNOT, waits=()
            )
            if there:
                self._open()
        return bool(self._id)

    def _open(self, only: str = "") -> None:
        self._guarded(lambda: bring_up_to_date(self._store), CANNOT, waits=(), only=only)
        self._id = self._guarded(lambda: self._check(full=False), CANNOT).head.ledger

    def _make(self) -> None:
        """Make the ledger, or find that another process did so first."""
        self._heads.make_folder()
        self._store.make_place()
        self._open("make a ledger there")

    def must_be_there(self) -> None:
        """Refuse where there is no ledger."""
        if not self._find():
            raise LedgerError(
                f"There is no ledger at {self.address!r}. Check --ledger and HEADCOUNT_LEDGER. A "
                "new one is made by its first charge, or by: headcount ledger open. Nothing was "
                "changed."
            )

    def _check(self, *, full: bool) -> History:
        with self._store.reading() as connection:
            name = name_of(connection, self._store.address)
        self._heads.belong_to(name)
        # The head first: what it says was committed before, so the view below must contain it.
        seen = self._heads.read()
        sums = self._heads.checkpoint(name)
        before = None if full else load(sums)
        begun = 0 if before is None else before.head.sequence
        with self._store.reading() as connection:
            history = check(self._store, connection, seen, before, full=full)
        if seen is None and history.head.sequence > 0:
            log.warning(UNSEEN, self.address, history.head.sequence, self._heads.folder)
        history.is_noted = self._store.is_settled(history.head, patiently=full)
        if history.is_noted:
            self._heads.advance(history.head)
        if full or history.head.sequence - begun >= CHECKPOINT:
            history.save(sums)
        return history

    def _read(self, job: Callable[[sa.Connection], T], nothing: T) -> T:
        """Read, if there is a ledger to read from."""

        def read() -> T:
            seen = self._heads.read()
            with self._store.reading() as connection:
                self._must_have(seen, reading.runs(connection))
                return job(connection)

        if not self._find():
            return nothing
        return self._guarded(read, "It cannot be read. Nothing was charged.")

    def _must_have(self, seen: Head | None, run: Run) -> None:
        """Refuse a ledger that lacks what this machine saw, also for a look."""
        if seen is not None and seen.sequence > 0:
            (there,) = run((AT, {"sequence": seen.sequence, "hash": seen.hash}))
            if not there:
                raise distrusted(self._store.address, gone(seen.sequence))

    def _write(
        self, job: Callable[[Writer], tuple[T, Head]], only: str = "", happened: str = NOTHING
    ) -> T:
        """Do one write transaction, wait for the disk, move the head outside, and only then
        return what may be shown.

        only:      what this is, where it is the owner's alone
        happened:  what is said of charges where the ledger is another by now
        """

        def write() -> tuple[T, Head]:
            # Read before the transaction begins: what it says was committed before.
            with self._store.writing(self._heads.read(), happened) as writer:
                value, head = job(writer)
            # Not tried again by itself: what was lost must be looked for, and written, anew.
            self._store.settle(head, writer.ticket or None)
            return value, head

        if not self._find():
            self._make()
        if not self._is_private:
            self._store.mend_modes()
            self._is_private = True
        value, head = self._guarded(write, UNKNOWN, only=only)
        self._heads.advance(head)
        return value

    def _read_to_show(
        self, job: Callable[[Run], T | None], has_result: Callable[[T | None], bool]
    ) -> T | None:
        """Read what may hold a result; one is shown once it cannot be lost any more."""

        def read() -> tuple[T | None, Head | None]:
            seen = self._heads.read()
            with self._store.reading() as connection:
                run = reading.runs(connection)
                self._must_have(seen, run)
                value = job(run)
                (last,) = run((LAST, {}))
            if not has_result(value):
                return value, None
            head = head_from(last, self._id)
            # A head outside is written when all up to it is on disk, and on its standbys.
            is_settled = self._store.waits_for_others and head == seen
            if not is_settled:
                self._store.settle(head)
            return value, head

        if not self._find():
            return None
        value, head = self._guarded(read, "It cannot be read. Nothing was charged.")
        if head is not None:
            # It was shown, so this machine must not take a ledger without it.
            self._heads.advance(head)
        return value

    def _guarded(
        self, job: Callable[[], T], meaning: str, waits: Sequence[float] = WAITS, only: str = ""
    ) -> T:
        """Do a job; again when a connection was lost, since each finds out if it was done before.

        What a driver says may hold the address with its password, or a stored payload, so it is
        neither repeated nor linked to the error that is raised.
        """
        refused = None
        for wait in (*waits, None):
            try:
                return job()
            except self._store.errors as error:
                if is_forbidden(error):
                    refused = forbidden(self.address, self._store.analyst(), only)
                    break
                failed = reason(error)
                if wait is None or not self._store.is_lost(error):
                    break
                time.sleep(wait)
            except OSError as error:
                refused = self._out_of_reach(error, meaning)
                break
        raise refused or LedgerError(f"The ledger {self.address!r}: {failed}. {meaning}")

    def _out_of_reach(self, error: OSError, meaning: str) -> LedgerError:
        """Why the system does not let this program come to a ledger."""
        why = error.strerror or "the system does not allow it"
        return LedgerError(
            f"The ledger {self.address!r} is out of reach: {why}. {meaning} See that its folder is "
            "there and that this user may enter it, or name another with --ledger or "
            "HEADCOUNT_LEDGER."
        )
