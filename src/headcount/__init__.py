"""Counts about people that betray no one.

>>> import headcount as hc
>>> hc.Budget(epsilon=1, delta=1e-6)
Budget(epsilon=1, delta=1e-06)
"""

from typing import TYPE_CHECKING, Any

from headcount.errors import (
    BudgetError,
    EngineError,
    HeadcountError,
    KeyReusedError,
    LedgerError,
    MissingExtraError,
    NoAccountError,
    OutputError,
    SchemaError,
    UsageError,
)
from headcount.privacy.budget import Budget
from headcount.releases.open import open  # noqa: A004
from headcount.tables.by import bins, truncate
from headcount.tables.csv import Csv
from headcount.tables.public import public
from headcount.version import __version__

if TYPE_CHECKING:
    from headcount.streams.stream import Stream

__all__ = [
    "Budget",
    "BudgetError",
    "Csv",
    "EngineError",
    "HeadcountError",
    "KeyReusedError",
    "LedgerError",
    "MissingExtraError",
    "NoAccountError",
    "OutputError",
    "SchemaError",
    "Stream",
    "UsageError",
    "__version__",
    "bins",
    "open",
    "public",
    "truncate",
]


def __getattr__(name: str) -> Any:
    """Names that need arrays are imported when they are used."""
    if name == "Stream":
        from headcount.streams.stream import Stream

        return Stream
    raise AttributeError(f"module 'headcount' has no attribute {name!r}")
