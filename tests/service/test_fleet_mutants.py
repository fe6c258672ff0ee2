"""What protects a round, each taken away alone: the test that is there for it must notice.

A mutant is the smallest edit of the code or of the server's functions as they are shipped.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
from tests.service import (
    test_fleet_door,
    test_fleet_drivers,
    test_fleet_roles,
    test_fleet_uploads,
)
from tests.service.fleets import counts, truth

from headcount.errors import HeadcountError
from headcount.fleet import door as doors
from headcount.fleet import migrate, store
from headcount.fleet.core_client import Core
from headcount.fleet.door import Door
from headcount.fleet.intake import Intake
from headcount.fleet.lease import Lease
from headcount.fleet.plan import planned
from headcount.fleet.released import released
from headcount.fleet.store import FleetStore
from headcount.ledger.ledger import Ledger
from headcount.trials.seam import swapped

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

Edit = Callable[[Any, ExitStack], None]
Scenario = Callable[[Any, ModuleType], None]


def in_server(function: str, shipped: str, instead: str) -> Edit:
    return lambda fleet, _: fleet.mutate(function, shipped, instead)


def swap(target: Any, name: str, value: Any) -> Edit:
    return lambda _, stack: stack.enter_context(swapped(target, name, value))


def in_core(edit: str) -> Edit:
    def made(fleet: Any, _: ExitStack) -> None:
        fleet.core.kill()
        fleet.core.edit = edit
        fleet.core.start()

    return made


def kept_before_the_charge(self: Door, file: Any) -> Any:
    account = self.ledger.account(file.account)
    self.store.apply(planned(file, account, doors._day(self.store.now())), account.name, 1)
    return APPLY(self, file)


def only_if_large(self: FleetStore, held: Any, state: str) -> bool:
    is_large = len(self.page(held.id, b"")) > 2
    return FINISH(self, held, state if is_large else "cancelled")


def with_responders(*given: Any) -> Any:
    release = RELEASED(*given)
    n = float(sum(count for _, count in given[1].counts))
    return type(release)(release.to_arrow(), replace(release.facts, stated={"responders": n}))


async def told_at_once(self: Intake) -> None:
    for one in self._waiting:
        one.taken.set_result(True)
    await WRITE(self)


APPLY, FINISH, RELEASED, WRITE = Door.apply, FleetStore.finish, released, Intake._write
IN_ANY_ORDER = (
    "SELECT digest, body FROM fleet.posted WHERE round = %s AND %s::bytea = '' ORDER BY random()"
)
EACH_REPORT = """
from collections import Counter
from headcount.fleet import core
def counted(task, opened):
    return Counter(value for some in opened for _, value in some if value is not None)
core._once_each = counted
"""
TOO_MUCH = {**migrate.ROLES, "ingest": (*migrate.ROLES["ingest"], "close_rounds(bigint)")}


def plain(test: Callable[[Any], None]) -> Scenario:
    return lambda fleet, _: test(fleet)


def frozen(step: str) -> Scenario:
    tests = test_fleet_drivers
    test = tests.test_a_driver_that_was_frozen_past_its_lease_changes_nothing_when_it_wakes
    return lambda fleet, clients: test(fleet, clients, step)


def killed(step: str) -> Scenario:
    tests = test_fleet_drivers
    test = tests.test_a_kill_between_any_two_steps_loses_nothing_and_shows_nothing_twice
    return lambda fleet, clients: test(fleet, clients, step)


def empty(fleet: Any, _: ModuleType) -> None:
    test_fleet_door.test_a_round_that_shows_nothing_is_like_any_other(fleet, [])


def rights_of_ingest(fleet: Any, _: ModuleType) -> None:
    test_fleet_roles.test_every_right_of_every_role(test_fleet_roles.with_logins(fleet), "ingest")


late = plain(test_fleet_door.test_a_report_after_the_close_is_refused_and_not_counted)
old_lease = plain(test_fleet_drivers.test_a_lease_that_is_over_is_somebody_elses)
put_back = plain(test_fleet_door.test_a_database_that_is_put_back_neither_opens_nor_shows_anew)
unpaid = plain(test_fleet_door.test_a_task_that_was_not_paid_for_is_never_opened)
uncounted = plain(
    test_fleet_door.test_a_round_is_counted_only_if_the_ledger_says_that_it_was_paid_for
)

MUTANTS: dict[str, tuple[Edit, Scenario]] = {
    "closing does not wait for uploads": (
        in_server("take", " FOR SHARE", ""),
        test_fleet_uploads.test_a_round_closes_after_those_who_were_let_in,
    ),
    "posts are taken whatever the state": (in_server("take", "state = 'open' AND ", ""), late),
    "posts are taken whatever the time": (
        in_server("take", " AND closes > clock_timestamp()", ""),
        late,
    ),
    "posts of a group in any order": (
        in_server("take", "ORDER BY body ", ""),
        test_fleet_uploads.test_groups_with_the_same_posts_do_not_wait_for_each_other,
    ),
    "a report counts as often as it was posted": (
        in_core(EACH_REPORT),
        plain(test_fleet_uploads.test_reports_in_three_cuts_and_in_any_order_count_once),
    ),
    "taken before it is written": (
        swap(Intake, "_write", told_at_once),
        test_fleet_uploads.test_nobody_is_told_before_it_is_written,
    ),
    "an old lease finishes a round": (
        in_server("finish", "AND token = token_ ", ""),
        old_lease,
    ),
    "a driver that was frozen finishes a round": (
        in_server("finish", "AND token = token_ AND state = 'closing'", ""),
        frozen("stored"),
    ),
    "an old lease is kept alive": (in_server("beat", "AND token = token_ ", ""), old_lease),
    "two have a lease": (
        in_server("lease", " AND leased_until < clock_timestamp()", ""),
        test_fleet_drivers.test_a_lease_lasts_while_its_driver_lives,
    ),
    "a lease never ends": (
        in_server("lease", "leased_until < clock_timestamp()", "leased_until = '-infinity'"),
        old_lease,
    ),
    "no heartbeat": (
        swap(Lease, "_beat", lambda self: None),
        test_fleet_drivers.test_a_lease_lasts_while_its_driver_lives,
    ),
    "a driver that was frozen reads on": (
        swap(Lease, "check", lambda self: None),
        frozen("paged"),
    ),
    "posts in another order each time": (swap(store, "POSTS", IN_ANY_ORDER), killed("counted")),
    "a round ends before it is over": (
        in_server("end_round", " AND state IN ('released', 'cancelled')", ""),
        old_lease,
    ),
    "a round that is being counted is called off": (
        in_server("seize", " AND leased_until < clock_timestamp()", ""),
        plain(test_fleet_door.test_a_round_that_is_being_counted_or_was_shown_is_not_called_off),
    ),
    "more rounds than were paid for": (
        in_server("open_round", " AND number_ < rounds", ""),
        plain(test_fleet_door.test_other_accounts_and_other_people_are_refused),
    ),
    "another isolation": (
        in_server("read_committed", "<> 'read committed'", "= ''"),
        plain(test_fleet_roles.test_a_server_that_could_lose_reports_is_refused),
    ),
    "a server that loses what it acknowledged": (
        swap(store, "wrong_settings", lambda *_: None),
        plain(test_fleet_roles.test_a_server_that_could_lose_reports_is_refused),
    ),
    "a task is kept before it is charged": (
        swap(Door, "apply", kept_before_the_charge),
        plain(test_fleet_door.test_an_account_that_cannot_pay_opens_nothing),
    ),
    "a round is opened unpaid": (swap(Door, "_refuse_unpaid", lambda *_: None), unpaid),
    "a round is counted unpaid": (swap(Door, "_refuse_unpaid", lambda *_: None), uncounted),
    "a round is opened that was shown": (swap(Ledger, "stored_parts", lambda *_: []), put_back),
    "a round is counted that was shown": (swap(Ledger, "stored_part", lambda *_: None), put_back),
    "a least size of batch": (swap(FleetStore, "finish", only_if_large), empty),
    "responders in a release": (
        swap(doors, "released", with_responders),
        plain(test_fleet_door.test_two_rounds_with_other_answers_differ_in_their_rows_alone),
    ),
    "a key is kept after the release": (
        swap(Core, "destroy", lambda *_: None),
        killed("charged"),
    ),
    "posts are kept after the release": (
        in_server("drop_posts", "DROP TABLE IF EXISTS", "ANALYZE"),
        killed("charged"),
    ),
    "what a crash left stays": (swap(Door, "tidy", lambda self: None), killed("finished")),
    "who takes posts may close rounds": (swap(migrate, "ROLES", TOO_MUCH), rights_of_ingest),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_noticed(fleet: Any, clients: ModuleType, mutant: str) -> None:
    edit, scenario = MUTANTS[mutant]
    with ExitStack() as stack:
        edit(fleet, stack)
        noticed: BaseException | None = None
        try:
            scenario(fleet, clients)
        except (AssertionError, HeadcountError, pytest.fail.Exception) as error:
            noticed = error
    assert noticed is not None, "nobody noticed"
    print(f"{mutant}: {noticed!r:.150}")


def test_without_any_fencing_the_ledger_shows_the_first_part(
    fleet: Any, clients: ModuleType
) -> None:
    """The second guard alone: whoever comes late stores nothing, and is given what is there."""
    for function in ("finish", "beat"):
        fleet.mutate(function, "AND token = token_ AND state = 'closing'", "")
    door, task = test_fleet_door.begun(fleet)
    with swapped(Lease, "check", lambda self: None):
        child, told_by = test_fleet_drivers.frozen(fleet, clients, "counted")
        clients.wait_until(lambda: bool(door.step()))
        shown = door.shown(task.id, 0).to_bytes()
        os.kill(child, signal.SIGCONT)
        assert os.read(told_by, 100) == b"released"
    assert door.shown(task.id, 0).to_bytes() == shown
    assert counts(door.shown(task.id, 0)) == truth(task)
    assert Counter(row["kind"] for row in Ledger(fleet.book).journal())["part"] == 1
