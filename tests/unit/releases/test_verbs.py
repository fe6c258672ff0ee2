"""A verb is stated once: what is written out for people agrees with the statement."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from headcount.releases.dataset import Dataset
from headcount.releases.verbs import PLANS, STATED, VERBS, Needed, Verb

DOCS = Path(__file__).parents[3] / "docs" / "reference"


def differs(method: Any, stated: Verb) -> list[str]:
    """Where a method that was written out is not what was stated."""
    parameters = list(inspect.signature(method).parameters.values())[1:]
    names = [*stated.own, "spend"]
    found = [] if [one.name for one in parameters] == names else ["other arguments"]
    for one in parameters:
        argument = stated.own.get(one.name)
        default = None if argument is None else argument.default
        if one.default != (inspect.Parameter.empty if isinstance(default, Needed) else default):
            found.append(f"another default of {one.name}")
    explained = re.findall(r"^(?: {8})?(\w+): +\S", method.__doc__ or "", re.MULTILINE)
    return found if explained == names else [*found, "other explanations"]


@pytest.mark.parametrize("name", STATED)
def test_the_method_is_what_was_stated(name: str) -> None:
    assert differs(getattr(Dataset, name), STATED[name]) == []


def test_a_method_that_is_not_would_be_found() -> None:
    def profile(self: Any, by: Any = "page", *, top: int | None = None) -> None:
        """Plan.

        by:  what to count by
        """

    assert differs(profile, VERBS["profile"]) == [
        "other arguments",
        "another default of by",
        "other explanations",
    ]


def test_every_verb_of_a_dataset_is_stated() -> None:
    written = {name for name, _ in inspect.getmembers(Dataset, inspect.isfunction)}
    others = {"opening_of", "narrowed", "during", "check_windows"}
    assert {name for name in written if not name.startswith("_")} - others == set(STATED)


@pytest.mark.parametrize("name", STATED)
def test_the_plan_takes_what_was_stated(name: str) -> None:
    module, function = STATED[name].plan.split(":")
    plan = getattr(import_module(f"{PLANS}.{module}"), function)
    assert list(inspect.signature(plan).parameters)[1:] == [*STATED[name].own, "spend"]


@pytest.mark.parametrize("name", STATED)
def test_the_page_on_arguments_names_every_one(name: str) -> None:
    page = (DOCS / "arguments.md").read_text("utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `")]
    for argument in STATED[name].own:
        assert any(
            f"`{argument}`" in row[0] and (f"`{name}`" in row[1] or row[1].startswith("all"))
            for row in rows
        ), argument
