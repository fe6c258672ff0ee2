"""How outcomes are counted and told, on trials made up for it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

from headcount.audit.verdict import Finding, Tier
from headcount.cli import audit as command
from headcount.cli.commands import app
from headcount.errors import BudgetError
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.privacy.spend import Zcdp
from headcount.trials import register, workers
from headcount.trials.seam import (
    Charge,
    Choice,
    Limit,
    Noise,
    Recorder,
    calls_of,
    settings_of,
    swapped,
)
from headcount.trials.session import hold, summary
from headcount.trials.trial import Case, Effort, Trial, examine

LAW = DiscreteLaplace(Fraction(2))


def found(number: float) -> Sequence[Finding]:
    return [Finding(Tier.EXACT, "s", "epsilon", 1.0, number)]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials that are made up are not known elsewhere, so they are held in this process."""

    def examined(cases: Sequence[tuple[str, str]], effort: Effort) -> Iterator[tuple[Finding, ...]]:
        for name, variant in cases:
            (case,) = (one for one in register.trial_of(name).cases if one.name == variant)
            yield examine(name, case, effort).findings

    monkeypatch.setattr(workers, "examined", examined)


def trial(shipped: float, mutant: float) -> Trial:
    return Trial(
        "made_up",
        (
            Case("as shipped", lambda _effort: found(shipped), is_mutant=False),
            Case("mutant", lambda _effort: found(mutant)),
        ),
    )


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("shipped", "mutant", "violations", "missed"),
    [(1, 2, 0, 0), (2, 2, 1, 0), (1, 1, 0, 1), (2, 1, 1, 1)],
)
def test_exit_code_and_last_line(
    shipped: float, mutant: float, violations: int, missed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(register, "MECHANISMS", ("made_up",))
    monkeypatch.setattr(register, "trial_of", lambda _name: trial(shipped, mutant))
    done = CliRunner().invoke(app, ["audit", "--json"])
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["mechanisms"] == 1
    assert last["violations"] == violations
    assert last["mutants"] == 1
    assert last["missed"] == missed
    assert done.exit_code == (0 if violations == missed == 0 else command.EXIT_VIOLATION)


@pytest.mark.usefixtures("here")
def test_the_table_says_what_was_claimed_and_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(register, "MECHANISMS", ("made_up",))
    monkeypatch.setattr(register, "trial_of", lambda _name: trial(1, 1.5))
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


@pytest.mark.usefixtures("here")
def test_summary_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(register, "trial_of", lambda _name: trial(1, 0))
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


def test_swapped_keeps_class_methods_and_what_is_inherited() -> None:
    class Base:
        @classmethod
        def made(cls) -> str:
            return cls.__name__

    class Child(Base):
        pass

    for target in (Base, Child):
        with swapped(target, "made", classmethod(lambda cls: f"mutant {cls.__name__}")):
            assert Child.made() == "mutant Child"
        assert Child.made() == "Child"
    assert "made" not in vars(Child)


def test_a_recorder_names_its_entries() -> None:
    recorder = Recorder()
    first = recorder.noisy(np.array([5, 6]), LAW)
    second = recorder.noisy(np.array([7]), LAW)
    assert [recorder.entry(x) for x in (*first, *second)] == [0, 1, 2]
    assert recorder.true_values == [5, 6, 7]
    assert settings_of(LAW) == {"law": "DiscreteLaplace", "scale": "2"}


def test_a_recorder_keeps_all_that_was_asked_in_order() -> None:
    recorder = Recorder(taken=1)
    budget = recorder.filter(Zcdp(1))
    assert recorder.select(np.array([3, 4, 5]), Fraction(1, 2)) == 1
    budget.charge(Zcdp(Fraction(1, 4)))
    recorder.noisy(np.array([7]), LAW)
    assert recorder.asked == [
        Limit(Zcdp(1)),
        Choice((3, 4, 5), Fraction(1, 2)),
        Charge(Zcdp(Fraction(1, 4))),
        Noise(LAW, (7,), 0),
    ]
    assert recorder.charges == [Zcdp(Fraction(1, 4))]
    assert recorder.select(np.array([3]), Fraction(1, 2)) == 0
    with pytest.raises(BudgetError):
        budget.charge(Zcdp(1))
    assert len(recorder.charges) == 1


def test_calls_are_all_that_was_drawn() -> None:
    recorder = Recorder()
    recorder.noisy(np.array([7]), LAW)
    recorder.noisy(np.array([1, 2]), LAW)
    recorder.noisy(np.array([3]), LAW)
    recorder.select(np.array([4]), Fraction(1))
    recorder.noisy(np.zeros(0, np.int64), LAW)
    names: dict[int, str] = {1: "a", 2: "b", 3: "c"}
    # What nobody sees is a call of its own; the batches of what is released are one.
    calls = calls_of(recorder, names)
    assert [dict(call.true_values) for call in calls] == [{0: 7}, {"a": 1, "b": 2, "c": 3}, {0: 4}]
    unseen = calls_of(recorder, {1: "a", 2: "b"})
    assert [len(call.true_values) for call in unseen] == [1, 2, 1, 1]
    bare = calls_of(recorder, {**names, -1: "d"})
    assert bare[:-1] == calls
    assert bare[-1].settings == {"law": "none"}
