"""The file of a series: read into values, or refused with what is wrong with it."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from tests.unit.series.files import written

from headcount.errors import UsageError
from headcount.privacy.budget import Budget
from headcount.series.file import read_file
from headcount.tables.by import Truncate


def test_a_file_is_read(tmp_path: Path) -> None:
    read = read_file(written(tmp_path))
    assert read.source == str(tmp_path / "events/day=*/rows.parquet")
    assert read.window == Truncate("time", "day")
    assert read.budget == Budget(rho="0.015", delta="1e-6")
    assert (read.start, read.lag, read.keep) == (
        *(date(2026, 3, 1), timedelta(days=2)),
        timedelta(days=90),
    )
    pages, weekly = read.releases
    assert (pages.name, pages.verb, pages.every) == ("pages", "count_users", "day")
    assert pages.arguments == {"by": "page", "bound": 10}
    assert pages.spend == Budget(rho="0.01")
    assert (weekly.every, weekly.spend) == ("week", Fraction(1, 3))
    assert weekly.arguments["groups"] == ["SE", "NO"]
    place = tmp_path / "published/weekly/day=2026-03-02/rows.parquet"
    assert read.out_of("weekly", date(2026, 3, 2)) == place
    assert read.manifest == tmp_path / "published/manifest.jsonl"


def test_paths_are_from_the_folder_of_the_file_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "eu.txt").write_text("SE\n\nNO\n", encoding="utf-8")
    monkeypatch.chdir("/")
    edits = {"ledger": "ledger: kept/ledger.db", "account": "", "out": "out: '{window}.parquet'"}
    edits["pages"] = "  pages: {count_users: {by: page, groups: eu.txt}, spend: 1/2}"
    read = read_file(written(tmp_path, weekly="", **edits))
    assert read.ledger == str(tmp_path / "kept/ledger.db")
    assert read.account == str(tmp_path / "events/day=*/rows.parquet")
    assert read.releases[0].arguments["groups"] == ["SE", "NO"]
    assert read.manifest == tmp_path / "manifest.jsonl"


def test_groups_are_cut_as_in_a_shell(tmp_path: Path) -> None:
    line = "  pages: {count_events: {by: ['time:month', 'price:10', page]}, spend: 1/2}"
    by = read_file(written(tmp_path, pages=line)).releases[0].arguments["by"]
    assert list(map(str, by)) == ["time:month", "price:10", "page"]


def test_places_may_spell_a_window_otherwise(tmp_path: Path) -> None:
    edited = written(tmp_path, out="out: out/{window:%Y/%m/%d}/{release}.parquet")
    place = read_file(edited).out_of("pages", date(2026, 3, 1))
    assert place == tmp_path / "out/2026/03/01/pages.parquet"


REFUSED = {
    "a key that nobody knows": ({"lag": "lagg: 2 days"}, "Did you mean 'lag'?"),
    "a key of a release": (
        {"pages": "  pages: {count_users: {by: page}, spent: 1/2}"},
        "Did you mean 'spend'?",
    ),
    "a verb": ({"pages": "  pages: {count_user: {by: page}, spend: 1/2}"}, "'count_users'?"),
    "an argument of a verb": (
        {"pages": "  pages: {count_users: {by: page, bounds: 3}, spend: 1/2}"},
        "Did you mean 'bound'?",
    ),
    "a value of an argument": (
        {"pages": "  pages: {count_users: {by: page, bound: 0}, spend: 1/2}"},
        "bound must be a whole number",
    ),
    "no by": ({"pages": "  pages: {count_users: {bound: 3}, spend: 1/2}"}, "has no 'by'"),
    "no verb": ({"pages": "  pages: {spend: 1/2}"}, "one verb"),
    "two verbs": (
        {"pages": "  pages: {count_users: {by: page}, profile: {by: page}, spend: 1/2}"},
        "not 2",
    ),
    "no spend": ({"pages": "  pages: {count_users: {by: page}}"}, "has no 'spend'"),
    "a number to spend": (
        {"pages": "  pages: {count_users: {by: page}, spend: 0.5}"},
        "must be a budget or a share",
    ),
    "epsilon and rho": (
        {"budget": "budget: {rho: 1, epsilon: 1, per: day}"},
        "either epsilon or rho",
    ),
    "a budget of no window": ({"budget": "budget: {rho: 1}"}, "has no 'per'"),
    "a budget of other windows": ({"budget": "budget: {rho: 1, per: week}"}, "windows are days"),
    "weeks of months": (
        {
            "window": "window: time:month",
            "budget": "budget: {rho: 1, per: month}",
        },
        "every week, which is no whole number of windows",
    ),
    "a window of hours": ({"window": "window: time:hour"}, "window must be a column of times"),
    "a window without a unit": ({"window": "window: time"}, "window must be a column of times"),
    "a zone": ({"zone": "zone: Mars/Olympus"}, "the name of a time zone"),
    "a start": ({"start": "start: soon"}, "start must be a day"),
    "a day that there is not": ({"start": "start: 2026-02-30"}, "a day that there is not"),
    "a lag": ({"lag": "lag: 2"}, "lag must be so many hours, days or weeks"),
    "a place without a window": ({"out": "out: '{release}.parquet'"}, "{window}"),
    "a place of one window": ({"out": "out: '{release}/{window:%Y}.parquet'"}, "one file"),
    "a place of one release": ({"out": "out: '{window}.parquet'"}, "one file. Write {release}"),
    "a place that looks inside": (
        {"out": "out: '{release}{window.__class__}.parquet'"},
        "nothing else in braces",
    ),
    "a sign that names a release": ({"ready": "ready: '{window}/{release}'"}, "nothing else"),
    "a file of another kind": ({"out": "out: '{release}{window}.csv'"}, "ends in .parquet"),
    "a name": ({"pages": "  pa/ges: {count_users: {by: page}, spend: 1/2}"}, "a name of letters"),
    "Norway": (
        {"pages": "  pages: {count_users: {by: p}, spend: 1/2, expect: {p: [SE, NO]}}"},
        "NO means false",
    ),
    "Norway in a list of groups": (
        {"pages": "  pages: {count_users: {by: p, groups: [SE, NO]}, spend: 1/2}"},
        "NO means false",
    ),
    "a database without an account": (
        {"source": "source: postgres://ann@host/db?table=events", "account": ""},
        "needs a name for its account",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_said(case: str, tmp_path: Path) -> None:
    edits, words = REFUSED[case]
    with pytest.raises(UsageError) as refused:
        read_file(written(tmp_path, **edits))
    assert words in str(refused.value)
    assert "Nothing was charged" in str(refused.value)


def test_a_key_twice_and_no_yaml_are_refused(tmp_path: Path) -> None:
    for text in ("start: 2026-03-01\nstart: 2026-03-02\n", "a: [", "- 1", "!!python/object:x {}"):
        path = tmp_path / "releases.yaml"
        path.write_text(text)
        with pytest.raises(UsageError, match="Nothing was charged"):
            read_file(path)
    with pytest.raises(UsageError, match="cannot be read"):
        read_file(tmp_path / "none.yaml")
