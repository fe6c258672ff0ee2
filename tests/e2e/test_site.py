"""The site as it is built: strictly, without a broken link, and loading nothing from elsewhere."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
NOT_LOADED = {"canonical", "next", "prev", "alternate", "edit"}
"""What a browser does not fetch by itself, of all that a link may say."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    for name in ("mkdocs.yml", "docs"):
        place = ROOT / name
        (shutil.copytree if place.is_dir() else shutil.copy)(place, folder / name)
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--clean", "--strict"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "site"


class Page(HTMLParser):
    """Where a page leads, what it loads, and the names of its places."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        self.ids |= {said[name] for name in ("id", "name") if name in said}
        if tag == "a" and "href" in said:
            self.links.append(said["href"])
        if tag in LOADS and LOADS[tag] in said and said.get("rel", "") not in NOT_LOADED:
            self.loaded.append(said[LOADS[tag]])


def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_no_link_is_broken(site: Path) -> None:
    found = pages(site)
    broken = []
    for path, page in found.items():
        if path.name == "404.html":
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (
                parts.fragment and target in found and parts.fragment not in found[target].ids
            ):
                broken.append((path, link))
    assert not broken


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for path, page in pages(site).items():
        for loaded in page.loaded:
            assert not urlsplit(loaded).netloc, (path, loaded)
    for sheet in site.rglob("*.css"):
        for address in re.findall(r"(?:url\(|@import )['\"]?([^'\")]+)", sheet.read_text("utf-8")):
            assert not urlsplit(address).netloc, (sheet, address)


def test_code_has_a_button_to_copy_it(site: Path) -> None:
    text = (site / "index.html").read_text("utf-8")
    assert "content.code.copy" in text


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("airflow", "how-to/daily-jobs/"),
        ("which epsilon", "explanation/epsilon-and-delta/"),
        ("time zone", "explanation/faq/"),
        ("reset", "explanation/faq/"),
        ("container", "how-to/containers/"),
        ("error bar", "reference/words/"),
    ],
)
def test_search_finds(words: str, page: str, site: Path) -> None:
    index = next(site.rglob("search*.json"))
    items = json.loads(index.read_text("utf-8"))
    listed = items.get("docs") or items["items"]
    found = [
        one["location"]
        for one in listed
        if all(word in f"{one['title']} {one['text']}".lower() for word in words.split())
    ]
    assert any(place.split("#")[0] == page for place in found), found
