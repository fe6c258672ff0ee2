"""Opening a dataset from a shell, where the account may not exist yet."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import headcount as hc

if TYPE_CHECKING:
    from headcount.releases.dataset import Dataset


def opened(
    source: str,
    user: str,
    epsilon: str | None,
    delta: str,
    budget: str | None,
    *,
    ledger: str | None,
    account: str | None,
    where: str | None,
    **said: Any,
) -> Dataset:
    """The dataset; an account that is not there is opened with the budget, or with this spend."""
    call = partial(hc.open, source, user=user, ledger=ledger, account=account, where=where, **said)
    try:
        return call(budget=None if budget is None else hc.Budget(epsilon=budget, delta=delta))
    except hc.NoAccountError:
        if epsilon is None:
            raise
        return call(budget=hc.Budget(epsilon=epsilon, delta=delta))
