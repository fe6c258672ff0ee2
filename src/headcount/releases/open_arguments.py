"""The arguments of ``hc.open``, in one table, read before the source is touched."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headcount.ledger.ledger import Ledger
from headcount.privacy.argument import (
    Check,
    checked_by,
    is_text,
    one_of,
    optional,
    refused,
    text,
)
from headcount.privacy.budget import Budget
from headcount.tables.csv import Csv

MAX_TYPES = 100_000
MAX_WHERE = 100_000


def _budget(value: Any, name: str) -> Budget:
    if not isinstance(value, Budget):
        raise refused(name, "a Budget", value, f"{name}=hc.Budget(epsilon=3, delta=1e-6)")
    return value


def _ledger(value: Any, name: str) -> str | Path | Ledger:
    good = isinstance(value, Ledger) or (
        isinstance(value, str | Path) and is_text(str(value)) and 0 < len(str(value)) <= 4_000
    )
    if not good:
        needed = "the path of a file, postgresql://user@host/database, or a Ledger"
        raise refused(name, needed, value, f"{name}='ledger.db'")
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
    "user": text("user='user_id', the column that says whose row it is"),
    "budget": optional(_budget),
    "ledger": optional(_ledger),
    "account": optional(text("account='web-events', or leave it out")),
    "where": optional(text("where=\"country = 'SE'\", or leave it out", MAX_WHERE)),
    "neighbours": one_of("add-remove", "replace"),
    "csv": optional(_csv),
    "types": _types,
    "memory": optional(text("memory='2GB', or leave it out")),
    "trusted_view": optional(text("trusted_view='Ann Lee: one row per user', or leave it out")),
    "mistaken_users": _columns,
}


def read_opening(**given: Any) -> dict[str, Any]:
    """The arguments of ``hc.open`` in one form; what cannot be read is refused."""
    return checked_by(OPEN, given.items())
