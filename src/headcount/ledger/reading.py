"""What a ledger says, as values: accounts, quotas, charges, and the journal itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import sqlalchemy as sa

from headcount.ledger.account import Account, Entry, Proof, Quota, from_units
from headcount.ledger.journal import (
    CHARGE,
    COVER,
    IN_CHAIN,
    OPEN,
    PART,
    PER_WINDOW,
    RESULT,
    is_kind,
)
from headcount.ledger.schema import (
    accounts,
    covers,
    entries,
    parts,
    per_window,
    pieces,
    quotas,
    results,
)
from headcount.ledger.windows import FIXED, windows_from
from headcount.privacy.event import from_record
from headcount.privacy.neighbours import Neighbours

ACCOUNTS = sa.select(
    accounts.c.name,
    accounts.c.neighbours,
    accounts.c.stated_delta,
    accounts.c.rho_limit,
    accounts.c.delta_limit,
    accounts.c.rho_spent,
    accounts.c.delta_spent,
    *FIXED,
).select_from(accounts.outerjoin(per_window, per_window.c.account == accounts.c.name))
ACCOUNT = ACCOUNTS.where(accounts.c.name == sa.bindparam("name"))
QUOTA_OF = sa.select(quotas).where(
    quotas.c.account == sa.bindparam("account"), quotas.c.analyst == sa.bindparam("analyst")
)
N_LOOKED = 100
"""So many are looked at for the columns that name an account's users."""
COVERING = sa.select(covers.c.account).where(covers.c.source == sa.bindparam("source"))


def account_from(row: Any) -> Account:
    """An account, from its row."""
    name, neighbours, stated_delta, *units = row[:7]
    return Account(
        name=name,
        neighbours=Neighbours(neighbours),
        limit=from_units(units[0], units[1]),
        spent=from_units(units[2], units[3]),
        stated_delta=Fraction(stated_delta),
        windows=windows_from(row[7:13]),
    )


def quota_from(row: Any) -> Quota:
    """A quota, from its row."""
    account, analyst, *units = row
    return Quota(account, analyst, from_units(*units[:2]), from_units(*units[2:]))


def all_accounts(connection: sa.Connection) -> list[Account]:
    """All accounts, by name."""
    return [account_from(row) for row in connection.execute(ACCOUNTS.order_by(accounts.c.name))]


def quotas_of(connection: sa.Connection, account: str) -> list[Quota]:
    """The quotas of an account, by analyst."""
    query = _by(quotas, quotas.c.analyst).where(quotas.c.account == account)
    return [quota_from(row) for row in connection.execute(query)]


def covered_by(connection: sa.Connection, account: str) -> list[str]:
    """The sources that an account covers."""
    query = _by(covers, covers.c.source).where(covers.c.account == account)
    return [row.source for row in connection.execute(query)]


def covering(connection: sa.Connection, sources: Sequence[str]) -> dict[str, str]:
    """The accounts that cover these sources, by source."""
    found = {}
    for source in dict.fromkeys(sources):
        account = connection.execute(COVERING, {"source": source}).scalar()
        if account is not None:
            found[source] = str(account)
    return found


def covered_from(connection: sa.Connection, start: str) -> list[tuple[str, str]]:
    """The covered sources that begin so, each with its account."""
    query = sa.select(covers).where(sa.func.substr(covers.c.source, 1, len(start)) == start)
    return [(row.source, row.account) for row in connection.execute(query)]


def first_covered(connection: sa.Connection, sources: Sequence[str]) -> str | None:
    """The one of the sources that was covered first."""
    query = (
        sa.select(entries.c.key)
        .where(is_kind(COVER), entries.c.key.in_(sources))
        .order_by(entries.c.sequence)
        .limit(1)
    )
    found = connection.execute(query).scalar() if sources else None
    return None if found is None else str(found)


def keys_from(connection: sa.Connection, account: str, start: str) -> list[str]:
    """The keys of an account that begin so."""
    query = sa.select(entries.c.key).where(
        is_kind(CHARGE),
        entries.c.account == account,
        sa.func.substr(entries.c.key, 1, len(start)) == start,
    )
    return [row.key for row in connection.execute(query)]


def _by(table: sa.Table, column: sa.Column[Any]) -> sa.Select[Any]:
    return sa.select(table).order_by(column)


def _is_in(table: sa.Table) -> sa.ColumnElement[bool]:
    return sa.exists().where(table.c.sequence == entries.c.sequence)


def charges_of(connection: sa.Connection, account: str, verb: str | None = None) -> list[Entry]:
    """All charges of an account, or those of one verb, oldest first."""
    of_parts = sa.select(sa.func.count()).where(parts.c.sequence == entries.c.sequence)
    query = (
        sa.select(
            entries,
            sa.or_(_is_in(results), _is_in(pieces)).label("has_result"),
            of_parts.scalar_subquery().label("n_parts"),
        )
        .where(is_kind(CHARGE), entries.c.account == account)
        .order_by(entries.c.sequence)
    )
    if verb is not None:
        query = query.where(entries.c.verb == verb)
    return [
        Entry(
            sequence=row.sequence,
            account=row.account,
            key=row.key,
            verb=row.verb,
            spend=from_units(row.rho, row.delta),
            charged_at=row.at,
            has_result=bool(row.has_result),
            analyst=row.analyst,
            about=json.loads(row.about),
            event=from_record(json.loads(row.event)),
            neighbours=Neighbours(row.neighbours),
            n_parts=int(row.n_parts),
        )
        for row in connection.execute(query)
    ]


def proof_of(connection: sa.Connection, ledger: str, sequence: int) -> Proof | None:
    """What the journal has to show for the charge of this number."""
    whole = sa.select(entries).where(IN_CHAIN)
    found = connection.execute(whole.where(is_kind(CHARGE), entries.c.sequence == sequence)).first()
    if found is None:
        return None
    same = entries.c.account == found.account
    opened = connection.execute(whole.where(is_kind(OPEN), same)).one()
    windows = connection.execute(whole.where(is_kind(PER_WINDOW), same)).first()
    # The hash of a result vouches for the moment it was stored; how long a release took is for
    # nobody outside.
    before_reading = whole.where(~is_kind(RESULT), ~is_kind(PART))
    newest = connection.execute(before_reading.order_by(entries.c.sequence.desc()).limit(1)).one()
    spent = connection.execute(
        sa.select(sa.func.sum(entries.c.rho), sa.func.sum(entries.c.delta)).where(
            is_kind(CHARGE), IN_CHAIN, same, entries.c.sequence <= sequence
        )
    ).one()
    return Proof(
        ledger,
        dict(opened._mapping),
        dict(found._mapping),
        (int(newest.sequence), str(newest.hash)),
        (int(spent[0]), int(spent[1])),
        None if windows is None else dict(windows._mapping),
    )


def users_of(connection: sa.Connection, account: str) -> set[str]:
    """The columns that named the users in the first and the last charges of an account."""
    query = sa.select(entries.c.about).where(is_kind(CHARGE), entries.c.account == account)
    ends = (entries.c.sequence.asc(), entries.c.sequence.desc())
    rows = [row for end in ends for row in connection.execute(query.order_by(end).limit(N_LOOKED))]
    return {str(user) for row in rows if (user := json.loads(row.about).get("user"))}


def runs(connection: sa.Connection) -> Callable[..., list[Any]]:
    """What runs statements on a connection and returns the rows of each."""
    return lambda *steps: [connection.execute(*step).all() for step in steps]


def journal(connection: sa.Connection) -> list[dict[str, Any]]:
    """Every entry of every kind, as it is stored; results are not part of it, their hashes are."""
    rows = connection.execute(sa.select(entries).order_by(entries.c.sequence))
    return [dict(row._mapping) for row in rows]
