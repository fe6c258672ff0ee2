"""A release as text: its largest rows with their bars, the guarantee, and the entry that paid."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from headcount.results.facts import LEFT_OUT, WITHHELD
from headcount.results.shown import FINDS_GROUPS, Shown, number, shown
from headcount.screens import visible

if TYPE_CHECKING:
    import pyarrow as pa

    from headcount.results.facts import Facts

N_ROWS = 10
WIDEST = 40
NO_ROWS = "The release has no rows."
GAP = "  "


def text_of(table: pa.Table, facts: Facts, *, n_withheld: int, again: str | None) -> str:
    """What ``print(release)`` shows."""
    some = shown(table, facts, N_ROWS)
    return "\n".join(
        [
            visible(f"{facts.verb.replace('_', ' ')}: {some.counted}"),
            *(aligned(some) if some.names else ()),
            *map(visible, said_of(some, facts, n_withheld=n_withheld, again=again)),
        ]
    )


def said_of(some: Shown, facts: Facts, *, n_withheld: int, again: str | None) -> list[str]:
    """What is said under the rows, a sentence a line, with the guarantee in one of them."""
    said = [f"{facts.bars_said}."] if some.names else [why_none(facts, n_withheld)]
    if n_withheld:
        told = (note for note in facts.notes if WITHHELD in note)
        said.append(next(told, withheld_words(n_withheld)))
    said.append(f"Guarantee: {facts.guarantee}.")
    if facts.account:
        said.append(f"Paid by entry {facts.entry} of account {facts.account!r}.")
    if again is not None:
        said.append(f"Shown again, free: {again}.")
    return said


def withheld_words(n_withheld: int, where: str = "They are in release.withheld") -> str:
    """What is said of rows that a target left out."""
    rows = "row was" if n_withheld == 1 else "rows were"
    why = "measured and withheld, so that those shown can keep the target"
    return f"{n_withheld:,} more {rows} {why}. {where}."


def why_none(facts: Facts, n_withheld: int = 0) -> str:
    """Why a release has no rows."""
    if facts.verb not in FINDS_GROUPS or n_withheld:
        return NO_ROWS
    known = (note for note in facts.notes if note.startswith(LEFT_OUT))
    return next(known, f"{NO_ROWS} No group stood out from the noise.")


def aligned(some: Shown) -> list[str]:
    """Rows in columns: groups to the left, then values, and bars from low to high."""
    columns = [
        _column([heading, *(names[at] for names in some.names)])
        for at, heading in enumerate(some.headings)
    ]
    values, lows, highs = (
        [number(bar[at]) for bar in some.bars]
        for at in range(3)  # the value, low and high
    )
    columns.append(_column([some.value, *values], right=True))
    ends = zip(_column(lows, right=True), _column(highs, right=True), strict=True)
    columns.append(_column(["low to high", *(f"{low} to {high}" for low, high in ends)], True))
    return [GAP.join(cells).rstrip() for cells in zip(*columns, strict=True)]


def _column(cells: list[str], right: bool = False) -> list[str]:
    cut = [cell if _width(cell) <= WIDEST else _cut(cell) for cell in cells]
    widest = max(map(_width, cut))
    blanks = [" " * (widest - _width(cell)) for cell in cut]
    pairs = zip(blanks, cut, strict=True)
    return [f"{blank}{cell}" if right else f"{cell}{blank}" for blank, cell in pairs]


def _cut(cell: str) -> str:
    while _width(cell) >= WIDEST:
        cell = cell[:-1]
    return f"{cell}…"


def _width(text: str) -> int:
    """How many places a terminal gives to a text."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(one) else 1 + (unicodedata.east_asian_width(one) in "WF")
        for one in text
    )
