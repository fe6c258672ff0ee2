"""Words that stopped people who read them for the first time are not used where people read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from headcount.cli.commands import app

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "headcount"
# Read by nobody but those who work on headcount: the attacks, and the core of fleets.
INSIDE = {"audit", "trials", "fleet"}

RIDDLES = (
    r"if they weigh",
    r"users together weigh",
    r"\bweigh(s|ed|ing)?\b",
    r"over the root of their groups",
    r"no user counting for too many",
    r"made to fall again",
    r"\bseiz(e|ed|ure)\b",
    r"fall on both sides",
    r"\bForget it\b",
    r"[Nn]obody is told",
    r"filtered: rho",
    r"around half of the users of any",
    r"weighted to norm 1",
    r"tells? of (each|one) ",
    r"everyone whom",
    r"what shortening users",
    r"does not bear",
    r"choose of ",
    r"expected within 0\.",
)
"""Quoted by people who did not understand them, and their like."""
ARCHAIC = (
    r"\banew\b",
    r"\bfor ever\b",
    r"\bwhilst\b",
    r"\bhence(forth)?\b",
    r"\bthere(by|of|upon|to)\b",
    r"\bhere(by|of|in)\b",
    r"\bwhere(in|of|upon|by)\b",
    r"\bthus\b",
    r"\blest\b",
    r"\bshall\b",
    r"\bunto\b",
    r"\bnought\b",
    r"\bsave for\b",
    r"\bat last\b",
)
FORBIDDEN = re.compile("|".join((*RIDDLES, *ARCHAIC)))


def shown_strings(path: Path) -> Iterator[str]:
    """Texts of a module that may reach a screen.

    Docstrings of what is public are in the reference of names, which is one of the pages.
    """
    tree = ast.parse(path.read_text("utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in docstrings:
            continue
        if isinstance(node.value, str):
            yield node.value


def pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]


def modules() -> list[Path]:
    found = sorted(SOURCE.rglob("*.py"))
    return [one for one in found if not INSIDE & set(one.relative_to(SOURCE).parts)]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_in_plain_words(page: Path) -> None:
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        assert not (found := FORBIDDEN.search(line)), (number, found)


def test_what_the_program_says_is_in_plain_words() -> None:
    for module in modules():
        for text in shown_strings(module):
            assert not (found := FORBIDDEN.search(text)), (module, found, text)


def commands(path: tuple[str, ...], command: object) -> Iterator[tuple[str, ...]]:
    yield path
    for name, one in getattr(command, "commands", {}).items():
        yield from commands((*path, name), one)


@pytest.mark.parametrize("path", [*commands((), typer.main.get_command(app))], ids=" ".join)
def test_help_is_in_plain_words(path: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "200"}).stdout
    assert shown
    assert not (found := FORBIDDEN.search(" ".join(shown.split()))), found


def test_the_words_of_the_list_would_be_found() -> None:
    for sentence in (
        "if they weigh 34 or more",
        "users together weigh less than 241, each 1 over the root of their groups",
        "no user counting for too many",
        "made to fall again",
        "Count events in a file that may be seized",
        "A coin must be able to fall on both sides.",
        "Forget it.",
        "Nobody is told.",
        "filtered: rho 0.08344",
    ):
        assert FORBIDDEN.search(sentence)
