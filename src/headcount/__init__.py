"""Counts about people that betray no one.

>>> import headcount as hc
>>> hc.Budget(epsilon=1, delta=1e-6)
Budget(epsilon=1, delta=1e-06)
"""

from importlib import import_module
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
from headcount.version import __version__

if TYPE_CHECKING:
    from headcount.privacy.budget import Budget
    from headcount.receipts.verify import verify
    from headcount.releases.dataset import Dataset
    from headcount.releases.expected import Expected
    from headcount.releases.open import open  # noqa: A004
    from headcount.releases.plan import Plan
    from headcount.results.release import Release
    from headcount.results.wide import WideRelease
    from headcount.series.series import Series
    from headcount.streams.stream import Stream
    from headcount.tables.by import bins, truncate
    from headcount.tables.csv import Csv
    from headcount.tables.public import public

__all__ = [
    "Budget",
    "BudgetError",
    "Csv",
    "Dataset",
    "EngineError",
    "Expected",
    "HeadcountError",
    "KeyReusedError",
    "LedgerError",
    "MissingExtraError",
    "NoAccountError",
    "OutputError",
    "Plan",
    "Release",
    "SchemaError",
    "Series",
    "Stream",
    "UsageError",
    "WideRelease",
    "__version__",
    "bins",
    "open",
    "public",
    "truncate",
    "verify",
]


_FOUND_IN = {
    "Budget": "privacy.budget",
    "Csv": "tables.csv",
    "Dataset": "releases.dataset",
    "Expected": "releases.expected",
    "Plan": "releases.plan",
    "Release": "results.release",
    "Series": "series.series",
    "Stream": "streams.stream",
    "WideRelease": "results.wide",
    "bins": "tables.by",
    "open": "releases.open",
    "public": "tables.public",
    "truncate": "tables.by",
    "verify": "receipts.verify",
}


def __getattr__(name: str) -> Any:
    """Names are imported when they are used: a command that is stopped at once ends quietly."""
    if name in _FOUND_IN:
        return getattr(import_module(f"headcount.{_FOUND_IN[name]}"), name)
    raise AttributeError(f"module 'headcount' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
