"""A picture of counts over time: a point at each time, in order, with its error bar."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from headcount.results.cells import label
from headcount.results.chart_parts import ABOVE, BLUE, DARK, PLAIN, titled
from headcount.results.shown import chosen, group_columns, number

if TYPE_CHECKING:
    import pyarrow as pa

    from headcount.results.facts import Facts

N_TIMES = 1_000
DAY = "%Y-%m-%d"


def time_chart(table: pa.Table, facts: Facts, title: str) -> Any:
    """Points, since between two times nothing was counted; a row without a time is named above."""
    import altair
    import pyarrow as pa

    (group,) = group_columns(table, facts)
    some, which = chosen(table, facts, N_TIMES)
    listed = some.to_pylist()
    rows = [
        {
            "time": _in_utc(row[group]),
            "told": f"{label(row[group])}: {number(row[facts.value])}",
            "value": row[facts.value],
            "low": row["low"],
            "high": row["high"],
        }
        for row in listed
        if row[group] is not None
    ]
    data = altair.Data(values=rows)
    # In UTC from end to end: whoever looks from elsewhere sees the same days.
    days = pa.types.is_date(table.schema.field(group).type)
    axis = altair.Axis(format=DAY if days else f"{DAY} %H:%M", tickCount=6 if days else 4)
    scale = altair.Scale(type="utc", padding=8)
    x = altair.X("time:T", title=label(group), scale=scale, axis=axis)
    told = altair.Description("told:N")
    rules = altair.Chart(data).mark_rule(color=DARK)
    points = altair.Chart(data).mark_point(filled=True, size=30, color=BLUE, opacity=1)
    y = altair.Y("value:Q", title=title, axis=altair.Axis(format=PLAIN, **ABOVE))
    layers = rules.encode(
        x=x,
        y=altair.Y("low:Q", title=title, axis=altair.Axis(format=PLAIN, **ABOVE)),
        y2="high:Q",
        description=told,
    ) + points.encode(x=x, y=y, description=told)
    cut = f"{len(rows):,} of {table.num_rows:,} rows" if which or len(rows) < len(listed) else ""
    cut += f", the {which}" if which else ""
    cut += ": one row has no time" if len(rows) < len(listed) else ""
    return titled(layers, facts, cut, height=240)


def _in_utc(value: date | datetime) -> str:
    """A time as a picture reads it; one without a zone is shown as it is."""
    if not isinstance(value, datetime):
        return value.isoformat()
    return (value.replace(tzinfo=UTC) if value.tzinfo is None else value).isoformat()
