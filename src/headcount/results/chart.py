"""A picture of a release: one bar a row, with its error bar. Drawn from noisy rows alone."""

from __future__ import annotations

import json
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcount.results.cells import told_apart
from headcount.results.chart_parts import (
    ABOVE,
    APART,
    BLUE,
    DARK,
    shown_as_image,
    svg_of,
    titled,
)
from headcount.results.output import require_plots
from headcount.results.shown import Shown, group_columns, is_time, number, shown

if TYPE_CHECKING:
    import pyarrow as pa

    from headcount.results.facts import Facts

N_BARS = 40
FITTED = (
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    "<style>#vis,#vis svg{max-width:100%}#vis svg{height:auto}</style>"
)
TITLES = {
    "count_users": "users",
    "count_events": "events",
    "profile": "users",
    "count_ranges": "users",
    "distribution": "share of rows, averaged over users",
}


def save(table: pa.Table, facts: Facts, path: Path) -> None:
    """Write the chart of a release."""
    save_chart(chart(table, facts), path)


def save_chart(drawn: Any, path: Path) -> None:
    """Write a chart as .svg, .png or .html; the page holds all it needs and loads nothing."""
    kind = path.suffix.lower()[1:]
    if kind == "png":
        in_bytes = BytesIO()
        drawn.save(in_bytes, format="png")
        path.write_bytes(in_bytes.getvalue())
        return
    path.write_text(_page(drawn) if kind == "html" else svg_of(drawn), encoding="utf-8")


def _page(drawn: Any) -> str:
    """A page with the chart, which fits on any screen."""
    written = StringIO()
    options = {"embed_options": {"renderer": "svg"}, "json_kwds": {"cls": _InPage}}
    drawn.save(written, format="html", inline=True, **options)
    # At the start of the head: the scripts that follow hold its end in their texts.
    return written.getvalue().replace("<head>", f"<head>{FITTED}", 1)


class _InPage(json.JSONEncoder):
    """JSON inside a script of a page, where ``</script>`` in a text would end the script."""

    def encode(self, o: Any) -> str:
        text = super().encode(o)
        for mark in "<>&\u2028\u2029":
            text = text.replace(mark, f"\\u{ord(mark):04x}")
        return text


def chart(table: pa.Table, facts: Facts) -> Any:
    """The chart itself, for a notebook."""
    require_plots()
    return shown_as_image(_drawn(table, facts))


def _drawn(table: pa.Table, facts: Facts) -> Any:
    if facts.verb == "frequencies":
        from headcount.results.chart_frequencies import frequency_chart

        return frequency_chart(table, facts)
    groups = group_columns(table, facts)
    if is_time(table, groups):
        from headcount.results.chart_times import time_chart

        return time_chart(table, facts, TITLES.get(facts.verb, facts.value))
    return _bar_chart(shown(table, facts, N_BARS), facts)


def _bar_chart(some: Shown, facts: Facts) -> Any:
    import altair

    labels = told_apart(", ".join(filter(None, names)) for names in some.names)
    rows = [
        {"group": group, "told": f"{group}: {number(value)}", "value": value, "low": a, "high": b}
        for group, (value, a, b) in zip(labels, some.bars, strict=True)
    ]
    data = altair.Data(values=rows)
    names = altair.Axis(**ABOVE)
    group = altair.Y("group:N", sort=None, title=" and ".join(some.headings), axis=names)
    # Told from data: the description that is made by itself is an expression, with names of columns
    # in it that could end its strings.
    told = altair.Description("told:N")
    plain = altair.Chart(data)
    # A quantile is a place on the line of values, not an amount of anything.
    is_place = facts.verb == "quantiles"
    marks = plain.mark_point(filled=True, size=60) if is_place else plain.mark_bar()
    title = TITLES.get(facts.verb, facts.value)
    bars = marks.encode(
        color=altair.value(BLUE),
        description=told,
        y=group,
        x=altair.X("value:Q", title=title, axis=altair.Axis(**APART)),
    )
    rules = altair.Chart(data).mark_rule(color=DARK)
    ranges = rules.encode(y=group, x="low:Q", x2="high:Q", description=told)
    return titled(bars + ranges, facts, some.counted if some.which else "")
