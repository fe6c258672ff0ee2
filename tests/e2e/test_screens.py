"""D9: whatever text a group is, it is shown as text: on screens, pages, pictures, in CSV files."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
import unicodedata
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.cli.main import main
from headcount.results.cells import label, told_apart, without_formulas
from headcount.results.release import Release
from headcount.screens import visible, visible_lines

ODD = [
    "[/foo]", "[b]", "[bold red]x[/]", "[link=http://x.example]y[/link]", "[[", "\\[b]", ":smile:",
    "\x1b[31mred", "\x1b]0;title\x07", "\x1b]8;;http://x.example\x1b\\y", "\x1b[2J", "\x9b31m",
    "a\nb", "a\r\nb", "a\rb", "\ttab", "a\x0bb", "a\x08b", "\x7f", "\x01",
    "\u202eabc", "\u2066x\u2069", "\u200bzero", "\u2028line", "\ufeffmark", "\u0085next",
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!--", "]]>",
    "&lt;b&gt;", "a & b", '"><svg onload=alert(1)>', "'; alert(1); '", "{{ 7*7 }}",
    "${7*7}", "%s %(x)s",
    "datum.x", "{'signal': 'alert(1)'}", "\\u003c/script\\u003e", "javascript:alert(1)",
    "=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0", "'=1+1", "''=1", " =1", "\u00a0=1", "＝1",
    "=HYPERLINK(\"http://x.example\",\"y\")", "\r=1", "'plain", 'a,"b"', "a;b", "∅", "", " ",
    "e\u0301", "日本\u3000語", "👩\u200d👧", "x" * 500, "\U000e0041tag", "\\x1b[31mred",
]  # fmt: skip
N_USERS = 400
# The last part would end a string of an expression, if a chart put names into one.
COLUMN = '[b]=col\x1b\\" + datum.count*7 + \\"'
FORMULA = re.compile(r"['\s]*[=+\-@＝]|'*[\t\r\n]")
ACTS = {"Cc", "Cf", "Zl", "Zp"}


def acting(text: str) -> list[str]:
    """Characters that act on a terminal; line ends are where lines end."""
    return [c for c in text if unicodedata.category(c) in ACTS and c != "\n"]


def events() -> pa.Table:
    n = len(ODD)
    users = [f"user {i}" for i in range(N_USERS) for _ in range(n)]
    return pa.table({"user": users, COLUMN: ODD * N_USERS})


@pytest.fixture(scope="module")
def events_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("odd") / "events [b] \x1b[31m.parquet"
    pq.write_table(events(), path)
    return path


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["headcount", *arguments])
    monkeypatch.setenv("COLUMNS", "1000")
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out + said.err


@pytest.fixture(scope="module")
def release(events_file: Path, tmp_path_factory: pytest.TempPathFactory) -> hc.Release:
    data = hc.open(
        events_file,
        user="user",
        budget=hc.Budget(epsilon=2000, delta=1e-3),
        ledger=tmp_path_factory.mktemp("ledger") / "ledger.db",
    )
    assert not acting(repr(data))
    plan = data.count_users(COLUMN, bound=len(ODD), spend=hc.Budget(epsilon=1000))
    assert not acting(str(plan) + plan.explain() + repr(plan))
    found = plan.release()
    assert not acting(repr(found) + str(found))
    return found


def groups(release: hc.Release) -> list[Any]:
    return release.to_arrow().column(0).to_pylist()


def test_d9_every_value_is_released_as_it_is(release: hc.Release) -> None:
    assert len(ODD) == len(set(ODD)) >= 40
    normal = {unicodedata.normalize("NFC", text) for text in ODD}
    assert set(groups(release)) == normal
    assert all(abs(row["count"] - N_USERS) < 5 for row in release.to_arrow().to_pylist())


def test_d9_csv_files_hold_no_formula_and_lose_nothing(release: hc.Release, tmp_path: Path) -> None:
    release.write(tmp_path / "rows.csv")
    release.write(tmp_path / "rows.parquet")
    text = (tmp_path / "rows.csv").read_bytes().decode()
    names, *rows = list(csv.reader(io.StringIO(text, newline="")))
    assert names[0] == COLUMN
    written = [row[0] for row in rows]
    assert len(written) == len(set(written)) == len(release)
    assert not [cell for cell in written if FORMULA.match(cell) and cell[0] != "'"]
    undone = [cell[1:] if FORMULA.match(cell) else cell for cell in written]
    assert undone == groups(release)
    assert "'plain" in written
    assert [int(row[1]) for row in rows] == release.to_arrow()["count"].to_pylist()
    assert pq.read_table(tmp_path / "rows.parquet").column(0).to_pylist() == groups(release)


def test_d9_names_and_numbers_in_csv_files() -> None:
    table = pa.table({"=a": ["-1", None, "b"], "b": [-1, 2, None], "c": [-0.5, None, 1.0]})
    safe = without_formulas(table)
    assert safe.column_names == ["'=a", "b", "c"]
    assert safe.column(0).to_pylist() == ["'-1", None, "b"]
    assert safe.select(["b", "c"]) == table.select(["b", "c"])


class Page(HTMLParser):
    """The tags of a page, and what its scripts hold."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: list[str] = []
        self.attributes: list[str] = []
        self.cells: list[str] = []
        self.inside = False
        self.in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.in_cell = tag == "td"
        if self.in_cell:
            self.cells.append("")
        if tag == "script":
            self.inside = True
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag != "script"
        self.in_cell = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.scripts[-1] += data
        if self.in_cell:
            self.cells[-1] += data


def test_d9_notebooks_show_every_value_as_text(release: hc.Release) -> None:
    """Ten at a time, so that each has been shown."""
    table = release.to_arrow()
    shown = []
    for begin in range(0, len(ODD), 10):
        some = Release(table.slice(begin, 10), release.facts)
        html = some._repr_html_()
        page = Page()
        page.feed(html)
        assert set(page.tags) <= {
            "div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "svg", "rect", "path"
        }  # fmt: skip
        assert not [name for name in page.attributes if name.startswith(("on", "href", "src"))]
        assert not acting(html)
        shown += page.cells[: len(some) * 4 : 4]
        lines = str(some).splitlines()
        assert len(lines) == 1 + 1 + len(some) + 3
        assert not acting(str(some))
    assert sorted(shown) == sorted(map(label, groups(release)))


def test_d9_pages_and_pictures_show_text(release: hc.Release, tmp_path: Path) -> None:
    html = release.plot(tmp_path / "rows.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(html)
    assert set(page.tags) <= {"html", "head", "meta", "title", "style", "body", "div", "script"}
    (script,) = (text for text in page.scripts if '"$schema"' in text and "vegaEmbed" in text)
    spec, _ = json.JSONDecoder().raw_decode(script[script.index('{"config"') :])
    (rows,) = (data for data in _values(spec) if data and "group" in data[0])
    labels = [row["group"] for row in rows]
    assert len(labels) == len(set(labels)) == 40
    assert not [text for text in labels if acting(text)]
    assert "</script><script>" not in html
    svg = release.plot(tmp_path / "rows.svg").read_text(encoding="utf-8")
    tree = ElementTree.fromstring(svg)
    tags = {str(each.tag).rpartition("}")[2] for each in tree.iter()}
    assert tags <= {
        "svg",
        "g",
        "path",
        "text",
        "tspan",
        "rect",
        "line",
        "defs",
        "clipPath",
        "style",
    }
    assert not [each for each in tree.iter() for name in each.attrib if name.startswith("on")]
    assert str(7 * N_USERS) not in svg
    png = release.plot(tmp_path / "rows.png").read_bytes()
    assert png.startswith(b"\x89PNG")


def _values(spec: Any) -> list[Any]:
    """All rows that a chart holds, wherever they stand in it."""
    if isinstance(spec, dict):
        own = [spec["values"]] if isinstance(spec.get("values"), list) else []
        own += list(spec.get("datasets", {}).values())
        return own + [found for part in spec.values() for found in _values(part)]
    if isinstance(spec, list):
        return [found for part in spec for found in _values(part)]
    return []


def test_d9_commands_show_every_row_on_one_line(
    events_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ledger, account = str(tmp_path / "ledger.db"), "[b]acc\x1b[31m"
    common = ("--user", "user", "--by", COLUMN, "--bound", str(len(ODD)), "--ledger", ledger,
              "--account", account, "--epsilon", "1000", "--budget", "9000")  # fmt: skip
    for ending in ("html", "svg", "png"):
        out, plot = tmp_path / "[b]\x1b.csv", tmp_path / f"[b]\x1b.{ending}"
        code, said = run(
            monkeypatch, capsys, "count-users", str(events_file), *common,
            "--out", str(out), "--plot", str(plot),
        )  # fmt: skip
        assert code == 0
        assert not acting(said)
        shown = [line for line in said.splitlines() if re.search(rf"{N_USERS}\s+\d+\s+\d+", line)]
        assert len(shown) == 20
        assert f"the 20 largest of {len(ODD):,} rows" in said
        assert f"of account {account!r}" in said
        assert visible(str(out)) in said
        assert visible(str(plot)) in said
        assert plot.stat().st_size > 1000
        assert len(pyarrow.csv.read_csv(
            out, parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True)
        )) == len(ODD)  # fmt: skip
    for command in (["show"], ["statement", account], ["verify"], ["export"]):
        code, said = run(monkeypatch, capsys, "ledger", *command, "--ledger", ledger)
        assert code == 0
        assert not acting(said)
    page = tmp_path / "statement.html"
    run(monkeypatch, capsys, "ledger", "statement", account, "--ledger", ledger, "--out", str(page))
    assert not acting(page.read_text(encoding="utf-8"))


def test_d9_given_groups_and_every_screenful(
    events_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A public list, twenty at a time, so that each value has been on the screen."""
    for at, begin in enumerate(range(0, len(ODD), 20)):
        # A text file has one group a line, so those with an end of a line stay out.
        given = [text for text in ODD[begin : begin + 20] if len(text.splitlines()) == 1]
        listed = tmp_path / "groups.txt"
        listed.write_text("\n".join(given), encoding="utf-8")
        code, said = run(
            monkeypatch, capsys, "count-users", str(events_file), "--user", "user", "--by", COLUMN,
            "--groups", str(listed), "--ledger", str(tmp_path / f"{at}.db"), "--epsilon", "1000",
            "--budget", "1000", "--out", str(tmp_path / "x.csv"),
        )  # fmt: skip
        assert code == 0
        assert not acting(said)
        for text in given:
            shown = label(unicodedata.normalize("NFC", text)).rstrip()
            assert re.search(rf"^{re.escape(shown)} +[34][0-9][0-9] ", said, re.MULTILINE), repr(
                text
            )


@pytest.mark.parametrize("text", ODD)
def test_d9_what_is_shown_does_not_act(text: str) -> None:
    assert not acting(visible(text))
    assert "\n" not in visible(text)
    assert len(label(text)) <= 200
    if text.isprintable():
        assert visible(text) == text


def test_d9_labels_are_told_apart() -> None:
    assert told_apart(["a", "a", "a (2)", "b", "a"]) == ["a", "a (2)", "a (2) (2)", "b", "a (3)"]
    assert visible("\x1b[31m\u202e") == "\\x1b[31m\\u202e"
    assert visible_lines("a\nb\x07") == "a\nb\\x07"
    assert visible("a\udc80") == "a\\udc80"
    assert label(None) == "∅"
