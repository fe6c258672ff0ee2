"""Drivers of a fleet: several at once, frozen past a lease, and killed between any two steps."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from tests.service.fleets import counts, cut, reports, truth, upload, written
from tests.service.test_fleet_door import begun

from headcount.errors import EngineError, FleetError, HeadcountError
from headcount.fleet.core_client import Core
from headcount.fleet.lease import LostLeaseError
from headcount.fleet.store import FleetStore
from headcount.ledger.ledger import Ledger

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

STEPS: dict[str, tuple[type, str]] = {
    "charged": (Ledger, "charge"),
    "applied": (FleetStore, "apply"),
    "key made": (Core, "make"),
    "opened": (FleetStore, "open_round"),
    "taken": (FleetStore, "take"),
    "closed": (FleetStore, "close"),
    "leased": (FleetStore, "lease"),
    "paged": (FleetStore, "page"),
    "counted": (Core, "count"),
    "stored": (Ledger, "store_part"),
    "finished": (FleetStore, "finish"),
    "key destroyed": (Core, "destroy"),
    "ended": (FleetStore, "end"),
}
"""What the door does, in order: the name of the moment after it, and who does it."""


IS_OVER = "SELECT clock_timestamp() > %s"


def stopped_after(step: str, how: signal.Signals) -> None:
    """Stop this process at the moment after a step, once."""
    owner, name = STEPS[step]
    done: Callable[..., Any] = getattr(owner, name)

    def and_stop(*given: Any, **named: Any) -> Any:
        found = done(*given, **named)
        setattr(owner, name, done)
        os.kill(os.getpid(), how)
        return found

    setattr(owner, name, and_stop)


def whole_chain(fleet: Any, lease: float = 60.0) -> Any:
    """From the charge to the release of one round, doing again whatever was done."""
    door = fleet.door(lease)
    task = door.apply(written())
    descriptor = door.open_round(task.id, 0)
    # Late where the round was closed before: then all of them were taken before that.
    upload(door, task, cut(reports(task, descriptor), 50))
    door.close(task.id, 0)
    door.step()
    return door, task


def chain_until(fleet: Any, step: str, how: signal.Signals) -> None:
    stopped_after(step, how)
    whole_chain(fleet, lease=1.0)


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_between_any_two_steps_loses_nothing_and_shows_nothing_twice(
    fleet: Any, clients: ModuleType, step: str
) -> None:
    child = clients.forked(chain_until, fleet, step, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the step was never reached"
    door, task = whole_chain(fleet)
    if step in ("leased", "paged", "counted", "stored"):
        # The lease of whoever was killed is not over yet, or just is.
        clients.wait_until(lambda: bool(door.step()) or fleet.states() == [("released", True)])
    assert counts(door.shown(task.id, 0)) == truth(task)
    fleet.is_in_order(task, 1)


def driver(_number: int, ready: Callable[[], object], fleet: Any) -> list[bytes]:
    door = fleet.door()
    ready()
    return [release.to_bytes() for release in door.step()]


def test_of_many_drivers_at_once_one_counts_a_round(fleet: Any, clients: ModuleType) -> None:
    door, task = begun(fleet)
    found = clients.together(4, driver, fleet)
    (only,) = [one for each in found for one in each]
    assert door.shown(task.id, 0).to_bytes() == only
    assert counts(door.shown(task.id, 0)) == truth(task)
    assert fleet.sql("SELECT token FROM fleet.round") == [(1,)]
    door.tidy()
    fleet.is_in_order(task, 1)


def opener(number: int, ready: Callable[[], object], fleet: Any) -> tuple[bytes, bytes]:
    ready()
    door = fleet.door()
    ready()
    task = door.apply(written())
    ready()
    return task.id, door.open_round(task.id, 0).spelled


def test_many_who_make_apply_and_open_the_same_have_one(fleet: Any, clients: ModuleType) -> None:
    found = clients.together(6, opener, fleet)
    assert len(set(found)) == 1
    assert len(fleet.partitions()) == 1
    assert Ledger(fleet.book).verify().n_charges == 1


def frozen_driver(fleet: Any, step: str, to: int) -> None:
    stopped_after(step, signal.SIGSTOP)
    try:
        released = fleet.door(1.0).finalise()
        told = "released" if released is not None else "nothing"
    except HeadcountError as error:
        told = type(error).__name__
    os.write(to, told.encode())


def frozen(fleet: Any, clients: ModuleType, step: str) -> tuple[int, int]:
    """A driver that stands still after a step, and where it will tell what came of it."""
    ours, theirs = os.pipe()
    child = clients.forked(frozen_driver, fleet, step, theirs)
    os.close(theirs)
    fleet.frozen.append(child)
    os.waitpid(child, os.WUNTRACED)
    return child, ours


FROZEN = ["leased", "paged", "counted", "stored", "finished"]


@pytest.mark.parametrize("step", FROZEN)
def test_a_driver_that_was_frozen_past_its_lease_changes_nothing_when_it_wakes(
    fleet: Any, clients: ModuleType, step: str
) -> None:
    door, task = begun(fleet)
    child, told_by = frozen(fleet, clients, step)
    # Another takes over, also where the frozen one was in the middle of telling the core.
    clients.wait_until(lambda: bool(door.step()) or fleet.states() == [("released", True)])
    shown = door.shown(task.id, 0).to_bytes()
    assert counts(door.shown(task.id, 0)) == truth(task)
    # Meanwhile uploads for other rounds go on.
    descriptor = door.open_round(task.id, 1)
    assert upload(door, task, cut(reports(task, descriptor), 50), 1)
    before = fleet.sql("SELECT r::text FROM fleet.round r ORDER BY id")
    os.kill(child, signal.SIGCONT)
    told = os.read(told_by, 100).decode()
    assert told == ("released" if step == "finished" else LostLeaseError.__name__)
    assert fleet.sql("SELECT r::text FROM fleet.round r ORDER BY id") == before
    assert door.shown(task.id, 0).to_bytes() == shown
    door.close(task.id, 1)
    (second,) = door.step()
    assert counts(second) == truth(task, 1)
    fleet.is_in_order(task, 2)


def test_a_lease_lasts_while_its_driver_lives(fleet: Any, clients: ModuleType) -> None:
    """A count that takes several leases; others leave it alone."""
    door, _ = begun(fleet, lease=0.6)
    other, waits = fleet.door().store, []

    def slowly(self: Any, number: int, after: bytes) -> Any:
        for _ in range(2):
            ((end,),) = fleet.sql("SELECT leased_until FROM fleet.round")
            clients.wait_until(lambda end=end: fleet.sql(IS_OVER, end) == [(True,)])
            assert other.lease(60.0) is None, "two have a lease"
            waits.append(end)
        return page(self, number, after)

    page = FleetStore.page
    FleetStore.page = slowly  # type: ignore[method-assign]
    try:
        assert door.finalise() is not None
    finally:
        FleetStore.page = page  # type: ignore[method-assign]
    assert len(set(waits)) >= 4


def test_a_lease_that_is_over_is_somebody_elses(fleet: Any) -> None:
    """Each thing that an old number does not let through, by itself."""
    door, _ = begun(fleet)
    old = door.store.lease(0.0)
    new = door.store.lease(60.0)
    assert new is not None, "a lease that is over ends"
    assert (old.id, old.token, new.token) == (new.id, 1, 2)
    assert door.store.lease(60.0) is None
    assert not door.store.holds(old)
    assert not door.store.beat(old, 60)
    assert not door.store.finish(old, "released")
    assert not door.store.finish(new, "open")
    assert not door.store.end(new.id)
    assert fleet.states() == [("closing", False)]
    assert door.store.holds(new)
    assert door.store.beat(new, 60)
    assert door.store.finish(new, "released")
    assert not door.store.finish(new, "cancelled")


def test_a_core_that_dies_while_it_counts_is_asked_again(fleet: Any, clients: ModuleType) -> None:
    door, task = begun(fleet, lease=1.0)
    page = FleetStore.page
    pages: list[bytes] = []

    def and_kill(self: Any, number: int, after: bytes) -> Any:
        if not pages:
            fleet.core.kill()
        pages.append(after)
        return page(self, number, after)

    FleetStore.page = and_kill  # type: ignore[method-assign]
    try:
        with pytest.raises((EngineError, HeadcountError)):
            door.finalise()
    finally:
        FleetStore.page = page  # type: ignore[method-assign]
    fleet.core.start()
    clients.wait_until(lambda: bool(door.step()))
    assert counts(door.shown(task.id, 0)) == truth(task)
    fleet.is_in_order(task, 1)


def test_a_server_that_crashes_loses_nothing_that_was_acknowledged(
    server_of_its_own: Any, fleet: Any
) -> None:
    fleet.server = server_of_its_own
    fleet.address = server_of_its_own.new_database()
    door = fleet.door(1.0)
    task = door.apply(written())
    descriptor = door.open_round(task.id, 0)
    assert upload(door, task, cut(reports(task, descriptor), 50))
    server_of_its_own.crash()
    with pytest.raises(FleetError, match="send them again"):
        door.store.take(1, [bytes(320)])
    server_of_its_own.start()
    door.close(task.id, 0)
    (release,) = door.step()
    assert counts(release) == truth(task)
    fleet.is_in_order(task, 1)
