"""Bring a ledger's schema up to date when it is opened, one process at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa

from headcount.errors import LedgerError
from headcount.ledger.distrust import START_ANEW
from headcount.ledger.journal import Head
from headcount.ledger.schema import VERSION_TABLE, metadata
from headcount.ledger.stores.store import Store

KNOWN = ("0001", "0002", "0003", "0004", "0005", "0006")
CURRENT = KNOWN[-1]
VERSION: sa.Select[Any] = sa.select(sa.column("version_num")).select_from(sa.table(VERSION_TABLE))
STEPS = Path(__file__).parent / "migrations"


def is_there(store: Store, seen: Head | None) -> bool:
    """Whether a ledger is there; nothing is made. ``seen``: the head, as it was read before.

    Where this machine saw one that is gone, nothing may be put in its place.
    """
    if is_ledger(store, store.tables()):
        return True
    if seen is not None:
        raise LedgerError(
            f"There is no ledger at {str(store.address)!r}. One was there, and is gone, with "
            f"{seen.sequence} entries: bring it back, since without it nobody knows what was "
            "spent. Nothing was charged. If it is lost, treat all of its budgets as spent, and "
            f"{START_ANEW}."
        )
    return False


def is_ledger(store: Store, names: set[str]) -> bool:
    """Whether these are a ledger's tables, or none at all; those of others are left alone."""
    if VERSION_TABLE in names:
        return True
    if names:
        taken = sorted(names & set(metadata.tables))
        which = f"the names that one needs: {', '.join(taken)}" if taken else "something else"
        raise LedgerError(
            f"{str(store.address)!r} is not a ledger, and has tables of {which}. Nothing was "
            "changed and nothing was charged. Check --ledger and HEADCOUNT_LEDGER, or give the "
            "ledger a file or a database of its own."
        )
    return False


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
            upgrade(connection, STEPS)


def _version(store: Store, connection: sa.Connection) -> str | None:
    if not is_ledger(store, set(sa.inspect(connection).get_table_names())):
        return None
    version = connection.execute(VERSION).scalar()
    if version is not None and version not in KNOWN:
        raise LedgerError(
            f"The ledger {str(store.address)!r} was written by a newer version of headcount "
            f"(schema {version}; this one knows {CURRENT}). Nothing was charged. Upgrade: "
            "pip install --upgrade headcount"
        )
    return None if version is None else str(version)


def upgrade(connection: sa.Connection, steps: Path) -> None:
    """Bring a database up to date along the steps of a folder."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    # Alembic reads a percent sign as the start of a variable.
    config.set_main_option("script_location", str(steps).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
