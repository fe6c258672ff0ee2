"""A table that was opened, with the account that protects its users: what every verb plans from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn, Self

from headcount.errors import UsageError
from headcount.ledger.account import Account, Opening
from headcount.privacy.argument import NOTHING
from headcount.releases.owned import Owned, not_pickled
from headcount.releases.windows import need_during, no_windows, scarcest, window_in

if TYPE_CHECKING:
    from datetime import date

    from headcount.ledger.ledger import Ledger
    from headcount.privacy.during import Window
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
    def whole_account(self) -> Account:
        """The account as the ledger has it now, or as the first release will open it."""
        self._owned.check("Dataset")
        return self.ledger.find_account(self.account_name) or self.opening.account

    @property
    def account(self) -> Account:
        """The same; where windows were named, as the scarcest of these has it."""
        account, during = self.whole_account, self.table.windows
        return account if during is None else scarcest(self.ledger, account, during)

    @property
    def window(self) -> Window | None:
        """What a window of the account is, if each has a budget."""
        return window_in(self.opening.account)

    def check_windows(self) -> None:
        """Refuse a release that does not say its windows, where each of them has a budget."""
        if self.window is not None and self.table.windows is None:
            raise need_during(self.window)

    def _during(self, first: str | date, last: str | date | None) -> Self:
        if self.window is None:
            raise no_windows(self.account_name)
        if self.table.windows is not None:
            raise UsageError(
                f"The windows were named already: {self.table.windows}. Call during on what "
                f"hc.open returned. {NOTHING}"
            )
        table = self.table.during(self.window.during(first, last))
        return type(self)(table, self.ledger, self.opening, self.where, self.mistaken_users)

    def narrowed(self, where: str) -> Opened:
        """The same people, by those of their rows that a public condition chooses."""
        self._owned.check("Dataset")
        table = self.table.narrowed(where)
        return Opened(table, self.ledger, self.opening, where, self.mistaken_users)

    def opening_of(self, account: Account) -> Opening:
        """What a charge opens: nothing, where the account was there when this was planned."""
        if account is self.opening.account:
            return self.opening
        return replace(self.opening, account=account, budget=None, windows=None)

    def __reduce__(self) -> NoReturn:
        raise not_pickled("Dataset")
