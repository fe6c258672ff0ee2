"""Groups that should be in every release: a warning where one is missing, or far from before.

Released rows are compared with released rows: what is looked at here was published already.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import hypot

from headcount.results.release import Release

FAR = 5
"""Standard deviations of the difference of two releases."""


def warnings(
    key: str, expect: tuple[str, tuple[str, ...]], now: Release, before: Release | None
) -> Iterator[str]:
    """What is not as expected of a release, in a sentence each."""
    column, groups = expect
    found, last = _rows(now, column), None if before is None else _rows(before, column)
    if found is None:
        yield f"{key}: expect names {column!r}, which is no column of its rows"
        return
    for group in groups:
        if group not in found:
            yield f"{key}: {group!r} is not among the rows, and should be in every release"
        elif last is not None and group in last:
            (value, sd), (earlier, sd_before) = found[group], last[group]
            off = abs(value - earlier) / max(hypot(sd, sd_before), 1e-12)
            if off > FAR:
                yield (
                    f"{key}: {group!r} is {value:,.10g}, and was {earlier:,.10g} in the release "
                    f"before: {off:.0f} standard deviations of the noise apart"
                )


def _rows(release: Release, column: str) -> dict[str, tuple[float, float]] | None:
    """Value and sd of each group of a column: of the first row that has it."""
    rows: dict[str, tuple[float, float]] = {}
    if column not in release.to_arrow().column_names:
        return None
    for row in release:
        value = row[release.facts.value]
        if value is not None:
            rows.setdefault(str(row[column]), (float(value), float(row["sd"] or 0)))
    return rows
