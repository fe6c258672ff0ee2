"""Counts about people that betray no one.

>>> import headcount as hc
>>> hc.Budget(epsilon=1, delta=1e-6)
Budget(epsilon=1, delta=1e-06)
"""

from headcount.errors import (
    BudgetError,
    EngineError,
    HeadcountError,
    KeyReusedError,
    LedgerError,
    MissingExtraError,
    NoAccountError,
    SchemaError,
    UsageError,
)
from headcount.privacy.budget import Budget
from headcount.releases.open import open  # noqa: A004
from headcount.tables.by import bins, truncate
from headcount.version import __version__

__all__ = [
    "Budget",
    "BudgetError",
    "EngineError",
    "HeadcountError",
    "KeyReusedError",
    "LedgerError",
    "MissingExtraError",
    "NoAccountError",
    "SchemaError",
    "UsageError",
    "__version__",
    "bins",
    "open",
    "truncate",
]
