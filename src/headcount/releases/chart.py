"""A picture of a release: one bar a row, with its error bar. Drawn from noisy rows alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcount.releases.output import require_plots

if TYPE_CHECKING:
    from headcount.releases.release import Release

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


def save(release: Release, path: Path) -> None:
    """Write the chart as .svg, .png or .html; the page holds all it needs and loads nothing."""
    drawn = chart(release)
    if path.suffix.lower() == ".html":
        drawn.save(str(path), inline=True)
    else:
        drawn.save(str(path), format=path.suffix.lower().lstrip("."))


def chart(release: Release) -> Any:
    """The chart itself, for a notebook."""
    require_plots()
    import altair

    if release.facts.verb == "frequencies":
        from headcount.releases.chart_frequencies import frequency_chart

        return frequency_chart(release)
    table, value = release.to_arrow(), release.facts.value
    numbers = [name for name in release.facts.numbers if name in table.column_names]
    names = [name for name in table.column_names if name not in numbers]
    by_size = release.facts.verb not in IN_ORDER
    if by_size:
        table = table.sort_by([(value, "descending")]).slice(0, N_BARS)
    rows = [
        {"group": _label(row, names), **{name: row[name] for name in numbers}}
        for row in table.to_pylist()
    ]
    data = altair.Data(values=rows)
    group = altair.Y(
        "group:N", sort=None, title=IN_ORDER.get(release.facts.verb, " and ".join(names))
    )
    plain = altair.Chart(data)
    # A quantile is a place on the line of values, not an amount of anything.
    is_place = release.facts.verb == "quantiles"
    marks = plain.mark_point(filled=True, size=60) if is_place else plain.mark_bar()
    bars = marks.encode(
        color=altair.value("#4c78a8"),
        y=group,
        x=altair.X(f"{value}:Q", title=TITLES.get(release.facts.verb, value)),
    )
    ranges = altair.Chart(data).mark_rule(color="#222222").encode(y=group, x="low:Q", x2="high:Q")
    subtitle = f"{release.facts.confidence:.0%} error bars; {release.guarantee}"
    title = altair.Title(release.facts.verb.replace("_", " "), subtitle=lines(subtitle))
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
        return ", ".join("∅" if row[name] is None else str(row[name]) for name in names)
    if row["at_most"] is None:
        return f"{row['at_least']:,} and more"
    if row["at_least"] == row["at_most"]:
        return f"{row['at_least']:,}"
    return f"{row['at_least']:,} to {row['at_most']:,}"


def _end(value: float | None) -> str:
    return "…" if value is None else f"{value:,g}"


def lines(text: str) -> list[str]:
    """A long text, broken for a subtitle."""
    import textwrap

    return textwrap.wrap(text, 90)
