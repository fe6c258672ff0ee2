"""Devices as they are run: killed anywhere, run at once, and counted by a core on PostgreSQL."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.service.fleets import counts, written
from tests.unit.fleet.devices import round_of, secret
from tests.unit.fleet.lines import OWNER, POLICY, PURPOSE, Line, asked, device, opened, said

from headcount.errors import FleetError
from headcount.fleet import Device, Offer, Policy
from headcount.fleet import device_store as stores
from headcount.fleet.answering import kept
from headcount.fleet.device_store import DeviceStore
from headcount.fleet.door import Door
from headcount.fleet.task import Task
from headcount.fleet.wire import descriptor_from
from headcount.ledger.ledger import Ledger
from headcount.trials.seam import swapped

TASK = asked()
ROUND = round_of(TASK)
STEPS: dict[str, tuple[Any, str]] = {
    "secret made": (stores, "make_secret"),
    "secret drafted": (os, "link"),
    "paid": (DeviceStore, "pay"),
    "answered": (Device, "_sealed"),
    "kept": (DeviceStore, "keep"),
    "posted": (Line, "post"),
    "noted": (DeviceStore, "taken"),
    "heard": (DeviceStore, "hear"),
}
"""What a device does in a round, in order: the name of the step, and who does it."""


def in_child(job: Callable[[], Any]) -> int:
    child = os.fork()
    if child == 0:
        try:
            job()
        finally:
            os._exit(0)
    return child


def say_another(folder: Path) -> Callable[[], str]:
    """An answer that is another one each time that it is asked for, in whatever process."""

    def say() -> str:
        with (folder / "asked").open("ab") as file:
            file.write(b"x")
            return f"say-{file.tell()}-{os.getpid()}"

    return say


def killed_at(step: str, when: str, job: Callable[[], Any]) -> bool:
    """Run a job in a process that is killed at a step; whether it came to it."""
    owner, name = STEPS[step]
    done: Callable[..., Any] = getattr(owner, name)

    def stopping(*given: Any, **named: Any) -> Any:
        if when == "after":
            done(*given, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    def run() -> None:
        setattr(owner, name, stopping)
        job()

    return os.WIFSIGNALED(os.waitpid(in_child(run), 0)[1])


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_a_device_that_is_killed_anywhere_sends_one_report(
    tmp_path: Path, step: str, when: str
) -> None:
    line = Line(tmp_path, (TASK, ROUND))
    one = device(tmp_path, line, say_another(tmp_path))
    for i in range(2):
        # A step that was done is not done again.
        assert killed_at(step, when, one.run_once) or i == 1
        if line.sent():
            # It is never on its way before it is paid for and kept.
            store = DeviceStore(tmp_path / "device")
            assert len(store.paid()) == 1
            assert len(store.answered(TASK.id)) == 1
    again = device(tmp_path, line, say_another(tmp_path))
    again.run_once()
    last = again.run_once()
    assert len(set(line.sent())) == 1
    assert last == []
    assert "sent and taken" in again.explain()
    # Its coin is that of the one secret there is.
    (one_report,) = set(line.sent())
    falls = kept(TASK, 0, (tmp_path / "device" / "secret").read_bytes())[0]
    assert (opened(ROUND, one_report) is not None) == falls


def test_a_device_that_is_killed_at_any_moment_sends_one_report_a_round(tmp_path: Path) -> None:
    line = Line(tmp_path)
    one = device(tmp_path, line, say_another(tmp_path))
    for number in range(3):
        line.offers = [(TASK, round_of(TASK, number))]
        for i in range(8):
            child = in_child(one.run_once)
            time.sleep(0.012 * i)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        one.run_once()
        assert len(set(line.sent(number))) == 1


@contextmanager
def unlocked(*_: Any, **__: Any) -> Iterator[bool]:
    yield True


@pytest.mark.parametrize("is_locked", [True, False], ids=["locked", "without the lock"])
def test_processes_at_once_send_one_report(tmp_path: Path, is_locked: bool) -> None:
    """The lock spares work; that there is one report is the doing of the file alone."""
    line = Line(tmp_path, (TASK, ROUND))
    one = device(tmp_path, line, say_another(tmp_path))
    go, started = os.pipe()

    def run() -> None:
        os.read(go, 1)
        if not is_locked:
            DeviceStore.locked = unlocked  # type: ignore[method-assign]
        one.run_once()

    children = [in_child(run) for _ in range(5)]
    os.write(started, b"x" * 5)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    one.run_once()
    assert len(set(line.sent())) == 1
    if is_locked:
        assert (tmp_path / "asked").stat().st_size == 1


def test_a_second_run_does_not_wait_for_the_first(tmp_path: Path) -> None:
    line = Line(tmp_path, (TASK, ROUND))
    inside, goes_on = threading.Event(), threading.Event()

    def say() -> str:
        inside.set()
        goes_on.wait(60)
        return "mail"

    first = device(tmp_path, line, say)
    running = threading.Thread(target=first.run_once)
    running.start()
    assert inside.wait(60)
    assert said(device(tmp_path, line, agreed=False).run_once()) == ["another run is under way"]
    goes_on.set()
    running.join()
    assert len(line.sent()) == 1


def sealed_over(store: Any, round_: Any, sealed: Any, now: int) -> Any:
    with store._writing() as connection:
        connection.execute("DELETE FROM answered")
    return KEEP(store, round_, sealed, now)


KEEP = DeviceStore.keep


def test_a_report_in_the_place_of_another_is_noticed(tmp_path: Path) -> None:
    """A mutant: whoever comes second seals over what the first one kept."""
    with (
        swapped(DeviceStore, "keep", sealed_over),
        swapped(DeviceStore, "kept", lambda *_: []),
        swapped(DeviceStore, "waiting", lambda *_: []),
        pytest.raises(AssertionError, match="== 1"),
    ):
        test_a_device_that_is_killed_anywhere_sends_one_report(tmp_path, "noted", "before")


@pytest.mark.parametrize("step", ["executescript", "pwrite", "unlink"])
def test_forgetting_that_is_cut_short_is_forgotten_all_the_same(tmp_path: Path, step: str) -> None:
    line = Line(tmp_path, (TASK, ROUND))
    line.fails = OSError()
    one = device(tmp_path, line)
    one.run_once()

    def cut_short() -> None:
        def stopping(*_: Any, **__: Any) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        if step == "executescript":
            # Between the file and the secret.
            setattr(stores, "destroy_secret", stopping)  # noqa: B010
        else:
            setattr(os if step == "pwrite" else Path, step, stopping)
        one.forget()

    _, status = os.waitpid(in_child(cut_short), 0)
    assert os.WIFSIGNALED(status)
    line.fails = None
    line.offers = [(TASK, round_of(TASK, 1))]
    again = device(tmp_path, line)
    assert "forgot" in said(again.run_once())[0]
    assert (len(line.sent()), line.sent(1)) == (1, [])
    again.forget()
    assert not (tmp_path / "device" / "secret").exists()


# Counted by a core


class Straight:
    """From a device into the fleet's database, as an ingest would."""

    def __init__(self, door: Door, task: Task, number: int) -> None:
        self.store, self.task, self.number = door.store, task, number
        self.lost = 0

    def descriptors(self) -> Iterator[Offer]:
        found = self.store.round(self.task.id, self.number)
        if found is not None and found.state == "open":
            yield Offer(found.task.spelled, found.descriptor.spelled)

    def post(self, descriptor: bytes, report: bytes) -> bool:
        asked_for = descriptor_from(descriptor)
        found = self.store.round(asked_for.task, asked_for.round)
        assert found is not None
        taken = self.store.take(found.id, [report])
        if self.lost:
            # It is there, and the device is not told.
            self.lost -= 1
            raise FleetError("lost")
        return taken


def saying(answer: str | None) -> Callable[[], str | None]:
    return lambda: answer


@pytest.mark.postgres
def test_what_devices_say_is_counted_and_equals_the_sampled_truth(
    fleet: Any, tmp_path: Path
) -> None:
    """Each with a folder and a budget of its own; every third hears nothing of its first post."""
    fleet.open_account(tmp_path / "large.db", epsilon=4.1)
    door = fleet.door()
    task = door.apply(written(spend={"account": "app-users", "epsilon": 4}))
    policy = Policy(OWNER, max_epsilon=5, max_rate=0.5)
    # Coins hang on the day; so many that too few fall well once in ten thousand days.
    answers = ["mail"] * 95 + ["maps"] * 2 + [None] * 3
    for number in range(2):
        door.open_round(task.id, number)
        line = Straight(door, task, number)
        # From 1 on: a secret of zeros is none, and the device would make one of its own.
        for i, answer in enumerate(answers, 1):
            folder = tmp_path / f"device-{i}"
            if not folder.exists():
                folder.mkdir(mode=0o700)
                (folder / "secret").write_bytes(secret(i))
            one = Device(line, folder, policy)
            one.answers("top_app")(saying(answer))
            one.consent(PURPOSE)
            line.lost = 1 if i % 3 == 0 else 0
            expected = "sealed, and will be sent again" if line.lost else "sent"
            assert said(one.run_once()) == [expected]
            line.lost = 0
            if i % 3 < 2:
                assert said(one.run_once()) == (["sent"] if i % 3 == 0 else [])
        door.close(task.id, number)
        late = Device(line, tmp_path / "late", policy)
        late.answers("top_app")(lambda: "mail")
        late.consent(PURPOSE)
        assert late.run_once() == []
        (release,) = door.step()
        true_counts = Counter(
            answer
            for i, answer in enumerate(answers, 1)
            if answer is not None and kept(task, number, secret(i))[0]
        )
        rate, least = float(task.terms.rate), task.terms.threshold
        assert true_counts["mail"] >= least, "nothing to compare"
        assert counts(release) == {"mail": round(true_counts["mail"] / rate)}
    fleet.is_in_order(task, 2)
    # The device's own sum is the price that the account was charged, once for both rounds.
    (paid,) = DeviceStore(tmp_path / "device-1").paid()
    assert paid.task == task.id
    assert (paid.spend.rho, paid.spend.delta) == (task.terms.rho, task.terms.delta)
    assert Ledger(fleet.book).verify().n_charges == 1


@pytest.mark.postgres
def test_the_price_that_a_plan_states_is_one_that_a_device_believes(fleet: Any) -> None:
    door = fleet.door()
    task = door.apply(written())
    round_ = door.open_round(task.id, 0)
    offer = Offer(task.spelled, round_.spelled)
    assert POLICY.refusal(offer, task, round_, round_.opens) is None
    assert POLICY.refusal(offer, task, round_, round_.closes) is not None
