"""The ledger of one machine, in one SQLite file: accounts, charges, and what was released.

Order matters more than anything else here. A charge is committed before data is read; a result is
stored before it is shown; neither is ever taken back. A crash at any point may waste budget, and
never hands any out twice.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from headcount.accounting.compose import cost, cost_in_account
from headcount.accounting.convert import epsilon_at, shown, zcdp_of
from headcount.errors import BudgetError, KeyReusedError, LedgerError, NoAccountError
from headcount.ledger.account import Account, Charge, Entry, from_units, units_up
from headcount.ledger.store import accounts, entries, metadata, results, sqlite_engine
from headcount.privacy.budget import Budget
from headcount.privacy.event import Event, to_record
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp


class Ledger:
    """Accounts and their charges. Safe to open from many processes of one machine at once."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise LedgerError(
                f"The folder of the ledger {str(self.path)!r} does not exist. Make it first."
            )
        self._engine = sqlite_engine(self.path)
        try:
            with self._engine.begin() as connection:
                metadata.create_all(connection)
        except SQLAlchemyError:
            raise LedgerError(
                f"{str(self.path)!r} is not a ledger that can be opened and written. Nothing was "
                "charged. Check the path and its permissions."
            ) from None

    def open_account(
        self,
        name: str,
        budget: Budget | None = None,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> Account:
        """The account of this name; opened with ``budget`` if there is none yet.

        A budget is a promise that was made: a different one for an open account is refused.
        """
        with self._engine.begin() as connection:
            row = connection.execute(sa.select(accounts).where(accounts.c.name == name)).first()
            if row is None:
                if budget is None:
                    raise NoAccountError(
                        f"There is no account {name!r} in the ledger {str(self.path)!r}, and no "
                        "budget to open it with. Give budget=hc.Budget(epsilon=1, delta=1e-6)."
                    )
                limit = zcdp_of(budget)
                rho, delta = units_up(limit)
                connection.execute(
                    accounts.insert().values(
                        name=name,
                        neighbours=neighbours.value,
                        stated_delta=str(budget.stated_delta),
                        rho_limit=rho,
                        delta_limit=delta,
                    )
                )
                return Account(name, neighbours, limit, Zcdp(0), budget.stated_delta)
            account = _account(row)
        if account.neighbours is not neighbours:
            raise LedgerError(
                f"Account {name!r} was opened for {account.neighbours.sentence}; it cannot be used "
                f"for {neighbours.sentence}. Nothing was charged."
            )
        if budget is not None and zcdp_of(budget) != account.limit:
            raise LedgerError(
                f"Account {name!r} was opened with another budget: {account}. A budget is a "
                "promise and does not change. Leave budget out to use the account as it is."
            )
        return account

    def account(self, name: str) -> Account:
        """The account of this name as it stands now."""
        with self._engine.connect() as connection:
            row = connection.execute(sa.select(accounts).where(accounts.c.name == name)).first()
        if row is None:
            raise NoAccountError(f"There is no account {name!r} in the ledger {str(self.path)!r}.")
        return _account(row)

    def accounts(self) -> list[Account]:
        """All accounts, by name."""
        with self._engine.connect() as connection:
            rows = connection.execute(sa.select(accounts).order_by(accounts.c.name)).all()
        return [_account(row) for row in rows]

    def entries(self, account: str) -> list[Entry]:
        """All charges of an account, oldest first."""
        query = (
            sa.select(entries, results.c.sequence.is_not(None).label("has_result"))
            .select_from(entries.outerjoin(results, entries.c.sequence == results.c.sequence))
            .where(entries.c.account == account)
            .order_by(entries.c.sequence)
        )
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
        return [
            Entry(
                sequence=row.sequence,
                account=row.account,
                key=row.key,
                verb=row.verb,
                spend=from_units(row.rho, row.delta),
                charged_at=row.charged_at,
                has_result=bool(row.has_result),
            )
            for row in rows
        ]

    def charge(
        self,
        account: str,
        *,
        key: str,
        request_hash: str,
        verb: str,
        event: Event,
        neighbours: Neighbours,
    ) -> Charge:
        """Charge an event, or find the charge made before under the same key.

        The cost comes from the event's parameters and nothing else, so that neither it nor a
        refusal can depend on data.
        """
        with self._engine.begin() as connection:
            known = connection.execute(
                sa.select(entries).where(entries.c.account == account, entries.c.key == key)
            ).first()
            if known is not None:
                if known.request_hash != request_hash:
                    raise KeyReusedError(
                        f"The key {key!r} was used before in account {account!r} for a different "
                        "request. Nothing was read and nothing was charged. Use a new key."
                    )
                return Charge(known.sequence, False, _stored(connection, known.sequence))
            row = connection.execute(sa.select(accounts).where(accounts.c.name == account)).first()
            if row is None:
                raise NoAccountError(f"There is no account {account!r} in this ledger.")
            here = _account(row)
            spend = cost_in_account(cost(event), neighbours, here.neighbours)
            rho, delta = units_up(spend)
            taken = connection.execute(
                accounts.update()
                .where(
                    accounts.c.name == account,
                    accounts.c.rho_spent + rho <= accounts.c.rho_limit,
                    accounts.c.delta_spent + delta <= accounts.c.delta_limit,
                )
                .values(
                    rho_spent=accounts.c.rho_spent + rho,
                    delta_spent=accounts.c.delta_spent + delta,
                )
            )
            if taken.rowcount != 1:
                raise BudgetError(refusal(here, spend))
            made = connection.execute(
                entries.insert().values(
                    account=account,
                    key=key,
                    request_hash=request_hash,
                    verb=verb,
                    rho=rho,
                    delta=delta,
                    event=json.dumps(to_record(event), sort_keys=True),
                    charged_at=datetime.now(UTC).isoformat(timespec="seconds"),
                )
            )
            (sequence,) = made.inserted_primary_key or (0,)
        return Charge(int(sequence), True, None)

    def store_result(self, sequence: int, payload: bytes) -> bytes:
        """Keep what a charge is about to release, and return what may be shown.

        If another process stored a result for the same charge first, that one is returned: a
        second draw of noise for one charge must never leave.
        """
        with self._engine.begin() as connection:
            stored = _stored(connection, sequence)
            if stored is not None:
                return stored
            connection.execute(results.insert().values(sequence=sequence, payload=payload))
        return payload

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"


def refusal(account: Account, spend: Zcdp) -> str:
    """Why an account cannot pay, with what was asked and what is left."""
    if spend.rho > account.left.rho:
        at = account.stated_delta - account.limit.delta
        has = f"epsilon {shown(account.epsilon_left)} left"
        needs = f"{shown(epsilon_at(spend.rho, at))}"
    else:
        has = f"delta {float(account.left.delta):.3g} left for thresholds"
        needs = f"{float(spend.delta):.3g}"
    return (
        f"Account {account.name!r} has {has}, this release needs {needs}. "
        "Nothing was read and nothing was charged."
    )


def _account(row: Any) -> Account:
    return Account(
        name=row.name,
        neighbours=Neighbours(row.neighbours),
        limit=from_units(row.rho_limit, row.delta_limit),
        spent=from_units(row.rho_spent, row.delta_spent),
        stated_delta=Fraction(row.stated_delta),
    )


def _stored(connection: sa.Connection, sequence: int) -> bytes | None:
    payload: bytes | None = connection.execute(
        sa.select(results.c.payload).where(results.c.sequence == sequence)
    ).scalar()
    return payload
