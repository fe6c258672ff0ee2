"""A picture of a release: one bar a row, with its error bar. Drawn from noisy rows alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcount.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from headcount.releases.release import Release

ENDINGS = (".svg", ".png", ".html")
N_BARS = 40
TITLES = {
    "count_users": "users",
    "profile": "users",
    "distribution": "share of rows, averaged over users",
}


def write_chart(release: Release, path: str | Path) -> Path:
    """Write the chart as .svg, .png or .html; the page holds all it needs and loads nothing."""
    where = Path(path)
    if where.suffix.lower() not in ENDINGS:
        raise UsageError(f"{str(path)!r} must end in {', '.join(ENDINGS)}.")
    drawn = chart(release)
    if where.suffix.lower() == ".html":
        drawn.save(str(where), inline=True)
    else:
        drawn.save(str(where))
    return where


def chart(release: Release) -> Any:
    """The chart itself, for a notebook."""
    try:
        import altair
        import vl_convert  # noqa: F401
    except ImportError:
        raise MissingExtraError("plots", "A chart") from None
    table, value = release.to_arrow(), release.facts.value
    numbers = [name for name in release.facts.numbers if name in table.column_names]
    names = [name for name in table.column_names if name not in numbers]
    by_size = release.facts.verb != "profile"
    if by_size:
        table = table.sort_by([(value, "descending")]).slice(0, N_BARS)
    rows = [
        {"group": _label(row, names, by_size), **{name: row[name] for name in numbers}}
        for row in table.to_pylist()
    ]
    data = altair.Data(values=rows)
    group = altair.Y(
        "group:N", sort=None, title=" and ".join(names) if by_size else "groups a user"
    )
    bars = (
        altair.Chart(data)
        .mark_bar(color="#4c78a8")
        .encode(y=group, x=altair.X(f"{value}:Q", title=TITLES.get(release.facts.verb, value)))
    )
    ranges = altair.Chart(data).mark_rule(color="#222222").encode(y=group, x="low:Q", x2="high:Q")
    subtitle = f"{release.facts.confidence:.0%} error bars; {release.guarantee}"
    title = altair.Title(release.facts.verb.replace("_", " "), subtitle=_lines(subtitle))
    return (bars + ranges).properties(title=title, width=480)


def _label(row: dict[str, Any], names: list[str], by_size: bool) -> str:
    if row.get("other") is True:
        return "other groups"
    if by_size:
        names = [name for name in names if name != "other" or not isinstance(row[name], bool)]
        return ", ".join("∅" if row[name] is None else str(row[name]) for name in names)
    if row["at_most"] is None:
        return f"{row['at_least']:,} and more"
    if row["at_least"] == row["at_most"]:
        return f"{row['at_least']:,}"
    return f"{row['at_least']:,} to {row['at_most']:,}"


def _lines(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, 90)
