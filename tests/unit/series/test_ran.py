"""What a run says, and the exit code that a scheduler sees."""

from __future__ import annotations

import pytest

from headcount.errors import (
    BudgetError,
    EngineError,
    HeadcountError,
    KeyReusedError,
    OutputError,
    UsageError,
)
from headcount.series.ran import Ran


@pytest.mark.parametrize(
    ("errors", "waiting", "lost", "code"),
    [
        ([], [], [], 0),
        ([], ["a/1"], [], 7),
        ([EngineError()], ["a/1"], [], 5),
        ([EngineError(), BudgetError("x")], [], [], 3),
        ([UsageError("x")], ["a/1"], [], 2),
        ([KeyReusedError("x"), EngineError()], [], [], 4),
        ([OutputError("x")], ["a/1"], [], 1),
        ([OutputError("x"), EngineError()], [], [], 5),
        ([BudgetError("x")], ["a/1"], ["a/2"], 6),
    ],
)
def test_the_most_pressing_is_the_exit_code(
    errors: list[HeadcountError], waiting: list[str], lost: list[str], code: int
) -> None:
    failed = {f"pages/2026-03-0{n}": error for n, error in enumerate(errors, 1)}
    assert Ran(failed=failed, waiting=waiting, lost=lost).exit_code == code


def test_one_reason_is_said_once() -> None:
    failed: dict[str, HeadcountError] = {f"pages/2026-03-0{n}": EngineError() for n in (1, 2, 3)}
    said = str(Ran(failed=failed, lost=["pages/2026-02-01", "pages/2026-02-02"]))
    assert said.count("The engine could not finish") == 1
    assert "pages/2026-03-01 and 2 more, up to pages/2026-03-03" in said
    assert "lost pages/2026-02-01 and 1 more, up to 2026-02-02" in said


def test_nothing_to_do_is_said() -> None:
    assert str(Ran()) == "nothing is due"
