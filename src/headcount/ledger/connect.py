"""From an address to its store, and from a driver's error to words that give nothing away."""

from __future__ import annotations

from headcount.ledger.address import Address
from headcount.ledger.store import Store

SQLITE_REASONS = (
    ("not a database", "it is not a ledger"),
    ("disk is full", "the disk is full"),
    ("disk I/O", "the disk failed or is full"),
    ("locked", "another process kept it locked for too long"),
    ("malformed", "its file is damaged; bring back the newest copy"),
    ("while it was read", "it was written to while it was read; try again"),
    ("readonly", "it may not be written to; check its permissions"),
    ("unable to open", "its file cannot be opened; check the path and its permissions"),
)


def open_store(address: Address) -> Store:
    """The store at an address, with its settings checked when it connects."""
    if address.is_postgres:
        from headcount.ledger.postgres import PostgresStore

        return PostgresStore(address)
    from headcount.ledger.sqlite import SQLiteStore
    from headcount.ledger.sqlite_reader import SQLiteReader, may_only_read

    return SQLiteReader(address) if may_only_read(address.path) else SQLiteStore(address)


def reason(error: BaseException) -> str:
    """What a driver's error means. Never its own text, which may hold a password or a payload."""
    original = getattr(error, "orig", None) or error
    state = getattr(original, "sqlstate", None)
    if state == "42501":
        return "the role that logged in may not do this; the ledger's owner can grant it"
    if state is not None:
        return f"the database refused a statement (SQLSTATE {state})"
    if type(original).__module__.startswith("psycopg"):
        return "the server cannot be reached, or did not accept the login"
    text = str(original)
    for part, meaning in SQLITE_REASONS:
        if part in text:
            return meaning
    return f"the database reported an error ({type(original).__name__})"
