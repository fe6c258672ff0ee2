"""What protects the control API and the calendar, each taken away alone: a test must notice."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from tests.service import test_fleet_control, test_fleet_schedule
from tests.service.controls import RunningControl, nothing

from headcount.errors import HeadcountError
from headcount.fleet import (
    control,
    control_app,
    control_guard,
    control_problems,
    control_views,
    tokens,
)
from headcount.fleet import driver as drivers_
from headcount.fleet.control_store import ControlStore
from headcount.fleet.owner_key import OwnerKey
from headcount.trials.seam import swapped

pytestmark = [pytest.mark.postgres, pytest.mark.slow]
Edit = Callable[[], None]


def put(target: Any, name: str, value: Any) -> Edit:
    """An edit of a process that was forked for it."""
    return lambda: setattr(target, name, value)


def whole_token(self: Any, name: str) -> Any:
    found = TOKEN(self, name)
    return None if found is None else (found[0], found[1], True)


def in_own_words(error: Exception) -> Any:
    answer = RESPONSE(error)
    answer.body = answer.render(json.loads(bytes(answer.body)) | {"detail": str(error)})
    answer.headers["content-length"] = str(len(answer.body))
    return answer


def unpaid(self: Any, given: Any) -> Any:
    return APPLY(self, {**given, "spend": {**given["spend"], "epsilon": 1}})


TOKEN, RESPONSE, APPLY = ControlStore.token, control_problems.response_of, control.Control.apply
EVERYTHING = dict.fromkeys(tokens.SCOPES, tokens.SCOPES["owner"])
roles = test_fleet_control.test_every_route_and_every_role
refused = test_fleet_control.test_what_a_ledger_or_a_database_says_is_not_passed_on
paying = test_fleet_control.test_who_cannot_pay_opens_nothing_and_a_population_has_one_account

IN_SERVER: dict[str, tuple[Edit, Callable[[Any], None]]] = {
    "roles may do all": (put(control_guard, "SCOPES", EVERYTHING), roles),
    "tokens never end": (put(ControlStore, "token", whole_token), roles),
    "any secret will do": (put(hmac, "compare_digest", lambda *_: True), roles),
    "errors in their own words": (put(control_app, "response_of", in_own_words), refused),
    "less is charged than asked": (put(control.Control, "apply", unpaid), paying),
    "one route's methods": (
        put(control_app, "methods_at", lambda *_: "GET"),
        test_fleet_control.test_wrong_methods_paths_and_bodies_are_told_in_fixed_words,
    ),
    "the last job counts": (
        put(ControlStore, "make_job", lambda _self, _task, _job, number: number),
        test_fleet_control.test_a_job_is_made_once_by_whatever_name,
    ),
}


@pytest.mark.parametrize("mutant", IN_SERVER)
def test_a_mutant_of_the_server_is_noticed(fleet: Any, mutant: str) -> None:
    edit, test = IN_SERVER[mutant]
    running = RunningControl(fleet, edit=edit)
    try:
        with pytest.raises((AssertionError, HeadcountError)) as noticed:
            test(running)
    finally:
        running.close()
    print(f"{mutant}: {noticed.value!r:.150}")


def test_a_round_that_is_shown_when_it_is_counted_is_noticed(
    fleet: Any, drivers: Any, clients: ModuleType
) -> None:
    """A person closes it early: without the delay it would be seen at once."""
    edit = put(control_views, "shown_at", lambda _closes, finished, _delay: int(finished))
    running = RunningControl(fleet, edit=edit)
    try:
        with pytest.raises(AssertionError):
            test_fleet_control.test_rounds_are_ordered_and_called_off_only_before_they_open(
                running, drivers, clients
            )
    finally:
        running.close()


calendar = test_fleet_schedule.test_the_calendar_opens_a_round_or_calls_it_off
signed = test_fleet_schedule.test_a_round_is_signed_by_its_owner_and_a_changed_one_is_not
IN_DRIVER: dict[str, tuple[Any, str, Any, Callable[[Any], None]]] = {
    "no signature": (OwnerKey, "proof", lambda *_: b"", signed),
    "nothing opens by itself": (drivers_, "due", lambda *_: iter(()), calendar),
    "what went by stays": (ControlStore, "order", lambda *_: None, calendar),
}


@pytest.mark.parametrize("mutant", IN_DRIVER)
def test_a_mutant_of_the_driver_is_noticed(fleet: Any, mutant: str) -> None:
    target, name, value, test = IN_DRIVER[mutant]
    with (
        swapped(target, name, value),
        pytest.raises((AssertionError, AttributeError, HeadcountError)),
    ):
        test(fleet)


def test_a_round_that_is_opened_after_it_was_called_off_is_noticed(
    fleet: Any, clients: ModuleType
) -> None:
    fleet.mutate("open_round", "AND what = 'cancel'", "AND what = ''")
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test_fleet_schedule.test_a_round_is_opened_or_called_off_and_never_both(fleet, clients)


def test_without_a_mutant_nothing_is_noticed(fleet: Any) -> None:
    running = RunningControl(fleet, edit=nothing)
    try:
        paying(running)
    finally:
        running.close()
