"""How the cells of a release are put before people: in CSV files, on charts and on the screen.

Groups are texts that anybody may have written. A spreadsheet takes some of them for formulas and
runs them, so a CSV file has an apostrophe before these: ``docs/reference/output.md``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from headcount.screens import visible

if TYPE_CHECKING:
    import pyarrow as pa

MISSING = "∅"
LONGEST = 200
# Blanks, what is not printed, and apostrophes do not hide a formula. A text that has an apostrophe
# before a formula gets one too, so that no two texts become one.
FORMULA = r"^['\s\pZ\pC]*[=+\-@＝＋－＠]|^'*[\t\r\n]"


def without_formulas(table: pa.Table) -> pa.Table:
    """The table with an apostrophe before every text, and name, that could be run as a formula."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for column in (*table.columns, pa.chunked_array([table.column_names])):
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            marked = pc.binary_join_element_wise("'", column, "")
            column = pc.if_else(pc.match_substring_regex(column, FORMULA), marked, column)
        columns.append(column)
    *columns, names = columns
    return pa.table(columns, names=names.to_pylist())


def csv_of(table: pa.Table) -> bytes:
    """What a CSV file of these rows has in it."""
    import pyarrow as pa
    import pyarrow.csv

    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(without_formulas(table), sink)
    return bytes(sink.getvalue().to_pybytes())


def with_formulas(table: pa.Table) -> pa.Table:
    """The table that ``without_formulas`` made this one of: no two become one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for column in (*table.columns, pa.chunked_array([table.column_names], pa.string())):
        if pa.types.is_string(column.type):
            bare = pc.utf8_slice_codeunits(column, 1)
            is_marked = pc.and_(
                pc.starts_with(column, "'"), pc.match_substring_regex(bare, FORMULA)
            )
            column = pc.if_else(is_marked, bare, column)
        columns.append(column)
    *columns, names = columns
    return pa.table(columns, names=names.to_pylist())


def label(value: object) -> str:
    """A value of a group in a few words that cannot act on a screen; all of it is in the rows.

    A text in which blanks would not be seen is in quotes, and so is one that looks like a missing
    value or like a text in quotes.
    """
    text = MISSING if value is None else visible(str(value))
    if isinstance(value, str) and (text != text.strip() or not text or text[0] in (MISSING, "'")):
        text = f"'{text}'"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def told_apart(labels: Iterable[str]) -> list[str]:
    """Labels of which no two are the same; a chart would put their bars on one another."""
    seen: set[str] = set()
    apart = []
    for text in labels:
        number, own = 1, text
        while own in seen:
            number += 1
            own = f"{text} ({number})"
        seen.add(own)
        apart.append(own)
    return apart


def lines(text: str) -> list[str]:
    """A long text, broken for a subtitle."""
    import textwrap

    return textwrap.wrap(visible(text), 75)
