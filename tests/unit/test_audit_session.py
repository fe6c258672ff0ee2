"""How outcomes are counted and told, on trials made up for it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import suppress

import pytest
from typer.testing import CliRunner

from headcount.audit.verdict import Finding, Tier
from headcount.cli import audit as command
from headcount.cli.commands import app
from headcount.trials import roll
from headcount.trials.seam import Recorder, settings_of, swapped
from headcount.trials.session import hold, summary
from headcount.trials.trial import Case, Effort, Trial, examine


def found(number: float) -> Sequence[Finding]:
    return [Finding(Tier.EXACT, "s", "epsilon", 1.0, number)]


def trial(shipped: float, mutant: float) -> Trial:
    return Trial(
        "made_up",
        (
            Case("as shipped", lambda _effort: found(shipped), is_mutant=False),
            Case("mutant", lambda _effort: found(mutant)),
        ),
    )


@pytest.mark.parametrize(
    ("shipped", "mutant", "violations", "missed"),
    [(1, 2, 0, 0), (2, 2, 1, 0), (1, 1, 0, 1), (2, 1, 1, 1)],
)
def test_exit_code_and_last_line(
    shipped: float, mutant: float, violations: int, missed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roll, "MECHANISMS", ("made_up",))
    monkeypatch.setattr(roll, "trial_of", lambda _name: trial(shipped, mutant))
    done = CliRunner().invoke(app, ["audit", "--json"])
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["mechanisms"] == 1
    assert last["violations"] == violations
    assert last["mutants"] == 1
    assert last["missed"] == missed
    assert done.exit_code == (0 if violations == missed == 0 else command.EXIT_VIOLATION)


def test_the_table_says_what_was_claimed_and_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roll, "MECHANISMS", ("made_up",))
    monkeypatch.setattr(roll, "trial_of", lambda _name: trial(1, 1.5))
    done = CliRunner().invoke(app, ["audit"])
    assert done.exit_code == 0
    for word in (
        "mechanism",
        "claimed",
        "found",
        "verdict",
        "made_up",
        "epsilon 1",
        "1.5",
        "caught",
    ):
        assert word in done.stdout
    assert "proves nothing" in done.stdout


def test_an_unknown_mechanism_is_refused() -> None:
    done = CliRunner().invoke(app, ["audit", "--mechanism", "nothing"])
    assert done.exit_code != 0


def test_summary_counts() -> None:
    outcomes = list(hold(3 * [trial(1, 0)], Effort.QUICK))
    counted = summary(outcomes, Effort.QUICK, 3, time.monotonic())
    assert (counted.findings, counted.effort, counted.passes) == (6, "quick", 3)
    assert (counted.mechanisms, counted.mutants, counted.missed) == (1, 1, 3)
    assert not counted.is_clean


def test_an_examination_that_finds_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="nothing was examined"):
        examine("m", Case("empty", lambda _effort: []), Effort.QUICK)


def test_swapped_is_undone() -> None:
    class Target:
        value = 1

    with swapped(Target, "value", 2):
        assert Target.value == 2
    assert Target.value == 1
    with suppress(RuntimeError), swapped(Target, "value", 2):
        raise RuntimeError
    assert Target.value == 1


def test_a_recorder_names_its_entries() -> None:
    import numpy as np

    from headcount.noise.discrete_laplace import DiscreteLaplace

    recorder, law = Recorder(), DiscreteLaplace(2)  # type: ignore[arg-type]
    first = recorder.noisy(np.array([5, 6]), law)
    second = recorder.noisy(np.array([7]), law)
    assert [recorder.entry(x) for x in (*first, *second)] == [0, 1, 2]
    assert recorder.true_values == [5, 6, 7]
    assert settings_of(law) == {"law": "DiscreteLaplace", "scale": "2"}
