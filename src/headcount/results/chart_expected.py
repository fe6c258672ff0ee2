"""A picture of what to expect: curves of error and of rows over the epsilon that is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.results.cells import lines
from headcount.results.chart_parts import BLUE, PLAIN, WIDTH
from headcount.results.output import require_plots

if TYPE_CHECKING:
    import pyarrow as pa

HEIGHT = 160
OFF = "Nine rows in ten are expected to be off by less. Nothing was read and nothing was charged."


def expected_chart(table: pa.Table, title: str) -> Any:
    """Errors, a picture for each unit, and below them how many rows, or how large."""
    require_plots()
    import altair

    rows = [row for row in table.to_pylist() if row["epsilon"] and row["error"]]
    several = len({row["case"] for row in rows}) > 1
    drawn = [
        _curve([row for row in rows if row["unit"] == unit], "error", f"error, {unit}", several)
        for unit in dict.fromkeys(row["unit"] for row in rows)
    ]
    if any(row["rows"] for row in rows):
        drawn.append(_curve([row for row in rows if row["rows"]], "rows", "rows", several))
    elif any(row["smallest"] for row in rows):
        some = [row for row in rows if row["smallest"]]
        drawn.append(_curve(some, "smallest", "smallest group shown", several))
    on_top = altair.Title(f"expected: {title}", subtitle=lines(OFF))
    return altair.vconcat(*drawn).properties(title=on_top)


def _curve(rows: list[dict[str, Any]], name: str, title: str, several: bool) -> Any:
    import altair

    log, axis = altair.Scale(type="log"), altair.Axis(format=PLAIN)
    x = altair.X("epsilon:Q", scale=log, title="epsilon", axis=axis)
    y = altair.Y(f"{name}:Q", scale=log, title=title, axis=axis)
    colour = altair.value(BLUE)
    if several:
        legend = altair.Legend(orient="bottom", columns=1, labelLimit=WIDTH)
        colour = altair.Color("case:N", title="where", legend=legend)
    line = altair.Chart(altair.Data(values=rows)).mark_line(point=True)
    return line.encode(x=x, y=y, color=colour).properties(width=WIDTH, height=HEIGHT)
