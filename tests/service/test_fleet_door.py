"""The door of a fleet: every round is paid for, counted from all that was taken, and shown once."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from tests.service.fleets import (
    ACCOUNT,
    CANARY,
    SAID,
    counts,
    cut,
    reports,
    truth,
    upload,
    written,
)

from headcount.errors import (
    BudgetError,
    FleetError,
    HeadcountError,
    KeyReusedError,
    LedgerError,
    UsageError,
)
from headcount.fleet.core_client import Core
from headcount.fleet.task import Task, Terms
from headcount.fleet.wire import Descriptor
from headcount.ledger.ledger import Ledger
from headcount.ledger.statement.statement import statement
from headcount.privacy.budget import Budget
from headcount.privacy.neighbours import Neighbours

pytestmark = pytest.mark.postgres


def nothing_was_opened(fleet: Any, charges: int) -> None:
    assert fleet.sql("SELECT 1 FROM fleet.round") == []
    assert list((fleet.core.folder / "keys").iterdir()) == []
    assert Ledger(fleet.book).verify().n_charges == charges


def test_a_period_from_charge_to_release(fleet: Any, new_address: Callable[[], str]) -> None:
    fleet.open_account(new_address())
    door = fleet.door()
    task = door.apply(written())
    for number in range(2):
        descriptor = door.open_round(task.id, number)
        assert door.open_round(task.id, number) == descriptor
        assert upload(door, task, cut(reports(task, descriptor), 100), number)
        door.close(task.id, number)
        (release,) = door.step()
        assert counts(release) == truth(task, number)
        assert "mail" in counts(release)
        assert "one device of 'phones'" in release.guarantee
        assert door.shown(task.id, number).to_bytes() == release.to_bytes()
    assert door.step() == []
    fleet.is_in_order(task, 2)
    text = statement(Ledger(fleet.book), ACCOUNT)
    assert "fleet by top_app" in text
    assert "2 rounds" in text


def test_an_account_that_cannot_pay_opens_nothing(fleet: Any) -> None:
    door = fleet.door()
    with pytest.raises(BudgetError, match="Nothing was read and nothing was charged"):
        door.apply(written(spend={"account": ACCOUNT, "epsilon": 2}))
    assert fleet.sql("SELECT 1 FROM fleet.task") == []
    nothing_was_opened(fleet, 0)
    # One that can pay once does not pay for a second task.
    door.apply(written())
    with pytest.raises(BudgetError):
        door.apply(written(task="another"))
    assert len(fleet.sql("SELECT 1 FROM fleet.task")) == 1
    nothing_was_opened(fleet, 1)


def test_other_accounts_and_other_people_are_refused(fleet: Any) -> None:
    book = Ledger(fleet.book)
    book.open_account("rows", Budget(epsilon=3, delta=1e-6))
    covers = ["fleet:tablets"]
    book.open_account("tablets", Budget(epsilon=3, delta=1e-6), Neighbours.REPLACE, covers)
    door = fleet.door()
    with pytest.raises(UsageError, match="add-remove"):
        door.apply(written(spend={"account": "rows", "epsilon": 1}))
    with pytest.raises(LedgerError, match="tablets"):
        door.apply(written(population="tablets"))
    nothing_was_opened(fleet, 0)
    task = door.apply(written())
    assert book.covering(["fleet:phones"]) == {"fleet:phones": ACCOUNT}
    with pytest.raises(UsageError, match="round 2 is not one of them"):
        door.open_round(task.id, 2)
    with pytest.raises(FleetError, match="no round 2"):
        door.store.open_round(Descriptor(task.id, 2, 1, 2, bytes(32)))
    with pytest.raises(UsageError, match="no such task"):
        door.open_round(bytes(32), 0)
    with pytest.raises(UsageError, match="never opened"):
        door.close(task.id, 0)
    nothing_was_opened(fleet, 1)


def test_a_task_is_charged_once_and_is_never_changed(fleet: Any) -> None:
    task = fleet.door().apply(written())
    assert fleet.door().apply(written()).id == task.id
    with pytest.raises(KeyReusedError):
        fleet.door().apply(written(purpose="something else"))
    assert len(fleet.sql("SELECT 1 FROM fleet.task")) == 1
    nothing_was_opened(fleet, 1)


def test_a_task_that_was_not_paid_for_is_never_opened(fleet: Any) -> None:
    """Rows of the database are written by others too; the ledger says what was paid."""
    door = fleet.door()
    paid = door.apply(written())
    terms = paid.terms
    more = Terms(terms.rate * 2, terms.threshold, terms.rho, terms.delta, terms.neighbours)
    for forged in (Task(paid.file, more), Task(written(task="another"), terms)):
        assert door.store.apply(forged, ACCOUNT, 3)
        with pytest.raises(LedgerError):
            door.open_round(forged.id, 0)
    fleet.sql("UPDATE fleet.task SET entry = 2 WHERE id = %s", paid.id)
    with pytest.raises(LedgerError, match="did not pay"):
        door.open_round(paid.id, 0)
    nothing_was_opened(fleet, 1)


def test_a_round_is_counted_only_if_the_ledger_says_that_it_was_paid_for(fleet: Any) -> None:
    door, _ = begun(fleet)
    fleet.sql("UPDATE fleet.task SET entry = 2")
    with pytest.raises(LedgerError, match="did not pay"):
        door.step()
    assert not list((fleet.core.folder / "keys").glob("*.reports")), "the core was asked"
    assert Ledger(fleet.book).verify().parts == {}


def begun(fleet: Any, said: Any = SAID, lease: float = 60.0) -> tuple[Any, Task]:
    """A closed round of these answers."""
    door = fleet.door(lease)
    task = door.apply(written())
    descriptor = door.open_round(task.id, 0)
    if said:
        assert upload(door, task, cut(reports(task, descriptor, said), 50))
    door.close(task.id, 0)
    return door, task


@pytest.mark.parametrize("said", [[], ["mail"], [None] * 3], ids=["none", "one", "abstentions"])
def test_a_round_that_shows_nothing_is_like_any_other(fleet: Any, said: list[Any]) -> None:
    door, task = begun(fleet, said)
    (release,) = door.step()
    assert counts(release) == {}
    fleet.is_in_order(task, 1)
    # What is said of it does not depend on what was sent.
    assert not {str(len(said)), "responders", "sampled reports"} & set(release.facts.stated)
    assert release.facts.notes == door.shown(task.id, 0).facts.notes


def test_two_rounds_with_other_answers_differ_in_their_rows_alone(fleet: Any) -> None:
    door = fleet.door()
    task = door.apply(written())
    found = []
    for number, said in enumerate((["mail"] * 300, ["mail"] * 300 + ["maps"] * 4)):
        descriptor = door.open_round(task.id, number)
        upload(door, task, cut(reports(task, descriptor, said), 50), number)
        door.close(task.id, number)
        found += door.step()
    one, other = (asdict(release.facts) for release in found)
    notes = zip(one.pop("notes"), other.pop("notes"), strict=True)
    # The second says which round it is.
    assert [a == b for a, b in notes] == [True, False, True, True]
    assert one == other


def test_a_report_after_the_close_is_refused_and_not_counted(fleet: Any) -> None:
    door = fleet.door()
    task = door.apply(written())
    descriptor = door.open_round(task.id, 0)
    sealed = reports(task, descriptor, ["mail"] * 300)
    assert upload(door, task, cut(sealed[:200], 50))
    # Its time is over, and nobody closed it so far.
    fleet.sql("UPDATE fleet.round SET closes = clock_timestamp()")
    assert not upload(door, task, [sealed[200]])
    fleet.sql("UPDATE fleet.round SET closes = clock_timestamp() + interval '1 hour'")
    door.close(task.id, 0)
    assert not upload(door, task, [sealed[201]])
    (release,) = door.step()
    assert not upload(door, task, [sealed[202]])
    assert counts(release) == truth(task, 0, ["mail"] * 200)
    fleet.is_in_order(task, 1)


def test_what_is_due_is_closed_and_what_is_not_is_left(fleet: Any) -> None:
    door = fleet.door()
    task = door.apply(written())
    for number in range(2):
        door.open_round(task.id, number)
    fleet.sql("UPDATE fleet.round SET closes = clock_timestamp() WHERE number = 1")
    assert len(door.step()) == 1
    assert fleet.states() == [("open", False), ("released", True)]


def test_a_round_that_was_called_off_shows_nothing_and_stays_charged(fleet: Any) -> None:
    door = fleet.door()
    task = door.apply(written())
    descriptor = door.open_round(task.id, 0)
    upload(door, task, cut(reports(task, descriptor), 50))
    assert door.cancel(task.id, 0)
    assert fleet.states() == [("cancelled", True)]
    assert door.step() == []
    assert door.shown(task.id, 0) is None
    with pytest.raises(FleetError, match="is over"):
        door.cancel(task.id, 0)
    fleet.is_in_order(task, 0)


def test_a_round_that_is_being_counted_or_was_shown_is_not_called_off(fleet: Any) -> None:
    door, task = begun(fleet, lease=0.1)
    held = door.store.lease(60)
    with pytest.raises(FleetError, match="being counted"):
        door.cancel(task.id, 0)
    # A driver that stored what it counted, and went away before it said so.
    with Core(fleet.core.place) as core:
        posts = [body for _, body in door.store.page(held.id, b"")]
        assert core.count(task, held.descriptor, posts).counts
    door.ledger.store_part(held.entry, 0, b"shown")
    fleet.sql("UPDATE fleet.round SET leased_until = '-infinity'")
    assert not door.cancel(task.id, 0)
    fleet.is_in_order(task, 1)


def test_a_database_that_is_put_back_neither_opens_nor_shows_anew(fleet: Any) -> None:
    door = fleet.door()
    task = door.apply(written())
    before_opening = fleet.save()
    door = fleet.door()
    descriptor = door.open_round(task.id, 0)
    sealed = cut(reports(task, descriptor), 50)
    upload(door, task, sealed[:8])
    fleet.server.sql(f"ALTER DATABASE {before_opening} RENAME TO {before_opening}_0")
    half_way = fleet.save()
    door = fleet.door()
    upload(door, task, sealed[8:])
    door.close(task.id, 0)
    (release,) = door.step()
    assert counts(release) == truth(task)
    fleet.is_in_order(task, 1)
    # Half of the reports are there, and the round is open: what is shown is what was.
    fleet.put_back(half_way)
    again = fleet.door()
    again.close(task.id, 0)
    assert [one.to_bytes() for one in again.step()] == [release.to_bytes()]
    fleet.put_back(f"{before_opening}_0")
    with pytest.raises(LedgerError, match="was put back"):
        fleet.door().open_round(task.id, 0)
    assert Ledger(fleet.book).verify().n_charges == 1
    # Also where the ledger has forgotten: the key is gone.
    with Core(fleet.core.place) as core, pytest.raises(UsageError, match="destroyed"):
        core.make(task, 0)


def test_a_ledger_that_is_put_back_is_refused_before_anything_is_asked(fleet: Any) -> None:
    saved = Path(fleet.book).read_bytes()
    begun(fleet)
    for file in Path(fleet.book).parent.glob("ledger.db*"):
        file.unlink()
    Path(fleet.book).write_bytes(saved)
    with pytest.raises(HeadcountError):
        fleet.door().step()
    assert not list((fleet.core.folder / "keys").glob("*.reports"))


def test_no_key_and_no_answer_is_in_the_database_the_ledger_or_a_message(
    fleet: Any, caplog: pytest.LogCaptureFixture
) -> None:
    door = fleet.door()
    task = door.apply(written())
    descriptor = door.open_round(task.id, 0)
    key = fleet.core.key_bytes(task, 0)
    upload(door, task, cut(reports(task, descriptor), 50))
    door.close(task.id, 0)

    def everything() -> bytes:
        dumped = subprocess.run(
            ["/usr/lib/postgresql/15/bin/pg_dump", fleet.address], capture_output=True, check=True
        ).stdout
        files = [path.read_bytes() for path in fleet.folder.rglob("*") if path.is_file()]
        return b"".join([dumped, *files, caplog.text.encode()])

    assert b"posted_1" in everything()
    before = everything()
    door.step()
    for found in (before, everything()):
        assert CANARY.encode() not in found
        assert CANARY.encode().hex().encode() not in found
        assert key not in found
        assert key.hex().encode() not in found
    assert fleet.core.key_bytes(task, 0) == b""


def test_a_key_that_is_not_the_rounds_own_is_refused(fleet: Any) -> None:
    """A descriptor that was exchanged in the database: devices would seal for somebody else."""
    door, task = begun(fleet)
    fleet.sql(
        "UPDATE fleet.round SET descriptor = "
        "overlay(descriptor PLACING decode(repeat('01', 32), 'hex') FROM 57)"
    )
    with pytest.raises(UsageError, match="another round"):
        door.step()
    assert Ledger(fleet.book).verify().parts == {}
    assert door.shown(task.id, 0) is None
