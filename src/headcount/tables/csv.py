"""How a CSV file is written, said by whoever opens it and never guessed from its cells.

A record is one line. What a line holds is a function of that line and of this dialect alone, so no
line can change how another is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from headcount.errors import UsageError
from headcount.privacy.argument import is_text, items, shown

MAX_COLUMNS = 100_000
MAX_LINE_BYTES = 2 << 20
NOTHING = "Nothing was read and nothing was charged."


@dataclass(frozen=True, slots=True)
class Csv:
    """The dialect of CSV files.

    delimiter:  what stands between two fields
    quote:      what a field may be enclosed in, doubled inside it; ``None`` where nothing is
    header:     whether the first line of each file holds the names of the columns
    columns:    the names, where the files do not hold them
    """

    delimiter: str = ","
    quote: str | None = '"'
    header: bool = True
    columns: Sequence[str] | None = None

    def __post_init__(self) -> None:
        _check_mark("delimiter", self.delimiter)
        if self.quote is not None:
            _check_mark("quote", self.quote)
        if self.quote == self.delimiter:
            raise UsageError(f"delimiter and quote are both {self.quote!r}. {NOTHING}")
        if not isinstance(self.header, bool):
            raise UsageError(f"header must be True or False, not {shown(self.header)}. {NOTHING}")
        if self.columns is None:
            if not self.header:
                raise UsageError(
                    "CSV files without a header need the names of their columns: "
                    f"hc.Csv(header=False, columns=['user', 'page']). {NOTHING}"
                )
            return
        if self.header:
            raise UsageError(
                "The columns' names are in the files' first lines; leave columns= out, or write "
                f"header=False where there are none. {NOTHING}"
            )
        written = "columns=['user', 'page']"
        names = tuple(items(self.columns, "columns", MAX_COLUMNS, written))
        if not all(is_text(name) for name in names):
            raise UsageError(f"columns must be a list of names: {written}. {NOTHING}")
        if not names or "" in names or len(set(names)) < len(names):
            raise UsageError(f"columns must be different names, none of them empty. {NOTHING}")
        object.__setattr__(self, "columns", names)

    def fields(self, line: str) -> list[str] | None:
        """What stands in the fields of one line, or None if the line is malformed."""
        if self.quote is None or self.quote not in line:
            return line.split(self.delimiter)
        quote, delimiter = re.escape(self.quote), re.escape(self.delimiter)
        field = f"(?:{quote}(?:[^{quote}]|{quote}{quote})*{quote}|[^{quote}{delimiter}]*)"
        if not re.fullmatch(f"{field}(?:{delimiter}{field})*", line):
            return None
        found = re.findall(f"(?:^|{delimiter})({field})", line)
        return [
            text[1:-1].replace(2 * self.quote, self.quote) if text[:1] == self.quote else text
            for text in found
        ]

    def __str__(self) -> str:
        """The rule that a plan prints."""
        inside = (
            "no quotes"
            if self.quote is None
            else f"fields in {self.quote} with {self.quote} doubled inside"
        )
        return (
            f"A line is a record: fields between {_named(self.delimiter)}, {inside}, an empty "
            "field is missing. Lines with another number of fields, with a quote that is open at "
            "the end of the line or stands inside a field, with bytes that are not UTF-8, or "
            f"longer than {MAX_LINE_BYTES >> 20} MiB are dropped."
        )


def _check_mark(name: str, mark: object) -> None:
    plain = isinstance(mark, str) and len(mark) == 1 and mark.isascii()
    if not plain or str(mark) in "\r\n\0" or str(mark).isalnum():
        raise UsageError(
            f"{name} must be one ASCII character that is neither a letter, a digit nor the end of "
            f"a line, such as ',', not {shown(mark)}. {NOTHING}"
        )


def _named(mark: str) -> str:
    return {"\t": "tabs", ",": "commas", ";": "semicolons", " ": "spaces"}.get(mark, repr(mark))
