"""What people look at, in a real browser: landing page, notebook, and pictures of every verb.

At a desk and on a phone, by day and by night: nothing in the console, no request that leaves, and
nothing wider than the screen. Screenshots are left in the folder of the test, or in HEADCOUNT_SEEN.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.browser import OVERFLOW, ROOMS, Browser, Page, needs_browser

import headcount as hc

ROOT = Path(__file__).parents[2]
SPEND = hc.Budget(epsilon=1)
DAY = hc.truncate("time", "day")
pytestmark = [needs_browser, pytest.mark.slow]


@pytest.fixture
def seen(tmp_path: Path) -> Path:
    """Where screenshots are left."""
    folder = Path(os.environ.get("HEADCOUNT_SEEN", tmp_path / "seen"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def looked_at(
    browser: Browser, place: Path | str, picture: Path, *own: str, wait: str = "true"
) -> Page:
    """Open a page in all four rooms, and ask what every page must keep."""
    for width, dark in ROOMS:
        page = browser.open(place, width=width, dark=dark)
        page.until(wait)
        name = f"{picture.name} {width} {'dark' if dark else 'light'}.png"
        page.picture(picture.with_name(name))
        assert page.complaints(*own) == []
        assert page.value(OVERFLOW) <= 0, name
        # A page that says nothing of screens is laid out for a desk, and looked at from afar.
        is_page = page.value("document.contentType") == "text/html"
        assert not is_page or page.value("window.innerWidth") == width, name
    return page


IN_ITS_COLOURS = (
    "document.body.getAttribute('data-md-color-scheme') === "
    "(matchMedia('(prefers-color-scheme: dark)').matches ? 'slate' : 'default')"
)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The documentation as it is built, on a server of this machine alone."""
    built = tmp_path_factory.mktemp("docs")
    shutil.copy(ROOT / "mkdocs.yml", built)
    shutil.copytree(ROOT / "docs", built / "docs")
    build = [str(Path(sys.executable).with_name("zensical")), "build"]
    subprocess.run(build, check=True, cwd=built, capture_output=True)
    found = built / "site"
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(found)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.mark.parametrize("page", ["", "tutorials/first-count/", "reference/cli/"])
def test_pages_of_the_documentation(browser: Browser, site: str, seen: Path, page: str) -> None:
    picture = seen / f"docs {page.replace('/', ' ')}".strip()
    shown = looked_at(browser, f"{site}{page}", picture, site, wait=IN_ITS_COLOURS)
    assert "headcount" in shown.value("document.title")
    assert len(shown.value("document.body.textContent")) > 500


CELLS = [
    "import headcount as hc",
    "data = hc.open('events.parquet', user='user_id', budget=hc.Budget(epsilon=9))",
    "plan = data.count_users(by='page', spend=hc.Budget(epsilon=1))\nprint(plan)",
    "release = plan.release()\nrelease",
    "release.plot()",
    "data.count_users(by=hc.truncate('time', 'day'), spend='1/10').release().plot()",
    "data.frequencies(by='page', spend='1/10').release()",
    "print(release)",
]

CODE: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}


def test_a_notebook_that_a_real_kernel_ran(
    browser: Browser, demo_file: Path, seen: Path, tmp_path: Path
) -> None:
    (tmp_path / "events.parquet").write_bytes(demo_file.read_bytes())
    cells = [CODE | {"id": f"cell{at}", "source": text} for at, text in enumerate(CELLS)]
    book = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    (tmp_path / "first.ipynb").write_text(json.dumps(book))
    environment = {
        **os.environ,
        "HEADCOUNT_LEDGER": str(tmp_path / "ledger.db"),
        "HEADCOUNT_HEADS": str(tmp_path / "heads"),
        "JUPYTER_PLATFORM_DIRS": "1",
        "HOME": str(tmp_path),
    }
    convert = ["-m", "jupyter", "nbconvert", "--execute", "--to", "html", "first.ipynb"]
    # Formulas and widgets are other people's scripts, which pages of nbconvert load.
    plain = ["--HTMLExporter.mathjax_url=", "--HTMLExporter.require_js_url=",
             "--HTMLExporter.jquery_url="]  # fmt: skip
    ran = subprocess.run(
        [sys.executable, *convert, *plain],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    page = looked_at(browser, tmp_path / "first.html", seen / "notebook")
    text = page.value("document.body.textContent")
    for said in ("you get", "Guarantee: epsilon 1", "of account", "low to high"):
        assert said in text
    assert page.value("document.querySelectorAll('.headcount table').length") == 2
    assert page.value("document.querySelectorAll('.headcount svg').length") == 20
    fits = "Array.from(document.querySelectorAll('img')).map(i => i.getBoundingClientRect().right)"
    assert [0 < right <= ROOMS[-1][0] for right in page.value(fits)] == [True, True]


@pytest.fixture(scope="module")
def data(demo_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    ledger = tmp_path_factory.mktemp("seen") / "ledger.db"
    budget = hc.Budget(epsilon=50, delta=1e-6)
    return hc.open(demo_file, user="user_id", budget=budget, ledger=ledger)


PICTURES: dict[str, Any] = {
    "users": lambda data: data.count_users("page", spend=SPEND),
    "users on days": lambda data: data.count_users(DAY, spend=SPEND),
    "users by two": lambda data: data.count_users(
        ["page", hc.truncate("time", "month")], spend=SPEND
    ),
    "events": lambda data: data.count_events("page", spend=SPEND),
    "distribution": lambda data: data.distribution("page", spend=SPEND),
    "frequencies": lambda data: data.frequencies("page", spend=SPEND),
    "quantiles": lambda data: data.quantiles(
        None, at=[0.25, 0.5, 0.9], bounds=(0, 1000), spend=SPEND
    ),
    "count ranges": lambda data: data.count_ranges(
        None, [(None, 5), (5, 20), (20, None)], spend=SPEND
    ),
    "profile": lambda data: data.profile("page", spend=SPEND),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_of_every_verb(
    data: Any, browser: Browser, seen: Path, tmp_path: Path, name: str
) -> None:
    release = PICTURES[name](data).release(fresh=True)
    assert len(release)
    page = looked_at(browser, release.plot(tmp_path / "chart.svg"), seen / f"{name} svg")
    assert page.value("document.querySelectorAll('[aria-roledescription]').length") > 3
    looked_at(
        *(browser, release.plot(tmp_path / "chart.html"), seen / f"{name} html"),
        wait="document.querySelector('#vis svg') !== null",
    )
