"""Bring a ledger's schema up to date when it is opened, one process at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa

from headcount.errors import LedgerError
from headcount.ledger.schema import VERSION_TABLE, metadata
from headcount.ledger.store import Store

KNOWN = ("0001", "0002", "0003")
CURRENT = KNOWN[-1]
VERSION: sa.Select[Any] = sa.select(sa.column("version_num")).select_from(sa.table(VERSION_TABLE))
STEPS = Path(__file__).parent / "migrations"


def bring_up_to_date(store: Store) -> None:
    """Make the tables of a new ledger, or take those of an older one to this version."""
    # Asked without a lock first: almost always there is nothing to do.
    with store.reading() as connection:
        version = _version(store, connection)
        if version == CURRENT:
            return
        if version is not None and store.only_reads:
            raise LedgerError(
                f"The ledger {str(store.address)!r} was written by an earlier version of headcount "
                "and must be brought up to date, which this user may not do. Nothing was charged. "
                "Someone who may write to it looks at it once: headcount ledger show"
            )
    with store.changing() as connection:
        if _version(store, connection) != CURRENT:
            store.keep_others_out()
            _upgrade(connection)


def _version(store: Store, connection: sa.Connection) -> str | None:
    names = set(sa.inspect(connection).get_table_names())
    if VERSION_TABLE not in names:
        taken = sorted(names & set(metadata.tables))
        if taken:
            raise LedgerError(
                f"{str(store.address)!r} is not a ledger, and has tables of the names that one "
                f"needs: {', '.join(taken)}. Nothing was charged. Give the ledger a database of "
                "its own."
            )
        return None
    version = connection.execute(VERSION).scalar()
    if version is not None and version not in KNOWN:
        raise LedgerError(
            f"The ledger {str(store.address)!r} was written by a newer version of headcount "
            f"(schema {version}; this one knows {CURRENT}). Nothing was charged. Upgrade: "
            "pip install --upgrade headcount"
        )
    return None if version is None else str(version)


def _upgrade(connection: sa.Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    # Alembic reads a percent sign as the start of a variable.
    config.set_main_option("script_location", str(STEPS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
