"""Verify a copy of a ledger, offline: a backup, or the journal that was exported.

A copy may be old, so it is not held to the head of this machine, and no head moves. A backup is
looked at in a private folder, brought up to date there, and is never written to itself.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections import namedtuple
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from headcount.errors import LedgerError, UsageError
from headcount.ledger.address import parse_address
from headcount.ledger.distrust import distrusted
from headcount.ledger.history import ContradictionError, History
from headcount.ledger.journal import FIELDS, HASHED, start
from headcount.ledger.schema import VERSION_TABLE
from headcount.ledger.stores.connect import open_store
from headcount.ledger.stores.log_files import is_open_here, one_at_a_time
from headcount.ledger.stores.migrate import bring_up_to_date
from headcount.ledger.stores.refusals import reason
from headcount.ledger.verify import check
from headcount.screens import quoted

Row = namedtuple("Row", FIELDS)  # type: ignore[misc]
NUMBERS = ("sequence", "rho", "delta")
GIVE = (
    "Give the path of a ledger file, or of what `headcount ledger export` wrote. Nothing was "
    "changed."
)
SQLITE = b"SQLite format 3\x00"


def verify_copy(path: str | Path) -> History:
    """Check every entry, sum, cost and stored result of a copy, as far as it goes."""
    where = Path(path)
    try:
        return _database(where) if _is_database(where) else _journal(where)
    except OSError:
        raise UsageError(f"The copy {quoted(where)} cannot be read. {GIVE}") from None


def _is_database(path: Path) -> bool:
    if is_open_here(path):
        # Not looked into: closing it again would give up the locks of the ledger that is open.
        return True
    with path.open("rb") as file:
        return file.read(len(SQLITE)) == SQLITE


def _database(path: Path) -> History:
    with tempfile.TemporaryDirectory(prefix="headcount-copy-") as folder:
        mine = Path(folder) / "copy.db"
        store = None
        try:
            _copy(path, mine)
            store = open_store(parse_address(mine))
            if VERSION_TABLE not in store.tables():
                raise UsageError(f"The copy {quoted(path)} is a database without a ledger. {GIVE}")
            bring_up_to_date(store)
            with store.reading() as connection:
                return check(store, connection, None, full=True)
        except sqlite3.Error as error:
            raise LedgerError(f"The copy {quoted(path)}: {reason(error)}.") from None
        except LedgerError as error:
            # The path of the private folder means nothing to anybody.
            raise LedgerError(str(error).replace(str(mine), str(path))) from None
        finally:
            if store is not None:
                store.engine.dispose()


def _copy(path: Path, to: Path) -> None:
    has_log = Path(f"{path}-wal").exists()
    only_read = "mode=ro" if has_log else "mode=ro&immutable=1"
    address = f"{path.resolve().as_uri()}?{only_read}"
    # In a turn: it may be a ledger that this process has open.
    with (
        one_at_a_time(),
        closing(sqlite3.connect(address, uri=True)) as source,
        closing(sqlite3.connect(to)) as own,
    ):
        source.backup(own)


def _journal(path: Path) -> History:
    history = None
    for row in rows_in(path):
        if history is None:
            history = History(start(""))
            # The name of the ledger is not in its journal; the first entry stands for it.
            history.head = type(history.head)("", row.sequence - 1, row.previous)
            if row.sequence != 1:
                raise distrusted(path, f"entry {history.head.sequence} is missing")
        try:
            history.add(row, full=True)
        except ContradictionError as error:
            raise distrusted(path, str(error)) from None
    if history is None:
        raise UsageError(f"The copy {quoted(path)} is empty. Nothing was changed.")
    try:
        for _ in history.window_rows():
            pass
    except ContradictionError as error:
        raise distrusted(path, str(error)) from None
    if history.understated:
        raise distrusted(path, history.too_cheap)
    return history


def rows_in(path: Path) -> Iterator[Any]:
    """The entries of a journal that was exported, each by the names of its fields."""
    # As bytes: what is no text is no entry either, and is refused as such.
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
                row = Row(**record)
                whole = all(isinstance(getattr(row, name), int) for name in NUMBERS)
                texts = all(isinstance(record[n], str) for n in HASHED if n not in NUMBERS)
            except (ValueError, TypeError, RecursionError):
                whole = texts = False
            if not (whole and texts):
                raise UsageError(f"Line {number} of {quoted(path)} is no entry of a ledger. {GIVE}")
            yield row
