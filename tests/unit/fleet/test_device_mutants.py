"""What protects a device, each taken away alone: the test that is there for it must notice."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.unit.fleet import test_device as tests
from tests.unit.fleet import test_device_limits as limits

from headcount.fleet import (
    answering,
    device,
    device_answers,
    device_policy,
    device_select,
    device_store,
)
from headcount.fleet.device_policy import Policy
from headcount.fleet.device_rows import FORGET
from headcount.fleet.device_secret import destroy_secret
from headcount.fleet.device_store import DeviceStore
from headcount.fleet.wire import body
from headcount.trials.seam import swapped

Scenario = Callable[[Path], None]


def never(*_: Any, **__: Any) -> None:
    return None


def waits_for_nothing(store: Any) -> list[Any]:
    """Seal again what was not taken, in place of sending what is kept."""
    with store._writing() as connection:
        connection.execute("DELETE FROM answered WHERE state = 'kept'")
    return []


def end_forgets(store: Any, one: Any, state: str) -> None:
    with store._writing() as connection:
        connection.execute("DELETE FROM answered WHERE round = ?", (one.round,))


def forgets_all(store: Any) -> None:
    with store._writing() as connection:
        for table in ("consent", "heard", "paid", "answered"):
            connection.execute(f"DELETE FROM {table}")
    destroy_secret(store._secret)


def forgets_no_secret(store: Any) -> None:
    with store._connected() as connection:
        connection.executescript(FORGET)


def uncovered(task: Any, answers: Any, coins: Any) -> list[Any]:
    """An abstention is not sent."""
    found = BODIES(task, answers, coins)
    return [None if one == body(None) else one for one in found]


def raising(source: Any, task: Any) -> list[Any]:
    return [source(task)]


def refused(case: str) -> Scenario:
    return lambda folder: limits.test_what_the_device_does_not_allow_is_not_answered(folder, case)


BODIES = answering.bodies
NEW_SECRET = lambda _: secrets.token_bytes(32)  # noqa: E731
RANDOM_ID = lambda *_: secrets.token_bytes(16)  # noqa: E731
MUTANTS: dict[str, tuple[Any, str, Any, Scenario]] = {
    "coins are flipped anew": (
        *(device_store, "make_secret", NEW_SECRET),
        tests.test_a_round_is_answered_once_however_often_the_device_runs,
    ),
    "what was not taken is sealed anew": (
        *(DeviceStore, "waiting", waits_for_nothing),
        tests.test_a_report_is_sent_again_byte_for_byte_until_it_is_taken,
    ),
    "a round that was answered is not known": (
        *(DeviceStore, "kept", lambda *_: []),
        tests.test_a_round_is_answered_once_however_often_the_device_runs,
    ),
    "a round is forgotten once it is sent": (
        *(DeviceStore, "end", end_forgets),
        tests.test_a_round_that_is_offered_with_another_key_is_not_answered_again,
    ),
    "any secret will do": (
        *(device_store, "name_of", lambda _: b""),
        limits.test_who_forgets_never_answers_the_same_period_again,
    ),
    "forgetting forgets the price": (
        *(DeviceStore, "forget", forgets_all),
        limits.test_who_forgets_never_answers_the_same_period_again,
    ),
    "forgetting leaves the secret": (
        *(DeviceStore, "forget", forgets_no_secret),
        limits.test_who_forgets_never_answers_the_same_period_again,
    ),
    "names are drawn": (
        *(device, "report_id", RANDOM_ID),
        limits.test_a_folder_put_back_flips_no_other_coin_and_counts_once,
    ),
    "nothing is paid": (
        *(DeviceStore, "pay", never),
        limits.test_all_tasks_together_cost_no_more_than_the_device_allows,
    ),
    "consent is not asked for": (
        *(DeviceStore, "has_consent", lambda *_: True),
        tests.test_nothing_is_worked_out_and_nothing_is_sent_before_somebody_agrees,
    ),
    "the policy is not asked": (Policy, "refusal", never, refused("rate")),
    "the price is believed": (
        *(device_policy, "is_understated", lambda _: False),
        refused("price"),
    ),
    "rounds are not looked at": (
        *(device_policy, "_of_round", never),
        limits.test_rounds_that_are_not_the_tasks_own_are_not_answered,
    ),
    "who abstains is silent": (
        *(answering, "bodies", uncovered),
        tests.test_a_device_sends_its_answer_or_an_abstention_of_one_length,
    ),
    "what fails is silent": (
        *(device, "answers_of", raising),
        lambda folder: tests.test_what_is_no_answer_is_an_abstention_that_is_sent(
            folder, tests.broken
        ),
    ),
    "a query may do anything": (
        *(device_answers, "SELECT", None),
        lambda folder: with_database(folder),
    ),
    "who is done sooner says so": (
        *(time, "sleep", never),
        lambda folder: with_database(folder, in_time=True),
    ),
}


def with_database(folder: Path, *, in_time: bool = False) -> None:
    place = tests.made_database(folder)
    with pytest.MonkeyPatch.context() as patch:
        if in_time:
            sql = "SELECT app FROM usage"
            tests.test_a_query_takes_the_same_time_whatever_it_finds(place, sql, patch)
        else:
            # What it runs is a file: the same without its authorizer.
            loose = folder / "loose.py"
            shipped = Path(device_select.__file__).read_text(encoding="utf-8")
            loose.write_text(shipped.replace("set_authorizer(only_reading)", "commit()"))
            patch.setattr(device_answers, "SELECT", loose)
            tests.test_the_tasks_select_answers_over_sqlite(folder, place, patch)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_noticed(tmp_path: Path, mutant: str) -> None:
    target, name, value, scenario = MUTANTS[mutant]
    with ExitStack() as stack:
        stack.enter_context(swapped(target, name, value))
        silent = RuntimeError if mutant == "what fails is silent" else AssertionError
        with pytest.raises(silent):
            scenario(tmp_path)
