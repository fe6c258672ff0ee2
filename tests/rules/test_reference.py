"""The reference has every public name, and every option of every command, with words beside it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer.main

import headcount as hc
from headcount.cli.commands import app

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sections(text: str, mark: str) -> dict[str, str]:
    """What stands under each heading of one level, up to the next heading of any."""
    parts = re.split(rf"^{mark} (.+)$", text, flags=re.MULTILINE)
    return {
        name.strip(): re.split(r"^#{1,6} ", below, maxsplit=1, flags=re.MULTILINE)[0].strip()
        for name, below in zip(parts[1::2], parts[2::2], strict=True)
    }


def test_the_page_of_names_is_up_to_date() -> None:
    api = script("api_reference")
    assert api.PAGE.read_text("utf-8") == api.page(), "run: just reference"


def test_every_public_name_is_in_the_reference() -> None:
    text = (REFERENCE / "api.md").read_text("utf-8")
    named = {**sections(text, "##"), **sections(text, "###")}
    for name in hc.__all__:
        is_row = re.search(rf"^\| `hc\.{name}` \| \S", text, re.MULTILINE)
        is_said = name == "__version__" and "`hc.__version__` is" in text
        assert name in named or f"hc.{name}" in named or is_row or is_said, name


def public(cls: type) -> set[str]:
    """What Python itself offers on an object of this class, and what is annotated on it."""
    annotated = {name for one in cls.__mro__ for name in vars(one).get("__annotations__", {})}
    return {name for name in {*dir(cls), *annotated} if not name.startswith("_")}


@pytest.mark.parametrize("cls", script("api_reference").CLASSES, ids=lambda cls: cls.__name__)
def test_every_public_member_of_a_class_is_explained(cls: type) -> None:
    named = sections((REFERENCE / "api.md").read_text("utf-8"), "###")
    for name in public(cls):
        said = [named.get(f"{one.__name__}.{name}", "") for one in cls.__mro__]
        # Beside the call itself there are words.
        assert any(re.sub(r"^`[^`]+`$", "", one, flags=re.MULTILINE).strip() for one in said), name


def test_every_class_that_people_are_handed_is_in_the_reference() -> None:
    named = sections((REFERENCE / "api.md").read_text("utf-8"), "##")
    classes = {name for name in hc.__all__ if isinstance(getattr(hc, name), type)}
    assert {name for name in classes if not name.endswith("Error")} <= set(named)


def commands(path: str, command: Any) -> dict[str, Any]:
    if not hasattr(command, "commands"):
        return {path: command}
    found: dict[str, Any] = {}
    for name, one in command.commands.items():
        found |= commands(f"{path} {name}", one)
    return found


COMMANDS = commands("headcount", typer.main.get_command(app))


@pytest.mark.parametrize("path", COMMANDS)
def test_every_option_of_a_command_is_explained(path: str) -> None:
    section = sections((REFERENCE / "cli.md").read_text("utf-8"), "##")[path]
    assert not section.startswith("|"), "a command says what it does"
    rows = dict(re.findall(r"^\| `(.+?)` \| (.*?) *\|$", section, re.MULTILINE))
    explained = {name for names, text in rows.items() if text for name in names.split(", ")}
    for parameter in COMMANDS[path].params:
        names = {*parameter.opts, *parameter.secondary_opts} - {"--help"}
        if parameter.param_type_name == "argument":
            names = {(parameter.name or "").upper()}
        assert names <= explained, names
