"""Devices that are made up, and a simulation that finds out when one of them is lost."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.fleet.devices import WRITTEN, task

from headcount.errors import FleetError, UsageError
from headcount.fleet.answering import bodies, kept
from headcount.fleet.characters import is_allowed
from headcount.fleet.core import Shown
from headcount.fleet.released import released
from headcount.fleet.simulate import check, made_up, simulate
from headcount.fleet.simulate_answers import MadeUp, named, sampled
from headcount.fleet.simulate_devices import Told
from headcount.fleet.task import Task
from headcount.fleet.task_file import read_task
from headcount.fleet.wire import value_in
from headcount.ledger.ledger import Ledger
from headcount.privacy.budget import Budget
from headcount.privacy.neighbours import Neighbours
from headcount.results.release import Release

TERMS = task().terms
POPULATION = MadeUp(bytes(32), 2_000, 50)


def test_a_population_follows_from_its_key_and_nobody_has_the_same() -> None:
    asked = task(answers=3)
    again, other = replace(POPULATION), replace(POPULATION, key=bytes(31) + b"\x01")
    for device in range(20):
        assert again.secret(device) == POPULATION.secret(device) != other.secret(device)
        assert again.answers(asked, device) == POPULATION.answers(asked, device)
    assert made_up(5).key != made_up(5).key
    said = replace(POPULATION, said={7: "odd"})
    assert said.answers(asked, 7) == ["odd"]
    assert said.answers(asked, 8) == POPULATION.answers(asked, 8)
    for odd in (0, -1, 10_000_001):
        with pytest.raises(UsageError, match="Nothing was started"):
            made_up(odd)


@pytest.mark.parametrize(
    ("pattern", "most", "least"),
    [("[a-z0-9-]+", 64, 500), ("", 64, 500), ("[ab]+", 4, 16), ("[0-9]+", 2, 90), ("[x]+", 1, 1)],
)
def test_made_up_answers_are_ones_that_the_task_takes(pattern: str, most: int, least: int) -> None:
    asked = Task(read_task({**WRITTEN, "question": {"max_bytes": most, "pattern": pattern}}), TERMS)
    found = {named(asked, i) for i in range(500)}
    assert all(is_allowed(one, pattern, most) for one in found)
    assert len(found) >= least


def test_some_answers_are_given_often_and_some_devices_have_none() -> None:
    asked = task()
    said = Counter(POPULATION.answers(asked, device)[0] for device in range(2_000))
    assert 50 < said[None] < 150
    assert said["answer-0"] > 3 * said["answer-9"] > 0


def test_what_must_be_counted_is_what_bodies_hold() -> None:
    asked = task(answers=3)
    for device in range(200):
        secret, answers = POPULATION.secret(device), POPULATION.answers(asked, device)
        answers = [*answers[:2], answers[0]] if device % 2 else answers
        sealed = bodies(asked, answers, kept(asked, 1, secret))
        held = [value_in(one) for one in sealed if one is not None]
        assert list(sampled(asked, 1, secret, answers)) == [one for one in held if one is not None]


def test_a_report_that_is_lost_or_doubled_is_noticed(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    account = ledger.open_account("app-users", Budget(epsilon=2), Neighbours.REPLACE)
    asked = task()
    least = asked.terms.threshold
    told = Told(Counter({"mail": least + 40, "maps": least, "rare": least - 1}), 100, 100)

    def shown(**counts: int) -> Release:
        pairs = tuple(sorted(counts.items()))
        return released(asked, Shown(asked.id, 0, least, pairs), account, 1)

    good = {"mail": least + 40, "maps": least}
    check(asked, told, shown(**good))
    for wrong in (
        {**good, "mail": least + 39},
        {**good, "mail": least + 41},
        {"mail": least + 40},
        {**good, "rare": least},
    ):
        with pytest.raises(FleetError, match="lost, or counted twice"):
            check(asked, told, shown(**wrong))
    with pytest.raises(FleetError, match="only 99 were acknowledged"):
        check(asked, replace(told, acknowledged=99), shown(**good))


def test_what_processes_tell_adds_up() -> None:
    one, two = Told(Counter(a=2), 5, 4, 1), Told(Counter(a=1, b=3), 7, 7, 2)
    one.add(Told.read(two.printed().encode()))
    assert one == Told(Counter(a=3, b=3), 12, 11, 3)


def test_a_task_whose_counts_hide_a_lost_report_is_not_simulated() -> None:
    for more in ({"method": "noise"}, {"attestation": "test"}):
        with pytest.raises(UsageError, match="by the method 'sample'"):
            simulate(read_task({**WRITTEN, **more}), POPULATION)
