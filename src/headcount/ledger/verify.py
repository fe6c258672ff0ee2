"""Read the journal again: is every entry the one that was written, and does all else agree?

Opening a ledger reads what came since this machine read it last, and compares the sums;
``headcount ledger verify`` reads everything from the start, the stored results too, and works every
cost out anew. What cannot be seen from inside, a ledger that was put back to an earlier day or
exchanged for another, the head outside the database shows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

import sqlalchemy as sa

from headcount.ledger import parts, pieces
from headcount.ledger.distrust import distrusted
from headcount.ledger.history import ContradictionError, History
from headcount.ledger.journal import IN_CHAIN, LAST, Head, head_from, start
from headcount.ledger.schema import (
    accounts,
    covers,
    entries,
    ledger,
    per_window,
    quotas,
    results,
    windows,
)
from headcount.ledger.schema import parts as parts_table
from headcount.ledger.schema import pieces as pieces_table
from headcount.ledger.stores.store import Store

Refuse = Callable[[str], NoReturn]
FEW = 16
"""Pieces that are held at once; one may have some megabytes."""


def name_of(connection: sa.Connection, address: object) -> str:
    """The ledger's own name."""
    names = connection.execute(sa.select(ledger.c.id)).scalars().all()
    if len(names) != 1:
        raise distrusted(address, "its own name was removed")
    return str(names[0])


def check(
    store: Store,
    connection: sa.Connection,
    seen: Head | None,
    read_before: History | None = None,
    *,
    full: bool,
) -> History:
    """Check a ledger from one moment's view of it; refuse with what is wrong.

    ``seen`` is the head outside, read before that moment. ``read_before`` is what this machine
    knows of the entries up to some point. ``full`` reads all of them, the stored results and the
    database's pages too.
    """

    def refuse(what: str) -> NoReturn:
        raise distrusted(store.address, what)

    if full and (damage := store.damage(connection)) is not None:
        refuse(damage)
    name = name_of(connection, store.address)
    if seen is not None and seen.ledger != name and read_before is not None:
        read_before = None
    history = History(start(name)) if full or read_before is None else read_before
    hash_then = _read_journal(connection, history, seen, refuse, full=full)
    if seen is not None:
        _compare_heads(history.head, hash_then, seen, refuse)
    _compare_tables(connection, history, refuse)
    if full:
        _compare_results(connection, history, refuse)
        _compare_parts(connection, history, refuse)
    if history.understated:
        # Last, and all of them: an analyst can write one, and must not hide anything else by it.
        refuse(history.too_cheap)
    return history


def _read_journal(
    connection: sa.Connection,
    history: History,
    seen: Head | None,
    refuse: Refuse,
    *,
    full: bool,
) -> str | None:
    """Read on, and return the hash at the entry that was seen."""
    begun = history.head
    before_all = sa.select(sa.func.min(entries.c.sequence)).where(~IN_CHAIN)
    if (odd := connection.execute(before_all).scalar()) is not None:
        refuse(f"entry {odd} stands before the first one, where no ledger writes any")
    at_start = sa.select(entries.c.hash).where(entries.c.sequence == begun.sequence)
    if begun.sequence > 0 and connection.execute(at_start).scalar() != begun.hash:
        last = head_from(connection.execute(LAST).all(), begun.ledger)
        _compare_heads(last, None, begun, refuse)
    hash_then = begun.hash if seen is not None and seen.sequence == begun.sequence else None
    found = connection.execution_options(yield_per=1000).execute(
        sa.select(entries).where(entries.c.sequence > begun.sequence).order_by(entries.c.sequence)
    )
    with found as rows:
        for row in rows:
            try:
                history.add(row, full=full)
            except ContradictionError as error:
                refuse(str(error))
            if seen is not None and seen.sequence == row.sequence:
                hash_then = row.hash
    if hash_then is None and seen is not None and seen.sequence < begun.sequence:
        earlier = sa.select(entries.c.hash).where(entries.c.sequence == seen.sequence)
        hash_then = connection.execute(earlier).scalar()
    return hash_then


def _compare_heads(head: Head, hash_then: str | None, seen: Head, refuse: Refuse) -> None:
    if head.ledger != seen.ledger:
        refuse(
            "it is not the ledger that this machine used under this address before. A new ledger "
            "goes under a new name: another file or database"
        )
    if head.sequence < seen.sequence:
        refuse(
            f"it ends at entry {head.sequence} and had come to entry {seen.sequence} on this "
            "machine before. An old copy was put back, or entries were cut off"
        )
    if seen.sequence > 0 and hash_then != seen.hash:
        refuse(
            f"entry {seen.sequence} is not the one that this machine saw before. Two servers both "
            "took charges, or history was rewritten: see 'Two servers took charges' in "
            "docs/how-to/ledger.md"
        )


def _compare_tables(connection: sa.Connection, history: History, refuse: Refuse) -> None:
    def same(what: str, found: Iterable[Any], expected: Iterable[Any]) -> None:
        in_table, in_journal = (set(map(tuple, rows)) for rows in (found, expected))
        if in_table != in_journal:
            odd = min(in_table ^ in_journal)[0]
            last = history.last_of.get(str(odd))
            upto = "" if last is None else f", the last of which is entry {last}"
            refuse(f"its {what} do not agree with its entries at {odd!r}{upto}")

    same("accounts", connection.execute(sa.select(accounts)).all(), history.account_rows())
    same("quotas", connection.execute(sa.select(quotas)).all(), history.quota_rows())
    same("windows", connection.execute(sa.select(per_window)).all(), history.fixed_rows())
    try:
        same("windows", connection.execute(sa.select(windows)).all(), history.window_rows())
    except ContradictionError as error:
        refuse(str(error))
    same("covers", connection.execute(sa.select(covers)).all(), history.covers.items())


def _compare_results(connection: sa.Connection, history: History, refuse: Refuse) -> None:
    def refuse_count(sequence: int) -> NoReturn:
        refuse(
            f"its results do not agree with its entries: what is stored of entry {sequence} is "
            "not what was written"
        )

    found = set()
    for sequence, n, digest in _stored(connection):
        expected = history.results.get(sequence)
        if expected is None or expected[1] != n:
            refuse_count(sequence)
        if expected[0] != digest:
            refuse(f"the stored result of entry {sequence} was changed")
        found.add(sequence)
    for sequence in sorted(history.results.keys() - found):
        refuse_count(sequence)
    history.read_results = True


def _compare_parts(connection: sa.Connection, history: History, refuse: Refuse) -> None:
    missing = set(history.parts)
    in_order = sa.select(parts_table).order_by(parts_table.c.sequence, parts_table.c.part)
    with connection.execution_options(yield_per=FEW).execute(in_order) as rows:
        for sequence, part, payload in rows:
            if (sequence, part) not in missing:
                refuse(f"no entry says that part {part} of entry {sequence} was stored")
            if parts.digest_of(payload) != history.parts[sequence, part]:
                refuse(f"part {part} of entry {sequence} was changed")
            missing.remove((sequence, part))
    for sequence, part in sorted(missing):
        refuse(f"part {part} of entry {sequence} is missing")


def _stored(connection: sa.Connection) -> Iterator[tuple[int, int | None, str | None]]:
    """Of each stored result: its charge, how many pieces it is in, and its digest.

    Read in passing, since one question for each of many would take long, and all at once much room.
    """
    few = connection.execution_options(yield_per=FEW)
    with few.execute(sa.select(results)) as whole:
        for sequence, payload in whole:
            yield sequence, None, pieces.digest_of([payload])
    in_order = sa.select(pieces_table).order_by(pieces_table.c.sequence, pieces_table.c.piece)
    with few.execute(in_order) as rows:
        for sequence, parts in itertools.groupby(rows, key=lambda row: int(row.sequence)):
            numbers: list[int] = []
            digest = pieces.digest_of(_noting(parts, numbers))
            is_counted = numbers == list(range(len(numbers)))
            yield sequence, len(numbers) if is_counted else -1, digest


def _noting(parts: Iterable[Any], numbers: list[int]) -> Iterator[Any]:
    for row in parts:
        numbers.append(int(row.piece))
        yield row.payload
