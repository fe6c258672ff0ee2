"""A picture of frequencies: groups against counts on log-log axes, noisy and post-processed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.results.cells import lines

if TYPE_CHECKING:
    import pyarrow as pa

    from headcount.results.facts import Facts

LEAST = 0.5
"""Where a log axis ends: below half a group there is nothing to see."""
N_POINTS = 5_000
FITTED, NOISY = "post-processed", "noisy"


def frequency_chart(table: pa.Table, facts: Facts) -> Any:
    """Dots for both, and the intervals of the post-processed numbers."""
    import altair

    rows = table.slice(0, N_POINTS).to_pylist()
    dots = [
        {"count": row["count"], "groups": row[column], "which": which}
        for row in rows
        for which, column in ((NOISY, "noisy_groups"), (FITTED, "groups"))
        if row[column] >= LEAST
    ]
    spans = [
        {"count": row["count"], "low": max(LEAST, row["low"]), "high": row["high"]}
        for row in rows
        if row["groups"] >= LEAST and row["high"] > LEAST
    ]
    log = altair.Scale(type="log")
    x = altair.X("count:Q", scale=log, title="users in a group")
    color = altair.Color(
        "which:N",
        title=None,
        scale=altair.Scale(domain=[NOISY, FITTED], range=["#c9c9c9", "#4c78a8"]),
    )
    ranges = (
        altair.Chart(altair.Data(values=spans))
        .mark_rule(color="#4c78a8", opacity=0.4)
        .encode(x=x, y=altair.Y("low:Q", scale=log, title="groups"), y2="high:Q")
    )
    points = (
        altair.Chart(altair.Data(values=dots))
        .mark_circle(size=28)
        .encode(x=x, y=altair.Y("groups:Q", scale=log), color=color)
    )
    subtitle = f"{facts.of_bars}; {facts.guarantee}"
    title = altair.Title("frequency of frequencies", subtitle=lines(subtitle))
    return (ranges + points).properties(title=title, width=480, height=320)
