"""A release as one page, in a real browser: it says all, loads nothing, and runs no group."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.e2e.browser import OVERFLOW, ROOMS, Browser, Page, needs_browser

import headcount as hc

HOSTILE = [
    "<script>document.title='run'</script>",
    "<img src=x onerror=\"document.title='run'\">",
    "</title></style></script><script>document.title='run'</script>",
    "http://127.0.0.1:9/a.png",
    "'\"&<>",
    "\u202eevil\u202c",
]
COLUMN = (
    "Array.from(document.querySelectorAll('tbody tr:not([hidden])'))"
    ".map(row => row.cells[{}].textContent)"
)


@pytest.fixture(scope="module")
def data(demo_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    ledger = tmp_path_factory.mktemp("reported") / "ledger.db"
    budget = hc.Budget(epsilon=50, delta=1e-6)
    return hc.open(demo_file, user="user_id", budget=budget, ledger=ledger)


def plans(data: Any) -> dict[str, Any]:
    spend, day = hc.Budget(epsilon=1), hc.truncate("time", "day")
    return {
        "users": data.count_users("page", spend=spend),
        "users within": data.count_users("page", within=0.1, spend=spend),
        "days": data.count_users(day, spend=spend),
        "events": data.count_events("page", spend=spend),
        "distribution": data.distribution("page", spend=spend),
        "frequencies": data.frequencies("page", spend=spend),
        "quantiles": data.quantiles(None, at=[0.5, 0.9], bounds=(0, 1000), spend=spend),
        "ranges": data.count_ranges(None, [(1, 5), (5, None)], spend=spend),
        "profile": data.profile("page", spend=spend),
    }


@needs_browser
@pytest.mark.slow
def test_every_verb_has_a_page_that_fits_and_is_silent(
    data: Any, browser: Browser, tmp_path: Path
) -> None:
    for name, plan in plans(data).items():
        release = plan.release()
        path = release.report(tmp_path / f"{name}.html")
        for width, dark in ROOMS:
            page = browser.open(path, width=width, dark=dark)
            assert page.complaints() == []
            assert page.value(OVERFLOW) <= 0
            assert page.value("document.querySelector('img').naturalWidth") > 100
            assert page.value("document.querySelectorAll('tbody tr').length") == len(release)
            page.picture(tmp_path / f"{name} {width} {'dark' if dark else 'light'}.png")
        text = page.value("document.body.textContent")
        for said in (release.guarantee[1:], release.facts.method, release.key, "What is not"):
            assert said in text
        assert f"account{release.facts.account}entry{release.entry}" in text
        back = page.value("getComputedStyle(document.documentElement).colorScheme")
        assert back == "light dark"


@needs_browser
def test_rows_are_sorted_and_found(data: Any, browser: Browser, tmp_path: Path) -> None:
    release = plans(data)["users"].release()
    page = browser.open(release.report(tmp_path / "page.html"))
    click = "document.querySelectorAll('th button')[{}].click()"
    page.value(click.format(1))
    falls = page.value(COLUMN.format(1))
    numbers = [float(text.replace(",", "")) for text in falls]
    assert numbers == sorted(numbers, reverse=True)
    page.value(click.format(1))
    assert page.value(COLUMN.format(1)) == falls[::-1]
    page.value(click.format(0))
    names = page.value(COLUMN.format(0))
    assert names == sorted(names, reverse=True)
    wanted = str(next(iter(release))["page"])
    page.value(f"var f=document.querySelector('input');f.value={wanted.upper()!r};"
               "f.dispatchEvent(new Event('input'))")  # fmt: skip
    assert wanted in page.value(COLUMN.format(0))
    assert len(page.value(COLUMN.format(0))) < len(release)
    assert "of" in page.value("document.querySelector('output').textContent")
    assert page.complaints() == []


@pytest.fixture
def hostile(tmp_path: Path) -> Any:
    rows = [(user, group) for group in HOSTILE for user in range(400)]
    users, groups = zip(*rows, strict=True)
    table = pa.table({"user": users, HOSTILE[0]: groups})
    data = hc.open(table, user="user", account=HOSTILE[2], budget=hc.Budget(epsilon=30),
                   ledger=tmp_path / "ledger.db")  # fmt: skip
    return data.count_users(HOSTILE[0], spend=hc.Budget(epsilon=5)).release(key=HOSTILE[1])


@needs_browser
def test_no_group_is_run_and_nothing_is_loaded(
    hostile: Any, browser: Browser, tmp_path: Path
) -> None:
    assert len(hostile) >= 4
    page: Page = browser.open(hostile.report(tmp_path / "page.html"))
    assert page.complaints() == []
    assert page.value("document.title") != "run"
    assert page.value("document.querySelectorAll('script').length") == 1
    assert page.value("document.querySelectorAll('img').length") == 1
    shown = page.value(COLUMN.format(0))
    assert HOSTILE[0] in shown
    assert "\u202e" not in page.value("document.body.textContent")


def test_the_policy_of_the_page_lets_its_own_script_alone_run(hostile: Any, tmp_path: Path) -> None:
    text = hostile.report(tmp_path / "page.html").read_text()
    policy = text.split('Content-Security-Policy" content="')[1].split('"')[0]
    assert policy.startswith("default-src &#x27;none&#x27;")
    assert "unsafe" not in policy
    assert text.count("<script") == 1


def test_from_a_shell(demo_file: Path, headcount_command: str, tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [headcount_command, *arguments, "--ledger", str(tmp_path / "ledger.db")]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    count = ("count-users", str(demo_file), "--user", "user_id", "--by", "page", "--epsilon", "1",
             "--budget", "3")  # fmt: skip
    refused = run(*count, "--report", "page.pdf")
    assert refused.returncode == 2
    assert "ends in .html" in refused.stderr
    twice = run(*count, "--report", "page.html", "--plot", "page.html")
    assert "--plot and --report are one file" in twice.stderr
    assert not (tmp_path / "ledger.db").exists()
    done = run(*count, "--report", "page.html")
    assert done.returncode == 0, done.stderr
    assert "Wrote page.html" in done.stdout
    key = done.stdout.split("\nkey ")[1].split()[0]
    again = run("ledger", "result", key, "--report", "again.html")
    assert again.returncode == 0, again.stderr
    assert "<h1>Users by page</h1>" in (tmp_path / "again.html").read_text()
