"""Pictures: times in order, what is cut is said, and numbers are read as they are."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import altair
import pyarrow as pa
import pytest

from headcount.results.facts import Facts
from headcount.results.release import Release

COVERS = "low to high covers the noise only, not what the bound leaves out"


def facts(verb: str = "count_users", **more: Any) -> Facts:
    said = dict.fromkeys(("method", "rho", "delta", "bounds", "noise", "account", "version"), "")
    known = {"guarantee": "epsilon 1", "confidence": 0.95, "entry": 1, "notes": (COVERS,)}
    return Facts(verb=verb, **(said | known | more))  # type: ignore[arg-type]


def counts(groups: Any, values: list[int]) -> pa.Table:
    bars = {"low": [v - 5 for v in values], "high": [v + 5 for v in values]}
    return pa.table({"group": groups, "count": values, **bars, "sd": [2.5] * len(values)})


def drawn(release: Release) -> tuple[dict[str, Any], list[dict[str, Any]], str]:
    """The picture as Vega-Lite has it, its rows, and the words on top."""
    spec = release.plot().to_dict()
    layers = spec["layer"]
    data = layers[0].get("data", spec.get("data"))
    rows = data["values"] if "values" in data else spec["datasets"][data["name"]]
    return spec, rows, " ".join(spec["title"]["subtitle"])


def axes(spec: dict[str, Any]) -> list[dict[str, Any]]:
    channels = [layer["encoding"] for layer in spec["layer"]]
    return [one[name] for one in channels for name in ("x", "y") if name in one]


def test_a_picture_is_returned_or_written(tmp_path: Path) -> None:
    release = Release(counts(["a", "b"], [10, 20]), facts())
    chart = release.plot()
    assert isinstance(chart, altair.LayerChart)
    # Nothing that a notebook shows of it is a script.
    shown = chart.properties(width=100)._repr_mimebundle_()
    assert shown["image/svg+xml"].startswith("<svg")
    assert re.fullmatch(r'<img [^<>]* src="data:image/svg\+xml;base64,[^"]*">', shown["text/html"])
    assert list(tmp_path.iterdir()) == []
    assert release.plot(tmp_path / "a.svg") == tmp_path / "a.svg"
    assert "<svg" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_the_largest_are_shown_and_the_rest_is_counted() -> None:
    release = Release(counts([f"g{i:03}" for i in range(516)], list(range(516))), facts())
    _, rows, said = drawn(release)
    assert [row["group"] for row in rows] == [f"g{i:03}" for i in range(515, 475, -1)]
    assert said.startswith("40 of 516 rows shown, the largest.")
    _, rows, said = drawn(Release(counts(["a", "b"], [1, 2]), facts()))
    assert [row["group"] for row in rows] == ["b", "a"]
    assert "shown" not in said
    assert said == f"95% error bars: {COVERS}. epsilon 1."


def test_ids_and_axes_have_no_separators(tmp_path: Path) -> None:
    release = Release(counts([2858, 1260], [12000, 8000]), facts())
    spec, rows, _ = drawn(release)
    assert [row["group"] for row in rows] == ["2858", "1260"]
    written = release.plot(tmp_path / "a.svg").read_text(encoding="utf-8")
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", written)
    assert "2858" in texts
    assert "10000" in texts
    assert not [text for text in texts if re.search(r"\d,\d{3}", text)]
    assert spec["layer"][0]["encoding"]["x"]["title"] == "users"


@pytest.mark.parametrize("as_times", [False, True])
def test_days_and_times_are_on_a_time_axis_in_order(as_times: bool, tmp_path: Path) -> None:
    days: list[Any] = [datetime.date(2026, 1, 1) + datetime.timedelta(day) for day in range(90)]
    if as_times:
        days = [datetime.datetime(day.year, day.month, day.day, 13) for day in days]
    values = [1000 + 37 * at % 90 for at in range(90)]
    release = Release(counts(days, values), facts())
    spec, rows, said = drawn(release)
    assert len(rows) == 90
    assert [row["time"][:10] for row in rows] == [f"{day:%Y-%m-%d}" for day in days]
    assert rows[0]["time"].endswith("T13:00:00+00:00" if as_times else "2026-01-01")
    assert "rows shown" not in said
    for x in (layer["encoding"]["x"] for layer in spec["layer"]):
        assert x["type"] == "temporal"
        assert x["scale"]["type"] == "utc"
    assert "2026-01-" in release.plot(tmp_path / "a.svg").read_text(encoding="utf-8")


def test_a_row_without_a_time_is_named() -> None:
    table = counts(pa.array([datetime.date(2026, 1, 1), None], pa.date32()), [5, 6])
    _, rows, said = drawn(Release(table, facts()))
    assert [row["time"] for row in rows] == ["2026-01-01"]
    assert said.startswith("1 of 2 rows shown: one row has no time.")


def test_frequencies_are_one_curve_with_its_band() -> None:
    table = pa.table(
        {
            "count": [0, 1, 5000],
            "groups": [3.0, 40.0, 0.0],
            "or_more": [43.0, 40.0, 0.0],
            "noisy_groups": [3, 41, 0],
            "low": [0.0, 30.0, 0.0],
            "high": [9.0, 50.0, 0.2],
            "sd": [5.0, 5.0, 5.0],
        }
    )
    spec, rows, said = drawn(Release(table, facts("frequencies", value="groups")))
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["area", "line"]
    assert rows == [
        {"count": 1, "groups": 40.0, "low": 30.0, "high": 50.0},
        {"count": 5000, "groups": 0.5, "low": 0.5, "high": 0.5},
    ]
    assert said.startswith("2 of 3 rows shown.")
    assert all(axis["axis"]["format"] == "~r" for axis in axes(spec))


def test_rows_with_an_order_keep_it_and_empty_releases_are_drawn(tmp_path: Path) -> None:
    profile = {"at_least": [1, 2, 2049], "at_most": [1, 2048, None]}
    numbers = {"count": [1, 9, 2], "low": [0, 8, 1], "high": [2, 10, 3], "sd": [1.0] * 3}
    spec, rows, _ = drawn(Release(pa.table({**profile, **numbers}), facts("profile")))
    assert [row["group"] for row in rows] == ["1", "2 to 2048", "2049 and more"]
    assert spec["layer"][0]["encoding"]["y"]["title"] == "groups a user"
    for empty in (counts(pa.array([], kind), []) for kind in (pa.string(), pa.date32())):
        Release(empty, facts()).plot(tmp_path / "empty.svg")
