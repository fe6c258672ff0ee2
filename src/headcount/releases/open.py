"""``hc.open``: a table, its users, and the account that pays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcount.privacy.neighbours import Neighbours

if TYPE_CHECKING:
    from headcount.ledger.ledger import Ledger
    from headcount.privacy.budget import Budget
    from headcount.releases.dataset import Dataset
    from headcount.tables.by import Truncate
    from headcount.tables.csv import Csv


def open(  # noqa: A001  hc.open reads as it should
    source: Any,
    *,
    user: str,
    budget: Budget | None = None,
    ledger: str | Path | Ledger | None = None,
    account: str | None = None,
    where: str | None = None,
    neighbours: str = "add-remove",
    csv: Csv | None = None,
    types: Mapping[str, str] | None = None,
    memory: str | None = None,
    scratch: str | Path | None = None,
    trusted_view: str | None = None,
    mistaken_users: Sequence[str] = (),
    window: Truncate | None = None,
    lifetime: Budget | None = None,
) -> Dataset:
    """Open a table of events and the account that protects its users.

    source:  a path or glob of Parquet or CSV files; an Arrow, pandas, Polars, Ibis or Spark table;
             or an address such as ``duckdb://file.duckdb?table=events`` or
             ``postgres://user@host/database?table=events``
    user:    the column that says whose row it is
    budget:  the limit of an account that is not open yet; the first release opens it
    ledger:  the ledger's file, ``postgresql://user@host/database`` for a team's, or a ``Ledger``
             that is open; ``HEADCOUNT_LEDGER`` or the user's data folder when not given
    account: the dataset's name in the ledger. A source keeps the account it was first charged
             to, however it is spelled, and a path that has none names itself. Copies of the same
             people's data must share one account
    where:   a public condition on the table's own columns, such as ``country = 'SE'``
    neighbours: what must be hard to tell apart: ``"add-remove"`` a user, or ``"replace"`` one by
             another where the number of users is public; fixed when the account is opened
    csv:     how CSV files are written, where it is not with commas and a header: ``hc.Csv(...)``
    types:   what columns of CSV files, and those in the names of folders, hold when it is not
             text: ``{"time": "timestamp", "price": "number"}``. A cell that is none is missing
    memory:  how much memory DuckDB may use, such as ``"2GB"``; the rest goes to a private folder
    scratch: the folder to make that private folder in, which you alone can read; else
             ``HEADCOUNT_TMP``, or where the system keeps temporary files
    trusted_view: who vouches, and why, that no row of a view depends on two users. It goes into
             the ledger and into what the release promises
    mistaken_users: columns that were given as ``user`` by mistake before, and name no people.
             Without this word nothing is counted by a column that named the account's users
    window:  a cut of the table's own times, ``hc.truncate("time", "day")``: each window then has a
             budget of its own, ``budget=hc.Budget(rho=0.015, per="day")``, and releases say which
             they are about: ``data.during("2026-03-01")``. Fixed when the account is opened; to
             use it, leave both out
    lifetime: with a window: the limit of all windows together, for somebody who is in all of them
    """
    from headcount.ledger.ledger import Ledger
    from headcount.releases.accounts import account_of, default_ledger, nameless, opening_of
    from headcount.releases.dataset import Dataset
    from headcount.releases.open_arguments import read_opening
    from headcount.releases.open_windows import check_windowed, windows_asked
    from headcount.releases.wide.place import sweep
    from headcount.tables.address import is_address
    from headcount.tables.source import Options
    from headcount.tables.user_table import open_table

    said = read_opening(
        user=user,
        budget=budget,
        ledger=ledger,
        account=account,
        where=where,
        neighbours=neighbours,
        csv=csv,
        types=types,
        memory=memory,
        scratch=scratch,
        trusted_view=trusted_view,
        mistaken_users=mistaken_users,
        window=window,
        lifetime=lifetime,
    )
    user, where, account, types = said["user"], said["where"], said["account"], said["types"]
    relation = Neighbours(said["neighbours"])
    named = isinstance(source, str | Path)
    if account is None and not named:
        raise nameless()
    options = Options(csv, types, memory, said["scratch"], trusted_view)
    table = open_table(source, user=user, where=where, options=options)
    book = ledger if isinstance(ledger, Ledger) else Ledger(default_ledger(ledger))
    sweep(book)
    own = str(Path(source).absolute()) if named and not is_address(str(source)) else None
    name = account_of(book, account, table.identity, own)
    asked = windows_asked(said["window"], budget, lifetime, relation, table)
    limit = budget if said["window"] is None else lifetime
    opening = opening_of(book, name, limit, relation, table.identity, asked)
    if opening.account.windows is not None:
        check_windowed(opening.account, table)
    return Dataset(table, book, opening, where, said["mistaken_users"])
