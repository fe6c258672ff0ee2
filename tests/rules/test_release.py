"""Version, changelog and citation are in step, and workflows run nothing that may be exchanged."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from headcount.version import __version__

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+){2}")
RELEASED = re.compile(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", re.MULTILINE)


def workflow(path: Path) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in workflow(path)["jobs"].values() for step in job["steps"]]


def test_version_changelog_and_citation_are_in_step() -> None:
    newest = RELEASED.search((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert newest is not None
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert newest[1] == __version__ == str(cited["version"])
    assert newest[2] == str(cited["date-released"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)


def test_tags_are_of_versions_in_the_changelog() -> None:
    listed = subprocess.run(
        ["git", "tag", "--list", "v*"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    known = RELEASED.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert set(listed.stdout.split()) <= {f"v{version}" for version, _ in known}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_by_hash(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert len(used) == sum("uses" in step for step in steps(path))
    for one in used:
        assert PINNED.fullmatch(one), one


def test_one_action_has_one_hash() -> None:
    used = {
        one
        for path in WORKFLOWS
        for one in re.findall(r"uses: (\S+@\S+ # \S+)", path.read_text(encoding="utf-8"))
    }
    owners = ["/".join(one.split("@")[0].split("/")[:2]) for one in used]
    pins = {(owner, one.split("@")[1]) for owner, one in zip(owners, used, strict=True)}
    assert len(pins) == len(set(owners))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_recipes_that_exist_and_may_only_read(path: Path) -> None:
    recipes = set(
        re.findall(r"^([a-z][\w-]*)(?: [^:\n]*)?:(?!=)", (ROOT / "justfile").read_text(), re.M)
    )
    said = workflow(path)
    assert said["permissions"] == {"contents": "read"}
    assert all("timeout-minutes" in job for job in said["jobs"].values())
    called = []
    for job in said["jobs"].values():
        rows = job.get("strategy", {}).get("matrix", {})
        for step in job["steps"]:
            for line in re.findall(r"\bjust (?!=)([^\n]*)", step.get("run", "")):
                called += _recipes(line, rows)
    assert called
    assert set(called) <= recipes, set(called) - recipes


def _recipes(line: str, rows: dict[str, list[str]]) -> list[str]:
    """The recipes that a line calls, with every value of a matrix; arguments are no recipes."""
    found: list[str] = []
    for word in re.findall(r"\$\{\{[^}]*\}\}|\S+", line):
        variable = re.fullmatch(r"\$\{\{ matrix\.(\w+) \}\}", word)
        if variable is not None:
            found += rows[variable[1]] if variable[1] != "version" else []
        elif re.fullmatch(r"[a-z][\w-]*", word):
            found.append(word)
    return found


def test_long_modes_run_every_night() -> None:
    said = workflow(ROOT / ".github" / "workflows" / "nightly.yml")
    # YAML 1.1 reads the word "on" as a yes.
    assert "schedule" in said[True]
    nightly = set(said["jobs"]["long"]["strategy"]["matrix"]["mode"])
    text = (ROOT / "justfile").read_text(encoding="utf-8")
    long = {
        name
        for name, body in re.findall(
            r"^([a-z][\w-]*)(?: [^:\n]*)?:(?!=)[^\n]*\n((?: +.*\n)+)", text, re.M
        )
        if "{{ long }}" in body
    }
    assert long
    assert long <= nightly
