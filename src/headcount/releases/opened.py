"""A table that was opened, with the account that protects its users: what every verb plans from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from headcount.ledger.account import Account, Opening
from headcount.releases.owned import Owned, not_pickled

if TYPE_CHECKING:
    from headcount.ledger.ledger import Ledger
    from headcount.tables.user_table import UserTable


class Opened:
    """The rows, the ledger, and the account as it is or as the first charge will open it."""

    table: UserTable
    """The rows, with the column that says whose each is."""
    ledger: Ledger
    """The ledger that pays."""
    opening: Opening
    """The account, and the budget that opens it if it is new."""
    where: str | None
    """The public condition that rows were chosen by."""
    mistaken_users: tuple[str, ...]
    """Columns that were given as the user by mistake before."""

    def __init__(
        self,
        table: UserTable,
        ledger: Ledger,
        opening: Opening,
        where: str | None,
        mistaken_users: tuple[str, ...] = (),
    ) -> None:
        self.table = table
        self.ledger = ledger
        self.opening = opening
        self.where = where
        self.mistaken_users = mistaken_users
        self._owned = Owned()

    @property
    def account_name(self) -> str:
        """What the account is called in the ledger."""
        return self.opening.account.name

    @property
    def account(self) -> Account:
        """The account as the ledger has it now, or as the first release will open it."""
        self._owned.check("Dataset")
        return self.ledger.find_account(self.account_name) or self.opening.account

    def narrowed(self, where: str) -> Opened:
        """The same people, by those of their rows that a public condition chooses."""
        self._owned.check("Dataset")
        table = self.table.narrowed(where)
        return Opened(table, self.ledger, self.opening, where, self.mistaken_users)

    def opening_of(self, account: Account) -> Opening:
        """What a charge opens: nothing, where the account was there when this was planned."""
        is_new = account is self.opening.account
        return replace(
            self.opening, account=account, budget=self.opening.budget if is_new else None
        )

    def __reduce__(self) -> NoReturn:
        raise not_pickled("Dataset")
