"""Which rows people are shown, what they are called, and how they stand in columns."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pytest

from headcount.results.cells import label
from headcount.results.facts import Facts
from headcount.results.release import Release
from headcount.results.shown import chosen, name, number, shown


def facts(verb: str = "count_users", **more: Any) -> Facts:
    said: dict[str, Any] = {
        "method": "m",
        "guarantee": "epsilon 1 at delta 1e-06 for one user",
        "rho": "1",
        "delta": "0",
        "bounds": "",
        "noise": "",
        "confidence": 0.95,
        "account": "pages",
        "entry": 7,
        "version": "0",
    }
    return Facts(verb=verb, **(said | more))


def counts(groups: list[Any], values: list[int], **more: Any) -> pa.Table:
    bars = {"low": [v - 5 for v in values], "high": [v + 5 for v in values]}
    return pa.table({"group": groups, **more, "count": values, **bars, "sd": [2.5] * len(values)})


def test_the_largest_rows_come_first_and_are_counted() -> None:
    table = counts([f"g{i:03}" for i in range(516)], list(range(1000, 1516)))
    said = str(Release(table, facts())).splitlines()
    assert said[0] == "count users: 10 of 516 rows, the largest"
    assert said[1] == "group  count     low to high"
    assert said[2] == "g515   1,515  1,510 to 1,520"
    assert said[11] == "g506   1,506  1,501 to 1,511"
    assert said[12:] == [
        "95% error bars: low to high.",
        "Guarantee: epsilon 1 at delta 1e-06 for one user.",
        "Paid by entry 7 of account 'pages'.",
    ]


def test_all_rows_of_a_small_release_are_shown_by_size() -> None:
    release = Release(counts(["a", "b", "c"], [1, 30, 20]), facts())
    said = str(release).splitlines()
    assert said[0] == "count users: 3 rows"
    assert [line[0] for line in said[2:5]] == ["b", "c", "a"]
    assert str(Release(counts(["a"], [1]), facts())).startswith("count users: 1 row\n")


def test_columns_stand_in_line() -> None:
    groups = ["short", "日本語", "e\u0301", "x" * 100, None]
    lines = str(Release(counts(groups, [1, 20, 300, 4000, 50000]), facts())).splitlines()[1:7]
    assert lines[1].startswith("∅ ")
    assert f"{'x' * 39}…  " in lines[2]
    places = [line.rindex(" to ") for line in lines[1:]]
    wide = {lines.index(line): 3 for line in lines if "日本語" in line}
    wide |= {lines.index(line): -1 for line in lines if "e\u0301" in line}
    assert len({place + wide.get(at, 0) for at, place in enumerate(places, 1)}) == 1


def test_ids_have_no_separators_and_counts_have() -> None:
    said = str(Release(counts([2858, 260], [3000, 10]), facts()))
    assert "2858   3,000" in said
    assert "2,858" not in said
    assert name(2858.0) == "2858"
    assert [number(value) for value in (1234, 0.01234, 1234.5)] == ["1,234", "0.0123", "1,234"]


def test_groups_of_blanks_are_told_apart() -> None:
    groups = ["", " ", "\u00a0", "a", "a ", " a", None, "∅", "'a'", "''", "' '"]
    shown_as = [label(group) for group in groups]
    assert len(set(shown_as)) == len(groups)
    assert shown_as[:7] == ["''", "' '", "'\u00a0'", "a", "'a '", "' a'", "∅"]
    assert all(text.strip() == text for text in shown_as)


def test_times_stay_in_order() -> None:
    days = [datetime.date(2026, 1, day) for day in range(1, 15)]
    values = [100 + day.day if day.day % 2 else day.day for day in days]
    table = counts(days, values)
    some, which = chosen(table, facts(), 5)
    assert which == "largest"
    assert [day.day for day in some["group"].to_pylist()] == [5, 7, 9, 11, 13]
    two = counts(days, values, page=["p"] * 14)
    assert chosen(two, facts(), 14)[0]["count"].to_pylist() == sorted(values, reverse=True)


@pytest.mark.parametrize(
    ("verb", "columns", "names", "heading"),
    [
        ("profile", {"at_least": [1, 2049], "at_most": [1, None]}, ["1", "2049 and more"],
         "groups a user"),
        ("profile", {"at_least": [3, 5], "at_most": [4, 8]}, ["3 to 4", "5 to 8"], "groups a user"),
        ("count_ranges", {"at_least": [None, 5000.0], "below": [5000.0, None]},
         ["… to 5000", "5000 to …"], "range"),
        ("quantiles", {"quantile": [0.5, 0.999]}, ["50 %", "99.9 %"], "share of users below"),
    ],
)  # fmt: skip
def test_rows_with_an_order_keep_it_and_have_one_name(
    verb: str, columns: dict[str, Any], names: list[str], heading: str
) -> None:
    table = pa.table({**columns, "count": [1, 2], "low": [0, 1], "high": [2, 3], "sd": [1.0, 1.0]})
    some = shown(table, facts(verb), 10)
    assert some.headings == (heading,)
    assert [one for (one,) in some.names] == names
    assert shown(table, facts(verb), 1).counted == "1 of 2 rows, the first"


def test_the_share_of_other_groups_has_that_name_and_no_other_row_has() -> None:
    shares = {"share": [0.2, 0.8], "low": [0.1, 0.7], "high": [0.3, 0.9], "sd": [0.1, 0.1]}
    table = pa.table({"page": ["a", None], "other": [False, True], **shares})
    some = shown(table, facts("distribution", value="share"), 10)
    assert some.headings == ("page",)
    assert some.names == (("other groups",), ("a",))
    # A column of somebody's table may be called so too.
    own = counts([True, False], [1, 2]).rename_columns(["other", "count", "low", "high", "sd"])
    assert shown(own, facts(), 10).names == (("False",), ("True",))


def test_what_is_missing_is_said() -> None:
    empty = Release(counts([], []).slice(0, 0), facts())
    assert "The release has no rows. No group stood out from the noise." in str(empty)
    assert "no rows" in empty._repr_html_()
    assert "<table" not in empty._repr_html_()
    empty.withheld = counts(["a"], [1])
    assert "1 more row was measured and withheld" in str(empty)
    assert "stood out" not in str(empty)
    assert "1 more row was measured and withheld" in empty._repr_html_()
    assert "stood out" not in str(Release(counts([], []), facts("stream")))


def test_what_bars_cover_is_said_with_them() -> None:
    notes = ("Rows are dropped.", "low to high covers the noise only, not what the bound leaves.")
    said = str(Release(counts(["a"], [1]), facts(notes=notes, bars="noise only")))
    assert "95% error bars: low to high covers the noise only, not what the bound leaves.\n" in said


def test_bars_that_cover_less_say_so_without_a_note_too() -> None:
    said = str(Release(counts(["a"], [1]), facts(bars="noise only")))
    assert "95% error bars (noise only): low to high.\n" in said


def test_rows_come_one_by_one_and_a_release_without_an_account_names_none() -> None:
    release = Release(counts(["a", "b"], [1, 2]), facts(account="", entry=0))
    assert list(release) == release.to_arrow().to_pylist()
    assert next(iter(release))["group"] == "a"
    assert "entry" not in str(release)
    release.again = "entry 7"
    assert str(release).endswith("Shown again, free: entry 7.")


def test_a_notebook_draws_bars_on_one_scale() -> None:
    html = Release(counts(["a", "b"], [100, 50]), facts())._repr_html_()
    assert html.count("<svg") == 2
    # From zero to the larger end of all bars, 105, on 156 places.
    assert 'width="148.6"' in html
    assert 'width="74.3"' in html
    below = Release(counts(["a", "b"], [10, -50]), facts())._repr_html_()
    assert "-55 to -45" in below
    assert 'width="-' not in below
    zero = pa.table({"group": ["a"], "count": [0], "low": [0], "high": [0], "sd": [0.0]})
    assert "<svg" in Release(zero, facts())._repr_html_()
    endless = counts(["a"], [1]).set_column(3, "high", pa.array([float("inf")]))
    assert "<svg" not in Release(endless, facts())._repr_html_()
