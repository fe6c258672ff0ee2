"""A picture of frequencies: how many groups have each count, one curve with its band."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.results.chart_parts import ABOVE, APART, BLUE, PLAIN, titled

if TYPE_CHECKING:
    import pyarrow as pa

    from headcount.results.facts import Facts

LEAST = 0.5
"""Where a log axis ends: below half a group there is nothing to see."""
N_POINTS = 5_000


def frequency_chart(table: pa.Table, facts: Facts) -> Any:
    """The post-processed numbers on log-log axes, and the band of their error bars."""
    import altair

    rows = [
        {
            "count": row["count"],
            **{name: max(LEAST, row[name]) for name in ("groups", "low", "high")},
        }
        for row in table.slice(0, N_POINTS).to_pylist()
        if row["count"] > 0  # a log axis has no place for others
    ]
    data = altair.Data(values=rows)
    log, axis = altair.Scale(type="log"), altair.Axis(**APART)
    x = altair.X("count:Q", scale=log, title="users in a group", axis=axis)
    plain = altair.Chart(data)
    upright = altair.Axis(format=PLAIN, **ABOVE)
    low = altair.Y("low:Q", scale=log, title="groups", axis=upright)
    band = plain.mark_area(color=BLUE, opacity=0.25).encode(x=x, y=low, y2="high:Q")
    y = altair.Y("groups:Q", scale=log, title="groups", axis=upright)
    curve = plain.mark_line(color=BLUE, point=len(rows) <= 100).encode(x=x, y=y)
    cut = f"{len(rows):,} of {table.num_rows:,} rows" if len(rows) < table.num_rows else ""
    return titled(band + curve, facts, cut, "frequency of frequencies", height=320)
