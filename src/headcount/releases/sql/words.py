"""What a query is told that no verb answers: why, and the nearest one that works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.errors import SchemaError, UsageError
from headcount.tables.source import NOTHING

if TYPE_CHECKING:
    from headcount.tables.by import GroupBy

UNQUOTED = ("VAR", "DATE", "TIME")
"""What the parser calls words that are names wherever a column or a table may stand."""


class Refused(Exception):  # noqa: N818
    """Why a query is refused.

    query:    what the nearest one is made from, where it could be read so far
    schema:   whether it is about what the table's columns are
    instead:  the group that was meant, where one can be told
    """

    def __init__(
        self,
        why: str,
        *,
        schema: bool = False,
        instead: GroupBy | None = None,
    ) -> None:
        super().__init__(why)
        self.why = why
        self.query: Any = None
        self.schema = schema
        self.instead = instead

    def error(self, nearest: str) -> UsageError:
        """The refusal as people see it."""
        kind = SchemaError if self.schema else UsageError
        return kind(f"{self.why.rstrip('.')}. {NOTHING} This works: {nearest}")


def unread(line: int | None = None, column: int | None = None) -> Refused:
    """The refusal of a text that is no SQL, with the place where it stops to be."""
    place = "" if line is None or column is None else f" beyond line {line}, column {column}"
    return Refused(
        f"The query cannot be read{place}. Names are quoted like \"this\", texts like 'this'"
    )


def name_of(column: str) -> str:
    """A column or a table as a query writes it: in quotes where it would be read as another."""
    import sqlglot
    from sqlglot import exp

    if column.isidentifier() and column.isascii():
        try:
            words, read = sqlglot.tokenize(column), sqlglot.parse_one(column)
        except sqlglot.errors.SqlglotError:  # a word with a meaning of its own
            words, read = [], None
        is_name = [word.token_type.name in UNQUOTED for word in words] == [True]
        if is_name and isinstance(read, exp.Column) and read.name == column:
            return column
    doubled = column.replace('"', '""')
    return f'"{doubled}"'
