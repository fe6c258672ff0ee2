"""From an address to its store."""

from __future__ import annotations

from headcount.ledger.address import Address
from headcount.ledger.stores.store import Store


def open_store(address: Address) -> Store:
    """The store at an address, with its settings checked when it connects."""
    if address.is_postgres:
        from headcount.ledger.stores.postgres import PostgresStore

        return PostgresStore(address)
    from headcount.ledger.stores.sqlite import SQLiteStore
    from headcount.ledger.stores.sqlite_reader import SQLiteReader, may_only_read

    return SQLiteReader(address) if may_only_read(address.path) else SQLiteStore(address)
