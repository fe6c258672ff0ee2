"""Two pictures of a fleet's pages: rounds along the clock, and counts with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING

from headcount.screens import visible

if TYPE_CHECKING:
    from headcount.fleet.control_views import RoundShown, Row

WIDTH = 960
HEIGHT = 22
NAMES, MARGIN = 260, 90
MOST_BARS = 25
LONGEST = 34
COLOURS = {
    "waiting": "#9aa5b1",
    "open": "#2f7ed8",
    "closing": "#d89b2f",
    "released": "#2e8b57",
    "cancelled": "#b3541e",
}


def timeline(rounds: Sequence[RoundShown], now: int) -> str:
    """When each round is open, and where the clock stands."""
    first = min(one.opens_at for one in rounds)
    last = max(one.shown_at for one in rounds)

    def x(at: int) -> float:
        return WIDTH * (min(max(at, first), last) - first) / max(1, last - first)

    bars = [
        f'<rect x="{x(one.opens_at):.1f}" y="22" height="22" rx="3" '
        f'width="{max(2.0, x(one.closes_at) - x(one.opens_at)):.1f}" '
        f'fill="{COLOURS[one.state]}"><title>round {one.number}: {one.state}</title></rect>'
        for one in rounds
    ]
    at = x(now)
    anchor = "end" if at > WIDTH / 2 else "start"
    clock = (
        f'<line x1="{at:.1f}" x2="{at:.1f}" y1="16" y2="50" stroke="currentColor"/>'
        f'<text x="{at:.1f}" y="12" text-anchor="{anchor}">now</text>'
    )
    days = (
        f'<text x="0" y="62">{_day(first)}</text>'
        f'<text x="{WIDTH}" y="62" text-anchor="end">{_day(last)}</text>'
    )
    return _svg(68, "the rounds along the clock", *bars, clock, days)


def intervals(rows: Sequence[Row]) -> str:
    """The largest counts, each with the interval that holds for it."""
    some = sorted(rows, key=lambda row: (-row.count, row.group))[:MOST_BARS]
    most = max(row.high for row in some) or 1.0
    room = WIDTH - NAMES - MARGIN
    parts: list[str] = []
    for i, row in enumerate(some):
        y, (low, at, high) = (
            i * HEIGHT,
            (NAMES + room * value / most for value in (row.low, row.count, row.high)),
        )
        name = visible(row.group)
        short = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
        parts += [
            f'<text x="{NAMES - 10}" y="{y + 15}" text-anchor="end">{escape(short)}</text>',
            f'<rect x="{NAMES}" y="{y + 4}" height="14" width="{at - NAMES:.1f}" '
            f'fill="{COLOURS["open"]}" opacity=".45"/>',
            f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y + 11}" y2="{y + 11}" '
            'stroke="currentColor" stroke-width="2"/>',
            f'<text x="{high + 8:.1f}" y="{y + 15}">{row.count:,}</text>',
        ]
    return _svg(HEIGHT * len(some), "counts with their intervals", *parts)


def _svg(height: int, words: str, *parts: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" width="100%" role="img" aria-label="{words}">'
        f"{''.join(parts)}</svg>"
    )


def _day(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"
