"""The fully adaptive filter: spend until the limit, each step chosen after the last outcome.

Reference: Whitehouse, Ramdas, Rogers and Wu 2023 (Theorem 5 of Private Count Release): if every
step is delta_n-approximate rho_n-zCDP given what came before, and one stops before the sums pass
rho and delta, the whole is delta-approximate rho-zCDP.
"""

from __future__ import annotations

from headcount.errors import BudgetError
from headcount.privacy.spend import Zcdp


class Filter:
    """Adds up spends and refuses the first that would pass the limit. Exact, no float in it."""

    def __init__(self, limit: Zcdp) -> None:
        self._limit = limit
        self._spent = Zcdp(0)

    @property
    def limit(self) -> Zcdp:
        """The most that may be spent."""
        return self._limit

    @property
    def spent(self) -> Zcdp:
        """What has been spent so far."""
        return self._spent

    def admits(self, spend: Zcdp) -> bool:
        """Whether ``spend`` still fits."""
        return self._spent + spend <= self._limit

    def charge(self, spend: Zcdp) -> None:
        """Take ``spend``, before the step it pays for; refuse if it does not fit."""
        if not self.admits(spend):
            raise BudgetError("This step does not fit the budget of the release; it was not taken.")
        self._spent = self._spent + spend
