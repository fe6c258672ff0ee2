"""What is printed, and what a notebook shows: of every verb, and nothing that is not released."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from headcount.releases import face, run

MONTHS = ["2026-01-01", "2026-02-01", "2026-03-01"]
MONTH = hc.truncate("time", "month")
CALLS: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "users": ("count_users", ("page",), {}),
    "users within": ("count_users", ("page",), {"within": 0.1}),
    "users on days": ("count_users", (hc.truncate("time", "day"),), {}),
    "users by two": ("count_users", (["page", MONTH],), {}),
    "a sample": ("count_users", ("page",), {"method": "sample"}),
    "users bound": ("count_users", ("page",), {"bound": 3}),
    "events": ("count_events", ("page",), {}),
    "events listed": ("count_events", (MONTH,), {"groups": MONTHS}),
    "distribution": ("distribution", ("page",), {}),
    "frequencies": ("frequencies", ("page",), {}),
    "quantiles": ("quantiles", (None,), {"at": [0.5, 0.9], "bounds": (0, 1000)}),
    "count_ranges": ("count_ranges", (None, [(1, 5), (5, None)]), {}),
    "profile": ("profile", ("page",), {}),
}


@pytest.fixture(scope="module")
def data(demo_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return hc.open(
        demo_file,
        user="user_id",
        budget=hc.Budget(epsilon=50, delta=1e-6),
        ledger=tmp_path_factory.mktemp("seen") / "ledger.db",
    )


def plan_of(data: Any, name: str) -> Any:
    verb, arguments, named = CALLS[name]
    return getattr(data, verb)(*arguments, **named, spend=hc.Budget(epsilon=1))


class Cells(HTMLParser):
    """The texts of the cells of a table, and the text around."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.around = ""
        self.tags: set[str] = set()
        self.is_cell = False
        self.feed(html)

    def handle_starttag(self, tag: str, _attrs: Any) -> None:
        self.tags.add(tag)
        self.is_cell = tag == "td"
        if self.is_cell:
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.is_cell:
            self.cells[-1] += data
        self.around += data


@pytest.mark.parametrize("name", CALLS)
def test_rows_of_every_verb_are_shown_with_their_bars(data: Any, name: str) -> None:
    release = plan_of(data, name).release()
    said = str(release).splitlines()
    n_shown = min(10, len(release))
    assert n_shown > 0
    counted = rf"{n_shown} of {len(release)} rows, the (largest|first)" if len(release) > 10 else ""
    assert re.search(counted or f"{len(release)} rows", said[0])
    rows = said[2 : 2 + n_shown]
    assert said[1].endswith("low to high")
    assert all(re.search(r"[\d.,]+ to +[\d.,]+$", row) for row in rows)
    assert len({row.rindex(" to ") for row in rows}) == 1
    below = "\n".join(said[2 + n_shown :])
    assert f"Guarantee: {release.guarantee}." in below
    assert f"Paid by entry {release.entry} of account {release.facts.account!r}." in below
    assert ("noise only" in below) == (name == "users bound")
    page = Cells(release._repr_html_())
    assert not page.tags & {"script", "img", "link", "iframe", "style"}
    assert len(page.cells) % n_shown == 0
    for row, start in zip(rows, range(0, len(page.cells), len(page.cells) // n_shown), strict=True):
        for cell in page.cells[start : start + len(page.cells) // n_shown - 2]:
            assert cell in row
    assert release.guarantee in page.around
    assert len(list(release)) == len(release)
    again = plan_of(data, name).release()
    assert list(again) == list(release)
    assert "Shown again, free: entry" in str(again)
    assert "Shown again, free: entry" in again._repr_html_()
    assert "Shown again" not in str(release)


def test_withheld_rows_are_counted_and_the_largest_is_named(data: Any) -> None:
    release = plan_of(data, "users within").release()
    withheld = release.withheld
    assert withheld is not None
    largest = max(withheld.to_pylist(), key=lambda row: row["count"])["page"]
    for shown in (str(release), release._repr_html_()):
        assert f"{withheld.num_rows:,} measured rows are withheld" in shown
        assert [page for page in withheld["page"].to_pylist() if page in shown] == [largest]


def test_all_that_is_shown_is_in_the_rows(data: Any) -> None:
    release = plan_of(data, "users").release()
    largest = sorted(release, key=lambda row: -row["count"])[:10]
    shown = [line.split() for line in str(release).splitlines()[2:12]]
    assert shown == [
        [row["page"], f"{row['count']:,}", f"{row['low']:,}", "to", f"{row['high']:,}"]
        for row in largest
    ]


@pytest.mark.parametrize("name", CALLS)
def test_the_face_of_a_plan_is_short_and_the_rest_is_explained(data: Any, name: str) -> None:
    plan = plan_of(data, name)
    short, whole = str(plan), plan.explain()
    assert len(short.splitlines()) <= 11
    assert short.splitlines()[0] == whole.splitlines()[0]
    for word in ("protects", "you get", "error", "cost"):
        assert f"\n  {word} " in short
    assert "1 over the root" not in short
    for word in ("method", "rules"):
        assert f"\n  {word} " not in short
        assert f"\n  {word} " in whole
    bar = re.search(r"\n  error bar +(.*)", whole)
    assert bar is None or bar[1] in short


def test_a_plan_says_that_it_was_released(demo_file: Path, tmp_path: Path) -> None:
    data = hc.open(
        demo_file, user="user_id", budget=hc.Budget(epsilon=3), ledger=tmp_path / "ledger.db"
    )
    plan, spend = data.profile("page", spend=hc.Budget(epsilon=1)), hc.Budget(epsilon=1)
    assert re.search(r"cost +epsilon 1: 13 % of the budget; about six more like this", str(plan))
    for text in (str(plan), plan.explain()):
        assert "nothing was read and nothing was charged" in text
    release = plan.release()
    for text in (str(plan), plan.explain()):
        assert re.search(rf"answered +by entry {release.entry} of", text)
        assert re.search(r"cost +nothing: it was charged before", text)
        assert "nothing was read" not in text
        assert "left after" not in text
    answered = str(data.profile("page", spend=spend))
    assert "cost      nothing: it was charged before" in answered
    assert f"answered  by entry {release.entry} of" in answered
    # As many more fit as was said, and not one beyond.
    cuts: list[Any] = [MONTH, hc.truncate("time", "day"), hc.truncate("time", "hour")]
    for n_left, by in zip(
        (5, 4, 3, 2, 1, 0), (*cuts, *(["page", cut] for cut in cuts)), strict=True
    ):
        other = data.profile(by, spend=spend)
        said = re.findall(r"budget; (.*) more like this after it", str(other))
        assert said == [f"about {face.NUMBERS[n_left]}" if n_left else "no"]
        other.release()
    with pytest.raises(hc.BudgetError):
        data.profile(hc.truncate("time", "week"), spend=spend)


def test_a_plan_says_that_its_release_failed_after_the_charge(
    demo_file: Path, tmp_path: Path
) -> None:
    data = hc.open(
        demo_file, user="user_id", budget=hc.Budget(epsilon=3), ledger=tmp_path / "ledger.db"
    )

    def stop(stage: str) -> None:
        if stage == run.READING:
            raise RuntimeError

    plan = data.count_users("page", spend=hc.Budget(epsilon=1))
    with pytest.raises(RuntimeError):
        plan.release(progress=stop)
    for one in (plan, data.count_users("page", spend=hc.Budget(epsilon=1))):
        for text in (str(one), one.explain()):
            assert "nothing was charged" not in text
            assert re.search(r"charged +entry \d+ of .* has no rows yet", text)
            assert re.search(r"cost +nothing: it was charged before", text)
    (charged,) = data.ledger.entries(data.account.name)
    assert plan.release().entry == charged.sequence
    assert re.search(rf"answered +by entry {charged.sequence} of", str(plan))
    fresh = plan.release(fresh=True)
    assert re.search(rf"answered +by entry {fresh.entry} of", plan.explain())


def test_a_plan_is_printed_where_the_ledger_cannot_be_asked(
    demo_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADCOUNT_HEADS", str(tmp_path / "heads"))
    ledger = tmp_path / "ledger.db"
    data = hc.open(demo_file, user="user_id", budget=hc.Budget(epsilon=3), ledger=ledger)
    data.profile("page", spend=hc.Budget(epsilon=1)).release()
    plan = data.count_users("page", spend=hc.Budget(epsilon=1))
    for head in (tmp_path / "heads").glob("*.head"):
        head.write_bytes(b"no head any more".ljust(1024))
    assert "the ledger cannot be asked now" in str(plan)
    assert "the ledger cannot be asked now" in plan.explain()


def test_a_used_ledger_that_was_never_seen_from_here_is_told(
    demo_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def opened() -> str:
        caplog.clear()
        ledger = tmp_path / "ledger.db"
        data = hc.open(demo_file, user="user_id", budget=hc.Budget(epsilon=3), ledger=ledger)
        data.profile("page", spend=hc.Budget(epsilon=1)).release()
        return caplog.text

    assert "seen from here" not in opened()
    assert "seen from here" not in opened()
    monkeypatch.setenv("HEADCOUNT_HEADS", str(tmp_path / "another home"))
    assert "none of them was seen from here before" in opened()
    assert "seen from here" not in opened()
