"""Drivers that keep the calendar: killed at any step, several at once, late, and without a key."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from tests.service.controls import shift
from tests.service.fleets import counts, cut, reports, truth, upload, written
from tests.service.test_fleet_drivers import STEPS, stopped_after

from headcount.fleet.control_store import ControlStore
from headcount.fleet.driver import turn
from headcount.fleet.offer import Offer, is_signed
from headcount.ledger.ledger import Ledger

pytestmark = [pytest.mark.postgres, pytest.mark.slow]
DAY = 86_400
KILLED = ("key made", "opened", "closed", "leased", "counted", "stored", "finished", "ended")


def one_turn(fleet: Any, lease: float = 1.0) -> list[tuple[str, bool]]:
    """What rounds have come to after another turn."""
    turn(ControlStore(fleet.address), fleet.door(lease))
    return list(fleet.states())


def killed_turn(fleet: Any, step: str) -> None:
    stopped_after(step, signal.SIGKILL)
    one_turn(fleet)


def closed_now(fleet: Any) -> None:
    fleet.sql("UPDATE fleet.round SET closes = clock_timestamp() WHERE state = 'open'")


@pytest.mark.parametrize("step", KILLED)
def test_a_driver_that_is_killed_at_any_step_is_followed_by_another(
    fleet: Any, clients: ModuleType, step: str
) -> None:
    assert step in STEPS
    door = fleet.door()
    task = door.apply(written())

    def killed() -> None:
        child = clients.forked(killed_turn, fleet, step)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), "the step was never reached"

    if step in ("key made", "opened"):
        killed()
    one_turn(fleet)
    assert fleet.states() == [("open", False)]
    opened = door.store.round(task.id, 0)
    assert upload(door, task, cut(reports(task, opened.descriptor), 100))
    closed_now(fleet)
    if step not in ("key made", "opened"):
        killed()
    clients.wait_until(lambda: one_turn(fleet) == [("released", True)], 60)
    assert counts(door.shown(task.id, 0)) == truth(task)
    fleet.is_in_order(task, 1)


def test_drivers_at_once_open_and_show_each_round_once(
    fleet: Any, clients: ModuleType, drivers: Callable[..., Any]
) -> None:
    """Three of them, one of which is killed in the middle, over a whole period."""
    door = fleet.door()
    task = door.apply(written())
    running = [drivers(lease=1.0) for _ in range(3)]
    for number in range(2):
        clients.wait_until(lambda n=number: len(fleet.states()) == n + 1, 60)
        opened = door.store.round(task.id, number)
        sealed = reports(task, opened.descriptor)
        assert upload(door, task, cut(sealed, 100), number)
        closed_now(fleet)
        running[number].kill()
        clients.wait_until(lambda n=number: fleet.states()[n] == ("released", True), 60)
        shift(fleet, DAY)
    assert [counts(door.shown(task.id, i)) for i in range(2)] == [truth(task, i) for i in range(2)]
    running[2].end()
    fleet.is_in_order(task, 2)


def test_the_calendar_opens_a_round_or_calls_it_off(fleet: Any) -> None:
    store: Any = ControlStore(fleet.address)
    task = fleet.door().apply(written())
    ((at,),) = fleet.sql("SELECT floor(extract(epoch FROM applied))::bigint FROM fleet.task")
    # A driver that comes hours late opens for what is left of the window.
    shift(fleet, 5 * 3600)
    one_turn(fleet)
    opened = store.round(task.id, 0).descriptor
    assert (opened.opens, opened.closes) == (at - 5 * 3600, at + 13 * 3600)
    assert store.orders(task.id) == {}
    shift(fleet, DAY + 14 * 3600)
    one_turn(fleet)
    assert store.orders(task.id) == {1: "cancel"}
    assert store.unfinished() == []
    assert len(fleet.states()) == 1
    assert Ledger(fleet.book).verify().n_charges == 1


def test_a_round_is_signed_by_its_owner_and_a_changed_one_is_not(fleet: Any) -> None:
    door = fleet.door()
    task = door.apply(written())
    one_turn(fleet)

    def offered() -> Offer:
        found = door.store.round(task.id, 0)
        return Offer(task.spelled, found.descriptor.spelled, found.proof)

    assert is_signed(fleet.owner.public, offered())
    fleet.sql(
        "UPDATE fleet.round SET descriptor = "
        "overlay(descriptor PLACING decode(repeat('01', 32), 'hex') FROM 57)"
    )
    assert not is_signed(fleet.owner.public, offered())


def test_a_round_is_opened_or_called_off_and_never_both(fleet: Any, clients: ModuleType) -> None:
    door, store = fleet.door(), ControlStore(fleet.address)
    task = door.apply(written())
    assert store.order(task.id, 0, "open") == "open"
    assert store.order(task.id, 0, "cancel") == "cancel"
    assert store.order(task.id, 0, "open") == "cancel"
    assert store.order(task.id, 2, "open") is None
    one_turn(fleet)
    assert fleet.states() == []
    # Whoever read the calendar before the order came opens nothing either.
    with pytest.raises(Exception, match="no round 0"):
        door.open_round(task.id, 0)
    door.open_round(task.id, 1)
    assert store.order(task.id, 1, "cancel") == "opened"
    assert 1 not in store.orders(task.id)
