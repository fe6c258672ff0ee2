"""``hc.open``: a table, its users, and the account that pays."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcount.errors import LedgerError, UsageError

if TYPE_CHECKING:
    from headcount.privacy.budget import Budget
    from headcount.releases.dataset import Dataset


def default_ledger_path() -> Path:
    """Where the ledger is when nobody says: HEADCOUNT_LEDGER, or the user's data folder."""
    named = os.environ.get("HEADCOUNT_LEDGER")
    if named:
        return Path(named)
    data_home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    folder = Path(data_home) / "headcount"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        raise LedgerError(
            f"The folder {str(folder)!r} for the ledger cannot be made. Say where the ledger is: "
            "ledger='ledger.db', or set HEADCOUNT_LEDGER."
        ) from None
    return folder / "ledger.db"


def open(  # noqa: A001  hc.open reads as it should
    source: Any,
    *,
    user: str,
    budget: Budget | None = None,
    ledger: str | Path | None = None,
    account: str | None = None,
    where: str | None = None,
) -> Dataset:
    """Open a table of events and the account that protects its users.

    source:  a path or glob of Parquet or CSV files; an Arrow, pandas, Polars, Ibis or Spark table;
             or an address such as ``duckdb://file.duckdb?table=events`` or
             ``postgres://user@host/database?table=events``
    user:    the column that says whose row it is
    budget:  the limit, when the account is opened for the first time
    ledger:  the ledger's file; ``HEADCOUNT_LEDGER`` or the user's data folder when not given
    account: the dataset's name in the ledger; a path names itself. Copies and views of the same
             people's data must share one account
    where:   a public condition on the table's own columns, such as ``country = 'SE'``
    """
    from headcount.ledger.ledger import Ledger
    from headcount.releases.dataset import Dataset
    from headcount.tables.user_table import open_table

    if account is None:
        if not isinstance(source, str | Path) or "://" in str(source):
            raise UsageError(
                "This source has no name of its own, and a budget belongs to a named dataset. "
                "Give it one: account='web-events'."
            )
        account = str(Path(source).absolute())
    table = open_table(source, user=user, where=where)
    book = Ledger(ledger if ledger is not None else default_ledger_path())
    book.open_account(account, budget)
    return Dataset(table, book, account, account, where)
