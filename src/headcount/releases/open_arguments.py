"""The arguments of ``hc.open``, in one table, read before the source is touched."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headcount.errors import UsageError
from headcount.ledger.ledger import Ledger
from headcount.privacy.argument import (
    NOTHING,
    Check,
    checked_by,
    is_text,
    one_of,
    optional,
    refused,
    text,
)
from headcount.privacy.budget import Budget
from headcount.privacy.windows import UNITS
from headcount.tables.by import Truncate
from headcount.tables.csv import Csv

MAX_TYPES = 100_000
MAX_WHERE = 100_000


def _budget(value: Any, name: str) -> Budget:
    if not isinstance(value, Budget):
        raise refused(name, "a Budget", value, f"{name}=hc.Budget(epsilon=3, delta=1e-6)")
    return value


def _user(value: Any, name: str) -> str:
    if isinstance(value, list | tuple) and len(value) > 1:
        raise UsageError(
            f"{name} must be one column. A user within a day, or another window of time, is "
            "protected by an account with windows: user='user_id', window=hc.truncate('time', "
            f"'day'), budget=hc.Budget(rho=0.015, per='day'). {NOTHING}"
        )
    return str(text("user='user_id', the column that says whose row it is")(value, name))


def _window(value: Any, name: str) -> Truncate:
    if not isinstance(value, Truncate):
        needed = "a cut of the table's own times, and not of what other rows say, as sessions are"
        instead = f"{name}=hc.truncate('time', 'day'), also for a column of dates"
        raise refused(name, needed, value, instead)
    if value.to not in UNITS:
        needed = f"cut to one of {', '.join(UNITS)}"
        raise refused(name, needed, value.to, f"{name}=hc.truncate({value.column!r}, 'month')")
    return value


def _ledger(value: Any, name: str) -> str | Path | Ledger:
    good = isinstance(value, Ledger) or (
        isinstance(value, str | Path) and is_text(str(value)) and 0 < len(str(value)) <= 4_000
    )
    if not good:
        needed = "the path of a file, postgresql://user@host/database, or a Ledger"
        raise refused(name, needed, value, f"{name}='ledger.db'")
    return value


def _folder(value: Any, name: str) -> str | Path:
    if not isinstance(value, str | Path) or not is_text(str(value)) or not str(value):
        raise refused(name, "the path of a folder of your own", value, f"{name}='scratch'")
    return value


def _csv(value: Any, name: str) -> Csv:
    if not isinstance(value, Csv):
        raise refused(name, "made by hc.Csv(...)", value, f"{name}=hc.Csv(delimiter=';')")
    return value


def _types(value: Any, name: str) -> dict[str, str]:
    if value is None:
        return {}
    good = isinstance(value, Mapping) and len(value) <= MAX_TYPES
    if not good or not all(is_text(one) for pair in value.items() for one in pair):
        needed = "a dictionary of columns and their types, all texts"
        raise refused(name, needed, value, f"{name}={{'time': 'timestamp'}}")
    return dict(value)


def _columns(value: Any, name: str) -> tuple[str, ...]:
    good = isinstance(value, list | tuple) and len(value) <= MAX_TYPES
    if not good or not all(is_text(one) and one for one in value):
        raise refused(name, "a list of columns' names", value, f"{name}=['page']")
    return tuple(value)


OPEN: dict[str, Check] = {
    "user": _user,
    "budget": optional(_budget),
    "ledger": optional(_ledger),
    "account": optional(text("account='web-events', or leave it out")),
    "where": optional(text("where=\"country = 'SE'\", or leave it out", MAX_WHERE)),
    "neighbours": one_of("add-remove", "replace"),
    "csv": optional(_csv),
    "types": _types,
    "memory": optional(text("memory='2GB', or leave it out")),
    "scratch": optional(_folder),
    "trusted_view": optional(text("trusted_view='Ann Lee: one row per user', or leave it out")),
    "mistaken_users": _columns,
    "window": optional(_window),
    "lifetime": optional(_budget),
}


def read_opening(**given: Any) -> dict[str, Any]:
    """The arguments of ``hc.open`` in one form; what cannot be read is refused."""
    return checked_by(OPEN, given.items())
