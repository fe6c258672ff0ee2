"""What people are told to write in a shell is quoted for it: names come from files of others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "headcount"
COMMANDS = (
    "ledger|receipt|verify|report|sql|start|stream|fleet|demo|count-[a-z]+|quantiles|frequencies"
)
COMMAND = re.compile(rf"headcount ({COMMANDS})( [^.]*)?$")
OUR_OWN = {
    "cli/examples.py": "words of ours",
    "cli/spelling.py": "a word of ours, in place of which a quoted key is put",
    "ledger/journal.py": "no command: what a hash begins with",
}


def unquoted(source: str) -> Iterator[str]:
    """Values that are put into a command as they are."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.JoinedStr):
            continue
        before = ""
        for part in node.values:
            if isinstance(part, ast.Constant):
                before += str(part.value)
            elif isinstance(part, ast.FormattedValue):
                spelled = ast.unparse(part.value)
                if COMMAND.search(before) and not spelled.startswith(("as_word(", "shlex.quote(")):
                    yield spelled
                before += "x"


@pytest.mark.parametrize(
    "place", [path.relative_to(SRC).as_posix() for path in sorted(SRC.rglob("*.py"))]
)
def test_names_in_commands_are_quoted(place: str) -> None:
    found = list(unquoted((SRC / place).read_text(encoding="utf-8")))
    assert bool(found) == (place in OUR_OWN), (place, found)


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("f'Show it: headcount ledger result {key}'", ["key"]),
        ("f'Run: headcount ledger open {name} --quota {who}=1'", ["name", "who"]),
        ("f'Show it: headcount ledger result {shlex.quote(key)}'", []),
        ("f'The table {name} is not there.'", []),
    ],
)
def test_a_name_that_is_not_quoted_is_found(planted: str, found: list[str]) -> None:
    assert list(unquoted(planted)) == found
