"""Rounds with noise: terms and prices, what a device makes of them, and what the core shows."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.unit.fleet.devices import KEY, WRITTEN, round_of, sent
from tests.unit.fleet.lines import NOW, OWNER, Line, device, opened, said

from headcount.accounting.compose import cost
from headcount.errors import UsageError
from headcount.fleet import Policy
from headcount.fleet.core import count
from headcount.fleet.device_noise import is_noise_understated
from headcount.fleet.keybox import KeyBox
from headcount.fleet.noise_rounds import NoiseRounds
from headcount.fleet.plan import planned
from headcount.fleet.plan_words import plan_lines
from headcount.fleet.task import Task, task_from
from headcount.fleet.task_file import read_task
from headcount.ledger.account import Account
from headcount.ledger.ledger import Ledger
from headcount.ledger.parts import paid_parts
from headcount.mechanisms.laplace import Laplace
from headcount.mechanisms.laplace_threshold import LaplaceThreshold
from headcount.privacy.budget import Budget
from headcount.privacy.event import Rounds, from_record, to_record
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp
from headcount.trials.seam import Noise, Recorder

LIST = ["mail", "maps", "news"]
TODAY = date(2027, 1, 1)
SPEND = Zcdp(Fraction(1, 50), Fraction(1, 10**6))


def written(*groups: str, answers: int = 1, n: int = 3, **more: Any) -> dict[str, Any]:
    question = {**WRITTEN["question"], "answers": answers, "groups": list(groups)}
    rounds = {"every": "1d", "keep_open": "18h", "n": n}
    return {**WRITTEN, "question": question, "rounds": rounds, "method": "noise", **more}


def made(*groups: str, spend: Zcdp = SPEND, **more: Any) -> Task:
    return NoiseRounds.task(read_task(written(*groups, **more)), spend)


def test_what_a_task_with_noise_may_not_say_is_refused() -> None:
    for odd, words in (
        (written(cover=False), "without cover"),
        (written("MAIL"), "pattern"),
        (written("mail", "mail"), "each of them once"),
        (written(*map(str, range(1_001))), "at most 1,000"),
        ({**written("mail"), "method": "sample"}, "groups are for"),
        (written(method="shuffled"), "'sample' or 'noise'"),
    ):
        with pytest.raises(UsageError, match=words):
            read_task(odd)
    plain = {**WRITTEN, "question": {**WRITTEN["question"], "groups": []}}
    # A task without a list is spelled as it always was.
    assert read_task(plain).record() == read_task(WRITTEN).record()


@pytest.mark.parametrize("groups", [[], LIST])
def test_terms_cost_what_may_be_spent_and_are_in_the_tasks_name(groups: list[str]) -> None:
    limit = Zcdp(Fraction(1, 8), Fraction(1, 10**6))
    for answers, n in ((1, 1), (2, 30), (5, 200)):
        task = made(*groups, answers=answers, n=n, spend=limit)
        assert task_from(task.spelled) == task
        mechanism = NoiseRounds.of(task)
        assert isinstance(mechanism.one, Laplace if groups else LaplaceThreshold)
        price = cost(mechanism.event)
        assert (price.rho, price.delta) == (task.terms.rho, task.terms.delta)
        assert price.rho <= limit.rho < price.rho * Fraction(101, 100)
        assert price.delta == (0 if groups else limit.delta)
        assert price.rho == n * cost(mechanism.one.event).rho
        assert from_record(to_record(mechanism.event)) == mechanism.event
        assert len(str(to_record(mechanism.event))) < 400
        assert not is_noise_understated(task)


def test_terms_that_are_none_are_refused() -> None:
    task, listed = made(), made(*LIST)
    for whole, changes in (
        (task, {"rate": Fraction(1, 2)}),
        (task, {"scale": Fraction(1, 3)}),
        (task, {"scale": Fraction(1, 1 << 60)}),
        (task, {"threshold": 1 << 60}),
        (task, {"delta": Fraction(0)}),
        (listed, {"delta": Fraction(1, 100)}),
    ):
        with pytest.raises(UsageError, match="noise"):
            replace(whole.terms, **changes)
    # A sample with a scale, and noise without; groups with a threshold, and none without.
    for file, terms in (
        (replace(task.file, method="sample"), task.terms),
        (task.file, listed.terms),
        (listed.file, task.terms),
    ):
        with pytest.raises(UsageError, match="not a task"):
            task_from(Task(file, terms).spelled)


def account(tmp_path: Path, neighbours: Neighbours = Neighbours.REPLACE) -> Account:
    ledger = Ledger(tmp_path / f"{neighbours.value}.db")
    ledger.open_account("app-users", Budget(epsilon=1.3, delta=1e-6), neighbours)
    return ledger.account("app-users")


def test_a_plan_says_what_the_core_learns(tmp_path: Path) -> None:
    payer = account(tmp_path)
    found = planned(read_task(written(n=1)), payer, TODAY)
    lines = dict(plan_lines(found, payer, 1_000))
    assert "all devices" in lines["core"]
    assert "rate" not in lines
    assert lines["promise"].startswith("epsilon 1 at delta 1e-06")
    threshold = found.terms.threshold
    assert f"{threshold + 1} devices give in half of all rounds" in lines["shown"]
    listed = planned(read_task(written(*LIST)), payer, TODAY)
    assert dict(plan_lines(listed, payer, 1_000))["shown"] == "all answers on the task's list"
    removed = account(tmp_path, Neighbours.ADD_REMOVE)
    with pytest.raises(UsageError, match="replace account"):
        planned(read_task(written()), removed, TODAY)


POLICY = Policy(OWNER, methods=["sample", "noise"])


def test_a_device_answers_by_noise_only_where_its_policy_says_so(tmp_path: Path) -> None:
    task = made(n=2)
    round_ = round_of(task)
    line = Line(tmp_path, (task, round_))
    shy = device(tmp_path, line)
    assert said(shy.run_once()) == ["the device answers no task of the method 'noise'"]
    bold = device(tmp_path, line, policy=POLICY)
    assert said(bold.run_once()) == ["sent"]
    assert opened(round_, line.sent()[0]) == "mail"
    assert "Every answer reaches the core" in bold.explain()
    with pytest.raises(UsageError, match="methods"):
        Policy(OWNER, methods="noise")


@pytest.mark.parametrize("groups", [[], LIST])
def test_a_price_that_is_too_low_is_not_believed(groups: list[str]) -> None:
    task = made(*groups, answers=2)
    terms = task.terms
    less: list[dict[str, Any]] = [
        {"rho": terms.rho * Fraction(99, 100)},
        {"scale": terms.scale / 2},
        {"scale": Fraction(1, 1 << 20)},
    ]
    if not groups:
        less += [{"threshold": terms.threshold - 1}, {"delta": terms.delta / 2}, {"threshold": 1}]
    for changes in less:
        odd = Task(task.file, replace(terms, **changes))
        assert is_noise_understated(odd), changes
        refused = POLICY.refusal(None, odd, round_of(odd), NOW)  # type: ignore[arg-type]
        assert refused == "the task costs a device more than it says"
    assert POLICY.refusal(None, task, round_of(task), NOW) is None  # type: ignore[arg-type]


def posts(task: Task, *answers: str) -> list[bytes]:
    return [sent(task, round_of(task), i, one)[0] for i, one in enumerate(answers)]


def test_the_core_shows_listed_groups_all_and_found_ones_above_the_threshold() -> None:
    listed, found = made(*LIST), made()
    for task, names, counts in (
        # Whether anybody gave an answer that is on the list is not to be seen; others are dropped.
        (listed, ("mail", "maps", "news"), (40, 7, 0)),
        (found, ("mail", "maps", "rare"), (40, 7, 1)),
    ):
        chance = Recorder()
        given = posts(task, *["mail"] * 40, *["maps"] * 7, "rare")
        shown = count(task, round_of(task), KEY, [*given, *given], chance=chance)
        (asked,) = chance.asked
        assert isinstance(asked, Noise)
        assert asked.true_values == counts
        assert tuple(name for name, _ in shown.counts) == names
    empty = count(listed, round_of(listed), KEY, [])
    assert [name for name, _ in empty.counts] == LIST
    assert count(found, round_of(found), KEY, []).counts == ()


def test_a_round_with_noise_is_shown_once_however_often_it_is_counted(tmp_path: Path) -> None:
    task = made(*LIST)
    box = KeyBox(tmp_path / "keys")
    box.make(task.id, 0)
    assert box.once(task.id, 0, b"one") == b"one"
    assert box.once(task.id, 0, b"two") == b"one"
    assert KeyBox(tmp_path / "keys").once(task.id, 0, b"three") == b"one"
    assert box.once(task.id, 1, b"four") == b"four"
    box.destroy(task.id, 0)
    assert not list((tmp_path / "keys").glob("*-0.shown"))


def test_rounds_cost_each_of_them_and_pay_for_a_result_of_each() -> None:
    one = NoiseRounds.of(made()).one.event
    event = Rounds((one,), Fraction(7))
    assert cost(event) == Zcdp(7 * cost(one).rho, 7 * cost(one).delta)
    assert paid_parts(json.dumps(to_record(event))) == 7
