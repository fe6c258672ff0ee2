"""A release as a notebook shows it: a table with a bar in every row, and the guarantee under it.

Plain HTML and SVG: no script, no network, and no text of a release that is not escaped.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any

from headcount.results.shown import Shown, number, shown
from headcount.results.words import N_ROWS, said_of
from headcount.screens import visible

if TYPE_CHECKING:
    import pyarrow as pa

    from headcount.results.facts import Facts

WIDTH, HEIGHT, MARGIN = 160, 14, 2
BLUE = "#4c78a8"
LEFT = "text-align:left;white-space:nowrap;padding:2px 8px"
NAME = "text-align:left;overflow-wrap:anywhere;min-width:6em;white-space:pre-wrap;padding:2px 8px"
RIGHT = "text-align:right;white-space:nowrap;padding:2px 8px"
SMALL = "margin:4px 0;font-size:90%"


def html_of(table: pa.Table, facts: Facts, *, n_withheld: int, again: str | None) -> str:
    """What a notebook shows of a release: nothing but what is in it."""
    some = shown(table, facts, N_ROWS)
    said = said_of(some, facts, n_withheld=n_withheld, again=again)
    title = f"{facts.verb.replace('_', ' ')}: {some.counted}"
    return "\n".join(
        [
            '<div class="headcount" style="max-width:100%;overflow-x:auto">',
            f"<p><strong>{_text(title)}</strong></p>",
            *(_table(some, is_place=facts.verb == "quantiles") if some.names else ()),
            *(f'<p style="{SMALL}">{_text(sentence)}</p>' for sentence in said),
            "</div>",
        ]
    )


def _table(some: Shown, *, is_place: bool) -> list[str]:
    heads = [f'<th style="{LEFT}">{_text(heading)}</th>' for heading in some.headings]
    heads += [f'<th style="{RIGHT}">{_text(one)}</th>' for one in (some.value, "low to high")]
    return [
        '<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">',
        f"<thead><tr>{''.join(heads)}<th></th></tr></thead>",
        "<tbody>",
        *(
            _row(names, bar, _picture(bar, some, is_place=is_place))
            for names, bar in zip(some.names, some.bars, strict=True)
        ),
        "</tbody>",
        "</table>",
    ]


def _row(names: tuple[str, ...], bar: tuple[Any, Any, Any], picture: str) -> str:
    value, low, high = map(number, bar)
    cells = [f'<td style="{NAME}">{_text(name)}</td>' for name in names]
    cells += [f'<td style="{RIGHT}">{_text(one)}</td>' for one in (value, f"{low} to {high}")]
    return f"<tr>{''.join(cells)}<td>{picture}</td></tr>"


def _picture(bar: tuple[Any, Any, Any], some: Shown, *, is_place: bool) -> str:
    """A bar from zero to the value, or a dot, with a line from low to high.

    All rows have one scale. Values that are not numbers have no picture.
    """
    ends = [end for each in some.bars for end in each]
    if not all(isinstance(end, int | float) and math.isfinite(end) for end in ends):
        return ""
    least, most = min(0, *ends), max(0, *ends)

    def x(value: float) -> float:
        within = (value - least) / (most - least) if most > least else 0.0
        return round(MARGIN + within * (WIDTH - 2 * MARGIN), 1)

    value, low, high = map(x, bar)
    middle = HEIGHT / 2
    zero = x(0)
    width = round(abs(value - zero), 1)
    mark = f'<rect x="{min(zero, value)}" y="2" width="{width}" height="{HEIGHT - 4}"'
    if is_place:
        mark = f'<circle cx="{value}" cy="{middle:g}" r="3"'
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">'
        f'{mark} fill="{BLUE}"/><path d="M{low} {middle:g}H{high}" stroke="currentColor"/></svg>'
    )


def _text(text: str) -> str:
    return escape(visible(text))
