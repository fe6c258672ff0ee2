"""Read the whole journal again: is every entry the one that was written, and does all else agree?

This runs whenever a ledger is opened. What it cannot see from inside, a ledger that was put back
to an earlier day or exchanged for another, the head outside the database shows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import sqlalchemy as sa

from headcount.errors import LedgerError
from headcount.ledger.journal import (
    CHARGE,
    COVER,
    HASHED,
    OPEN,
    QUOTA,
    RESULT,
    Head,
    digest_of,
    hash_of,
    start,
)
from headcount.ledger.schema import accounts, covers, entries, ledger, quotas, results
from headcount.ledger.store import Store

WHAT_TO_DO = (
    "Nothing was charged and nothing is released. Bring back the newest copy of the ledger. If it "
    "is lost, treat all of its budgets as spent, and start a new ledger, with new accounts, for "
    "new data only."
)


@dataclass(slots=True)
class History:
    """What the entries of a ledger say, added up."""

    head: Head
    accounts: dict[str, list[Any]] = field(default_factory=dict)
    quotas: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    spent_by: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    covers: dict[str, str] = field(default_factory=dict)
    charges: dict[int, tuple[str, str]] = field(default_factory=dict)
    results: dict[int, str] = field(default_factory=dict)

    def add(self, row: Any) -> None:
        """Take one more entry into account."""
        if row.kind == OPEN:
            stated_delta = json.loads(row.event)["stated_delta"]
            limits = [row.neighbours, stated_delta, row.rho, row.delta]
            self.accounts[row.account] = [*limits, 0, 0, 0]
        elif row.kind == COVER:
            self.covers[row.key] = row.account
        elif row.kind == QUOTA:
            self.quotas[row.account, row.key] = row.rho, row.delta
            self.accounts[row.account][6] = 1
        elif row.kind == CHARGE:
            account = self.accounts[row.account]
            account[4] += row.rho
            account[5] += row.delta
            spent = self.spent_by.setdefault((row.account, row.analyst), [0, 0])
            spent[0] += row.rho
            spent[1] += row.delta
            self.charges[row.sequence] = row.account, row.key
        elif row.kind == RESULT:
            self.results[json.loads(row.event)["charge"]] = row.digest
        else:
            raise ValueError(row.kind)


def check(store: Store, connection: sa.Connection, seen: Head | None, *, full: bool) -> History:
    """Check a ledger from one moment's view of it; refuse with what is wrong.

    ``seen`` is the head outside, read before that moment. ``full`` reads the stored results and
    the database's pages too.
    """

    def refuse(what: str) -> NoReturn:
        raise LedgerError(
            f"The ledger {str(store.address)!r} cannot be trusted: {what}. {WHAT_TO_DO}"
        )

    if full and (damage := store.damage(connection)) is not None:
        refuse(damage)
    names = connection.execute(sa.select(ledger.c.id)).scalars().all()
    if len(names) != 1:
        refuse("its own name was removed")
    history, hash_then = _read_journal(connection, names[0], seen, refuse)
    if seen is not None:
        _compare_heads(history.head, hash_then, seen, refuse)
    _compare_tables(connection, history, refuse)
    if full:
        _compare_results(connection, history, refuse)
    return history


def _read_journal(
    connection: sa.Connection, name: str, seen: Head | None, refuse: Callable[[str], NoReturn]
) -> tuple[History, str | None]:
    head = start(name)
    history = History(head)
    hash_then = head.hash if seen is not None and seen.sequence == 0 else None
    found = connection.execution_options(yield_per=1000).execute(
        sa.select(entries).order_by(entries.c.sequence)
    )
    with found as rows:
        for row in rows:
            if row.sequence != head.sequence + 1:
                refuse(f"entry {head.sequence + 1} is missing")
            if row.previous != head.hash or row.hash != hash_of(row[: len(HASHED)]):
                refuse(f"entry {row.sequence} was changed after it was written")
            try:
                history.add(row)
            except (KeyError, ValueError, TypeError):
                refuse(f"entry {row.sequence} makes no sense")
            head = Head(name, row.sequence, row.hash)
            if seen is not None and seen.sequence == head.sequence:
                hash_then = head.hash
    history.head = head
    return history, hash_then


def _compare_heads(
    head: Head, hash_then: str | None, seen: Head, refuse: Callable[[str], NoReturn]
) -> None:
    if head.ledger != seen.ledger:
        refuse("it is not the ledger that this machine used under this address before")
    if head.sequence < seen.sequence:
        refuse(
            f"it ends at entry {head.sequence} and had come to entry {seen.sequence} on this "
            "machine before. An old copy was put back, or entries were cut off"
        )
    if hash_then != seen.hash:
        refuse(f"entry {seen.sequence} is not the one that this machine saw before")


def _compare_tables(
    connection: sa.Connection, history: History, refuse: Callable[[str], NoReturn]
) -> None:
    def same(what: str, found: Iterable[Any], expected: Iterable[Any]) -> None:
        if sorted(map(tuple, found)) != sorted(map(tuple, expected)):
            refuse(f"its {what} do not agree with its entries")

    same(
        "accounts",
        connection.execute(sa.select(accounts)).all(),
        ((name, *values) for name, values in history.accounts.items()),
    )
    same(
        "quotas",
        connection.execute(sa.select(quotas)).all(),
        (
            (*who, *limits, *history.spent_by.get(who, (0, 0)))
            for who, limits in history.quotas.items()
        ),
    )
    same("covers", connection.execute(sa.select(covers)).all(), history.covers.items())
    stored = connection.execute(sa.select(results.c.sequence)).all()
    same("results", stored, ((sequence,) for sequence in history.results))


def _compare_results(
    connection: sa.Connection, history: History, refuse: Callable[[str], NoReturn]
) -> None:
    with connection.execution_options(yield_per=10).execute(sa.select(results)) as rows:
        for sequence, payload in rows:
            if digest_of(payload) != history.results[sequence]:
                refuse(f"the stored result of entry {sequence} was changed")
