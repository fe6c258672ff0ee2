"""Random charges of windows, held to a dict of what each window and each account has spent."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from headcount.errors import BudgetError, UsageError
from headcount.ledger.account import Charge
from headcount.ledger.ledger import Ledger
from headcount.ledger.windows import Windows
from headcount.privacy.budget import Budget
from headcount.privacy.event import Event, GaussianNoise, GaussianThreshold, Windowed
from headcount.privacy.neighbours import Neighbours

DAY = Windows.of("time", "day", "UTC", Budget(rho="0.02", delta="1e-6"))
MONTH = Windows.of("time", "month", "Europe/Stockholm", Budget(rho="0.01", delta="1e-6"))
LIFE = Budget(rho=9, delta="1e-4")
BOOK = {"both": (LIFE, DAY), "counts": (None, DAY), "monthly": (None, MONTH), "plain": (LIFE, None)}
THOUSANDTH = Fraction(1, 1000)
RESULT = b"rows"
FIRST, LAST = -30, 300
NO_LIMIT = Fraction(10**9)


def noise(rho: Fraction, delta: Fraction = Fraction(0)) -> Event:
    """An event of this cost."""
    if delta:
        return GaussianThreshold(Fraction(1), 1 / (2 * rho), delta)
    return GaussianNoise(Fraction(1), 1 / (2 * rho))


def new_book(address: str) -> Ledger:
    """A ledger with windows and a limit, with windows alone, of months, and with neither."""
    ledger = Ledger(address)
    for name, (budget, windows) in BOOK.items():
        ledger.open_account(name, budget, windows=windows)
    return ledger


def charge(ledger: Ledger, account: str, key: str, event: Event, **other: Any) -> Charge:
    """Charge an event as a verb would."""
    asked: dict[str, Any] = {"key": key, "request_hash": key, "verb": "count_users", "event": event}
    asked |= {"neighbours": Neighbours.ADD_REMOVE, "about": {}} | other
    return ledger.charge(ledger.opening(account), **asked)


class Model:
    """What is left, by account and window."""

    def __init__(self) -> None:
        self.spent: dict[tuple[str, int | None], list[Fraction]] = {}

    def limit(self, account: str, number: int | None) -> list[Fraction]:
        budget, windows = BOOK[account]
        if number is not None:
            assert windows is not None
            return [windows.limit.rho, windows.limit.delta]
        if budget is None:
            return [NO_LIMIT, NO_LIMIT]
        return [budget.rho or Fraction(0), budget.stated_delta / 2]

    def can_pay(self, account: str, number: int | None, cost: list[Fraction]) -> bool:
        spent = self.spent.get((account, number), [Fraction(0)] * 2)
        limit = self.limit(account, number)
        return all(s + c <= most for s, c, most in zip(spent, cost, limit, strict=True))

    def pay(self, account: str, number: int | None, cost: list[Fraction]) -> None:
        spent = self.spent.setdefault((account, number), [Fraction(0)] * 2)
        spent[:] = [s + c for s, c in zip(spent, cost, strict=True)]

    def charge(self, account: str, asked: range | None, times: int, share: list[Fraction]) -> Any:
        """Whether it is paid, or the error that a ledger must raise."""
        whole = [times * part for part in share]
        if not self.can_pay(account, None, whole):
            return BudgetError
        if (asked is None) != (BOOK[account][1] is None):
            return UsageError
        if not all(self.can_pay(account, number, share) for number in asked or ()):
            return BudgetError
        self.pay(account, None, whole)
        for number in asked or ():
            self.pay(account, number, share)
        return None

    def is_that_of(self, ledger: Ledger, account: str, first: int, last: int) -> None:
        """Compare the account, and its windows from ``first`` to ``last``, with the ledger's."""
        spent = ledger.account(account).spent
        assert [spent.rho, spent.delta] == self.spent.get((account, None), [0, 0]), account
        if BOOK[account][1] is not None:
            found = ledger.window_balances(account, first, last)
            expected = {n: s for n in range(first, last + 1) if (s := self.spent.get((account, n)))}
            assert {b.number: [b.spent.rho, b.spent.delta] for b in found} == expected, account


def walk(address: str, n: int, seen: Callable[[str], object] = str) -> None:
    """Charge ``n`` random ranges, each as the model says, and leave a ledger that verifies."""
    dice, model, ledger = random.Random(7), Model(), new_book(address)
    keys: dict[str, tuple[str, Event]] = {}
    for step in range(n):
        account = dice.choice(["both", "counts", "monthly", "both", "counts", "plain"])
        first = dice.randrange(FIRST, LAST)
        asked = range(first, first + min(60, 1 + int(dice.expovariate(1 / 8))))
        times = dice.choice([1, len(asked), len(asked), len(asked) ** 2])
        share = [dice.choice([1, 2, 5]) * THOUSANDTH, dice.choice([0, 0, 1]) * Fraction(1, 10**7)]
        has_windows = (account != "plain") != (dice.random() < 0.1)
        inner = noise(*share)
        event = Windowed(asked[0], asked[-1], times, inner) if has_windows else inner
        said = model.charge(
            account, asked if has_windows else None, times if has_windows else 1, share
        )
        raised: Any = None
        try:
            assert charge(ledger, account, f"{step}", event).is_new
            keys[f"{step}"] = account, event
        except (BudgetError, UsageError) as error:
            raised = type(error)
        assert raised is said, f"step {step}: {account} {event}"
        seen("refused" if raised else "charged")
        model.is_that_of(ledger, account, asked[0] - 2, asked[-1] + 2)
    for account in BOOK:
        model.is_that_of(ledger, account, FIRST - 100, LAST + 100)
    for key, (account, event) in list(keys.items())[:: max(1, len(keys) // 20)]:
        assert not charge(ledger, account, key, event).is_new
    Ledger(address).verify()
    for account in BOOK:
        model.is_that_of(ledger, account, FIRST - 100, LAST + 100)
