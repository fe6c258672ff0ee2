"""A picture of a release: one bar a row, with its error bar. Drawn from noisy rows alone."""

from __future__ import annotations

import json
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcount.results.cells import label, lines, told_apart
from headcount.results.output import require_plots

if TYPE_CHECKING:
    import pyarrow as pa

    from headcount.results.facts import Facts

N_BARS = 40
TITLES = {
    "count_users": "users",
    "profile": "users",
    "count_ranges": "users",
    "distribution": "share of rows, averaged over users",
}
IN_ORDER = {
    "profile": "groups a user",
    "count_ranges": "range",
    "quantiles": "share of users below",
}
"""Verbs whose rows have an order of their own, and what it is."""


def save(table: pa.Table, facts: Facts, path: Path) -> None:
    """Write the chart as .svg, .png or .html; the page holds all it needs and loads nothing."""
    drawn = chart(table, facts)
    kind = path.suffix.lower()[1:]
    options = {"inline": True, "json_kwds": {"cls": _InPage}} if kind == "html" else {}
    drawn_as = BytesIO() if kind == "png" else StringIO()
    drawn.save(drawn_as, format=kind, **options)
    picture = drawn_as.getvalue()
    path.write_bytes(picture if isinstance(picture, bytes) else picture.encode())


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
    import altair

    if facts.verb == "frequencies":
        from headcount.results.chart_frequencies import frequency_chart

        return frequency_chart(table, facts)
    value = facts.value
    numbers = [name for name in facts.numbers if name in table.column_names]
    names = [name for name in table.column_names if name not in numbers]
    by_size = facts.verb not in IN_ORDER
    if by_size:
        table = table.sort_by([(value, "descending")]).slice(0, N_BARS)
    listed = table.to_pylist()
    rows = [
        {"group": group, "told": f"{group}: {label(row[value])}", **{n: row[n] for n in numbers}}
        for row, group in zip(listed, told_apart(_label(row, names) for row in listed), strict=True)
    ]
    data = altair.Data(values=rows)
    group = altair.Y(
        "group:N",
        sort=None,
        title=IN_ORDER.get(facts.verb, " and ".join(map(label, names))),
    )
    # Told from data: the description that is made by itself is an expression, with names of columns
    # in it that could end its strings.
    told = altair.Description("told:N")
    plain = altair.Chart(data)
    # A quantile is a place on the line of values, not an amount of anything.
    is_place = facts.verb == "quantiles"
    marks = plain.mark_point(filled=True, size=60) if is_place else plain.mark_bar()
    bars = marks.encode(
        color=altair.value("#4c78a8"),
        description=told,
        y=group,
        x=altair.X(f"{value}:Q", title=TITLES.get(facts.verb, value)),
    )
    rules = altair.Chart(data).mark_rule(color="#222222")
    ranges = rules.encode(y=group, x="low:Q", x2="high:Q", description=told)
    subtitle = f"{facts.of_bars}; {facts.guarantee}"
    title = altair.Title(facts.verb.replace("_", " "), subtitle=lines(subtitle))
    return (bars + ranges).properties(title=title, width=480)


def _label(row: dict[str, Any], names: list[str]) -> str:
    if row.get("other") is True:
        return "other groups"
    if names == ["quantile"]:
        return f"{100 * row['quantile']:g} %"
    if names == ["at_least", "below"]:
        return f"{_end(row['at_least'])} to {_end(row['below'])}"
    if names != ["at_least", "at_most"]:
        names = [name for name in names if name != "other" or not isinstance(row[name], bool)]
        return ", ".join(label(row[name]) for name in names)
    if row["at_most"] is None:
        return f"{row['at_least']:,} and more"
    if row["at_least"] == row["at_most"]:
        return f"{row['at_least']:,}"
    return f"{row['at_least']:,} to {row['at_most']:,}"


def _end(value: float | None) -> str:
    return "…" if value is None else f"{value:,g}"
