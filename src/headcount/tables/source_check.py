"""Whether a source is still what was opened: looked at before a charge, and after the read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headcount.errors import SchemaError, UsageError
from headcount.screens import quoted
from headcount.tables.source import NOTHING, Source


@dataclass(frozen=True, slots=True, eq=False)
class SourceCheck:
    """What was opened, to be held against what is there by now.

    rows:       the table as it is counted
    user:       the column that names its users
    trusted:    whether somebody vouches for what mixes users
    described:  its columns and their types when it was opened
    databases:  the files of databases that were open then
    """

    source: Source
    rows: Any
    user: str
    trusted: bool
    described: Mapping[str, str]
    databases: tuple[str | None, ...]

    @classmethod
    def opened(cls, source: Source, rows: Any, user: str, *, trusted: bool) -> SourceCheck:
        """As it is now."""
        return cls(
            source, rows, user, trusted, source.engine.description(rows), _databases_of(source)
        )

    def files(self) -> tuple[str | None, ...]:
        """The files that hold the rows now, by their numbers.

        A source is refused that is another by now, mixes users, or lacks a column. In a session,
        its own connection is asked.
        """
        if self.source.is_view:
            self._check_relations()
        self._check_columns()
        files = tuple(file.inode for file in self.source.identity.files)
        if None in files:
            raise UsageError(
                f"A file of {quoted(self.source.name)} is not there any more. {NOTHING} Open the "
                "table again."
            )
        return files

    def _check_relations(self) -> None:
        source = self.source
        # A database is read through a handle, whatever is at its path by now.
        is_there = self.databases == _databases_of(source)
        if not is_there or not source.engine.identity(source.expr).is_at(source.identity):
            raise UsageError(
                f"{quoted(source.name)} reads other tables or files than when it was opened. "
                f"{NOTHING} Open the table again."
            )
        source.engine.check_rows(source.expr, self.user, trusted=self.trusted)

    def _check_columns(self) -> None:
        """Columns that were added do no harm."""
        try:
            now = self.source.engine.description(self.rows)
        except Exception:
            now = {}
        if any(now.get(name) != self.described.get(name) for name in self.rows.columns):
            raise SchemaError(
                f"{quoted(self.source.name)} does not have the columns any more, or not with the "
                f"types, that it was opened with. {NOTHING} Open the table again."
            )


def _databases_of(source: Source) -> tuple[str | None, ...]:
    return tuple(file.inode for file in source.identity.files if file.part)
