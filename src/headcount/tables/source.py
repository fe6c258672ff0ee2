"""What whoever opens a table says about it, and what opening makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headcount.errors import UsageError
from headcount.tables.csv import Csv
from headcount.tables.engine import Engine
from headcount.tables.identity import Identity

NOTHING = "Nothing was read and nothing was charged."
CALLED = "events"
"""What a query calls a table that has no name of its own."""


@dataclass(frozen=True, slots=True)
class Options:
    """What is said about a table by whoever opens it, and read from no cell of it.

    csv:           how CSV files are written
    types:         what columns hold that have no type of their own: those of CSV files, and those
                   in the names of folders
    memory:        how much memory DuckDB may use, such as ``"2GB"``
    scratch:       a folder of one's own for what does not fit
    trusted_view:  who vouches, and why, that no row of a view depends on two users
    """

    csv: Csv | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    memory: str | None = None
    scratch: str | Path | None = None
    trusted_view: str | None = None

    def __post_init__(self) -> None:
        if self.csv is not None and not isinstance(self.csv, Csv):
            raise UsageError(f"csv must be made by hc.Csv(...), not {self.csv!r}. {NOTHING}")
        if not isinstance(self.types, Mapping):
            raise UsageError(f"types must be like {{'time': 'timestamp'}}. {NOTHING}")
        vouched: object = self.trusted_view
        if vouched is not None and (not isinstance(vouched, str) or not vouched.strip()):
            raise UsageError(
                "trusted_view must say who vouches for the view, and why: "
                f"trusted_view='Ann Lee: one row per user, made by group by user'. {NOTHING}"
            )

    def spelled(self) -> tuple[tuple[str, str], ...]:
        """Whatever was said that decides about the rows, or about what may be promised."""
        csv = None if self.csv is None else repr(self.csv)
        types = ", ".join(f"{name}={kind}" for name, kind in sorted(self.types.items()))
        said = {"csv": csv, "types": types or None, "trusted_view": self.trusted_view}
        return tuple((name, text) for name, text in said.items() if text is not None)

    def refuse_for(self, what: str, *names: str) -> None:
        """Refuse what has no meaning for a source."""
        for name in names:
            if getattr(self, name):
                raise UsageError(f"{name}= has no meaning for {what}; leave it out. {NOTHING}")


@dataclass(frozen=True, slots=True)
class Source:
    """An engine, the table on it, and what a plan says of how it is read.

    others:   columns that nothing can be counted by
    is_view:  whether it may be more than the rows of a table, and must be looked into
    """

    engine: Engine
    expr: Any
    name: str
    others: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    is_view: bool = False
    identity: Identity = field(default_factory=Identity)
    lists_columns: bool = True
    """Whether a refusal may list the columns: a CSV file without a header has a record there."""
    called: tuple[str, ...] = (CALLED,)
    """What a query calls it: its name, after its schema where that was given."""
