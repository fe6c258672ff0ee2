"""What a type checker knows of the public names: editors offer words, and slips are underlined."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from headcount.releases import choices
from headcount.releases.dataset import Dataset
from headcount.releases.verbs import STATED
from headcount.tables.by import By

RIGHT = """
import headcount as hc

def rows(data: hc.Dataset, budget: hc.Budget) -> hc.Release:
    plan: hc.Plan = data.count_users(["page", hc.truncate("time", "day")], spend=budget)
    data.count_users("page", method="peel", within=0.1, spend="1/10")
    data.quantiles("price", bounds=(0, 10), per_user="max", method="hierarchy", spend=budget)
    return plan.release()
"""
WRONG = (
    'data.count_users("page", method="peal")',
    'data.count_events("page", method="peel")',
    'data.distribution("page", method="median")',
    'data.quantiles("price", bounds=(0, 1), per_user="middle")',
    'data.count_ranges("price", [(0, 1)], method="exponential")',
    'data.frequencies("page", method="sample")',
    'data.sql("SELECT 1", method="clip")',
    "data.count_users(7)",
    'data.profile(["page", 7])',
)


def test_a_type_checker_knows_the_words_and_finds_slips(tmp_path: Path) -> None:
    lines = RIGHT.splitlines()
    page = tmp_path / "typed.py"
    calls = [f"    {call}" for call in WRONG]
    page.write_text("\n".join([*lines, "", "def wrong(data: hc.Dataset) -> None:", *calls, ""]))
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(page)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    first = len(lines) + 3
    found = {int(line.split(":")[1]) for line in ran.stdout.splitlines() if ": error:" in line}
    assert found == set(range(first, first + len(WRONG))), ran.stdout


@pytest.mark.parametrize("verb", STATED)
def test_the_type_of_a_method_is_the_words_that_its_check_takes(verb: str) -> None:
    hints = get_type_hints(getattr(Dataset, verb), localns=vars(choices) | named())
    for name, argument in STATED[verb].own.items():
        if argument.words:
            assert get_args(hints[name]) == argument.words
        if name == "by":
            assert hints[name] == By


def named() -> dict[str, Any]:
    """Names that the methods' types use, which are imported for type checkers alone."""
    return {"By": By, "Number": int, "Spend": str}
