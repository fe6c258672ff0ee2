"""Stories of a fleet that chance makes up: whatever happens, nothing is lost and nothing twice.

Real servers over real sockets on a real PostgreSQL, with a core in a process of its own. Everything
may be killed, frozen, cut short, put back from a backup or told again in other words. In the end
each answer whose reports were all acknowledged is shown with its number, and no answer with another
one.
"""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.service.fleet_world import ROUNDS, Bundle, World, parts, wait_for
from tests.service.fleets import counts
from tests.service.test_fleet_drivers import stopped_after

from headcount.errors import HeadcountError, LedgerError, UsageError
from headcount.fleet import core
from headcount.fleet.task import Task
from headcount.fleet.wire import Descriptor
from headcount.ledger.ledger import Ledger
from headcount.privacy.spend import Zcdp
from headcount.results.release import Release

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

SIZES = st.sampled_from([1, 2, 3, 7, 50])
STEPS = st.sampled_from(
    ["closed", "leased", "paged", "counted", "stored", "finished", "key destroyed", "ended"]
)
SELDOM = st.sampled_from([False] * 7 + [True])
TRIES = 30


class Story(RuleBasedStateMachine):
    """Something happens; then something else."""

    world: ClassVar[World]
    told: ClassVar[dict[str, int]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.world.begin()
        self.saved: list[Any] = []
        self.books: list[int] = []
        self.copies: list[sqlite3.Connection] = []
        self.note("stories")

    def note(self, what: str, n: int = 1) -> None:
        self.told[what] = self.told.get(what, 0) + n

    @initialize()
    def begin(self) -> None:
        self.apply()
        self.open(0, 0)

    # What people do

    @precondition(lambda self: len(self.world.tasks) < 2)
    @rule()
    def apply(self) -> None:
        task = self.world.door.apply(self.world.written())
        if task.id not in [one.id for one in self.world.tasks]:
            self.world.tasks.append(task)

    @rule(which=st.integers(0, 1), number=st.integers(0, ROUNDS - 1))
    def open(self, which: int, number: int) -> None:
        world = self.world
        if which >= len(world.tasks):
            return
        task = world.tasks[which]
        try:
            world.described[task.id, number] = world.door.open_round(task.id, number)
        except (UsageError, LedgerError):
            # It was shown or called off, and the database that was put back knows nothing of it.
            assert world.was_put_back

    @precondition(lambda self: self.world.described)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        described = self.one(data)
        self.world.door.close(described.task, described.round)

    @precondition(lambda self: self.world.described)
    @rule(data=st.data())
    def its_time_goes_by(self, data: st.DataObject) -> None:
        """The clock jumps past the end of a round that nobody closed."""
        described = self.one(data)
        self.world.sql(
            "UPDATE fleet.round SET closes = clock_timestamp() - interval '1 second' WHERE "
            f"task = '\\x{described.task.hex()}' AND number = {described.round}"
        )

    # What devices and relays send

    def one(self, data: st.DataObject) -> Descriptor:
        return data.draw(st.sampled_from(list(self.world.described.values())))

    def task_of(self, described: Descriptor) -> Task:
        return next(one for one in self.world.tasks if one.id == described.task)

    def new_bundle(self, data: st.DataObject) -> Bundle:
        described = self.one(data)
        return self.world.bundle(self.task_of(described), described)

    def is_open(self, described: Descriptor) -> bool:
        found = self.world.store.round(described.task, described.round)
        is_it = found is not None and found.descriptor == described and found.state == "open"
        return is_it and any(one.descriptor == described for one in self.world.store.open_rounds())

    def post(self, described: Descriptor, body: bytes, token: str | None = None) -> None:
        was_open = self.is_open(described)
        for _ in range(TRIES):
            # A machine that is busy may answer that it is; then it is sent again, as devices do.
            status = self.world.post(described, body, token)
            if status not in (None, 503):
                break
        # Late, or taken: nothing else happens to one who is not cut off.
        assert status == (204 if was_open else 409), (status, was_open)
        self.note("taken" if was_open else "late", len(body) // 320)

    @precondition(lambda self: self.world.described)
    @rule(data=st.data(), size=SIZES)
    def upload(self, data: st.DataObject, size: int) -> None:
        bundle = self.new_bundle(data)
        for body in cut(bundle.sealed, size):
            self.post(bundle.described, body)

    @precondition(lambda self: self.world.described)
    @rule(data=st.data())
    def upload_past_the_relay(self, data: st.DataObject) -> None:
        bundle = self.new_bundle(data)
        for report in bundle.sealed:
            token = self.world.token()
            for _ in range(data.draw(st.sampled_from([1, 1, 2]))):
                self.post(bundle.described, report, token)

    @precondition(lambda self: self.world.bundles)
    @rule(data=st.data(), size=SIZES)
    def again_in_other_posts(self, data: st.DataObject, size: int) -> None:
        """All that was ever sent for one round, also what nobody was told of, in another order."""
        described = data.draw(st.sampled_from(self.world.bundles)).described
        mine = [b for b in self.world.bundles if b.described == described]
        for body in cut(data.draw(st.permutations([r for b in mine for r in b.sealed])), size):
            self.post(described, body)

    @precondition(lambda self: self.world.bundles)
    @rule(data=st.data(), how=st.sampled_from(["renamed", "moved", "flipped", "noise", "shifted"]))
    def odd_bytes(self, data: st.DataObject, how: str) -> None:
        """Under other names, in another round, with a bit turned, of chance, and cut askew."""
        bundle, described = data.draw(st.sampled_from(self.world.bundles)), self.one(data)
        sealed = bundle.sealed
        odd = {
            "renamed": [os.urandom(16) + one[16:] for one in sealed],
            "moved": sealed if described != bundle.described else [],
            "flipped": [one[:-1] + bytes([one[-1] ^ 1]) for one in sealed],
            "noise": [os.urandom(320) for _ in sealed],
            "shifted": parts(b"".join(sealed)[160:] + bytes(160)),
        }[how]
        if odd:
            self.post(described if how == "moved" else bundle.described, b"".join(odd))

    @precondition(lambda self: self.world.described)
    @rule(data=st.data(), share=st.sampled_from([0.1, 0.5, 0.9, 1.0]))
    def cut_off(self, data: st.DataObject, share: float) -> None:
        """A request that does not come whole, or whose answer nobody waits for."""
        bundle = self.new_bundle(data)
        body = b"".join(bundle.sealed)
        self.world.cut_short(bundle.described, body, int(share * (len(body) + 200)))

    # What befalls servers

    @precondition(lambda self: self.world.described)
    @rule(data=st.data(), who=st.sampled_from(["ingest", "relay"]), wait=st.floats(0, 0.02))
    def kill_while_posting(self, data: st.DataObject, who: str, wait: float) -> None:
        server = getattr(self.world, who)
        with self.posting(data, who == "relay"):
            time.sleep(wait)
            server.kill()
        server.start()

    @precondition(lambda self: self.world.described)
    @rule(data=st.data(), seldom=SELDOM)
    def the_database_stops(self, data: st.DataObject, seldom: bool) -> None:
        if seldom:
            self.note("crashes")
            with self.posting(data, False):
                self.world.crash_database()

    def posting(self, data: st.DataObject, past_relay: bool) -> Any:
        bundle = self.new_bundle(data)
        tokens = [self.world.token() if past_relay else None for _ in bundle.sealed]

        def post() -> None:
            for report, token in zip(bundle.sealed, tokens, strict=True):
                self.world.post(bundle.described, report, token)

        return meanwhile(post)

    # What befalls drivers

    def driver(self, edit: Callable[[], None] = lambda: None) -> int:
        """A driver in a process of its own, which closes, counts and tidies up once."""

        def drive() -> None:
            edit()
            try:
                self.world.new_door().step()
            except HeadcountError:
                os._exit(3)

        return int(self.world.clients.forked(drive))

    @rule()
    def drive(self) -> None:
        try:
            self.world.door.step()
        except UsageError:
            # Counted before a backup was put back: a round is counted from one set of reports.
            assert self.world.was_put_back

    @rule(step=STEPS)
    def kill_a_driver(self, step: str) -> None:
        wait_for(self.driver(lambda: stopped_after(step, signal.SIGKILL)))
        self.world.pass_leases()

    @rule(step=STEPS)
    def freeze_a_driver(self, step: str) -> None:
        """One stands still past its lease, another one does its work, and it wakes up."""
        child = self.driver(lambda: stopped_after(step, signal.SIGSTOP))
        if os.WIFSTOPPED(wait_for(child)):
            self.note("frozen")
            self.world.pass_leases()
            self.drive()
            os.kill(child, signal.SIGCONT)
            wait_for(child)

    @rule()
    def two_drivers(self) -> None:
        children = [self.driver(), self.driver()]
        assert all(os.WIFEXITED(wait_for(one)) for one in children)
        self.world.pass_leases()

    @rule(wait=st.floats(0, 0.1))
    def kill_the_core(self, wait: float) -> None:
        child = self.driver()
        time.sleep(wait)
        self.world.core.kill()
        self.world.core.start()
        wait_for(child)
        self.world.pass_leases()

    @rule(room=st.sampled_from([0, 40_000, 90_000]))
    def the_disk_is_full(self, room: int) -> None:
        """A driver that can write no further than so far into any file, as the ledger's."""

        def full() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))

        assert os.WIFEXITED(wait_for(self.driver(full)))
        self.world.pass_leases()

    # What befalls backups

    @rule()
    def back_up(self) -> None:
        self.saved.append(self.world.save())
        self.books.append(len(self.journal()))
        self.copies.append(self.copy_of_book())

    @precondition(lambda self: self.saved)
    @rule(data=st.data())
    def put_the_database_back(self, data: st.DataObject) -> None:
        self.look()
        self.note("put back")
        self.world.put_back(data.draw(st.sampled_from(self.saved)))

    @precondition(lambda self: self.books)
    @rule(data=st.data())
    def put_the_ledger_back(self, data: st.DataObject) -> None:
        """An older ledger is refused by all who saw more of it; then the right one is found."""
        which = data.draw(st.integers(0, len(self.books) - 1))
        n_now = len(self.journal())
        if self.books[which] == n_now:
            return
        newest = self.copy_of_book()
        self.write_book(self.copies[which])
        with pytest.raises(LedgerError):
            Ledger(self.world.book, heads=self.world.heads).verify()
        with pytest.raises(LedgerError):
            self.world.new_door().apply(self.world.written())
        wait_for(self.driver())
        self.world.pass_leases()
        self.write_book(newest)
        assert len(self.journal()) == n_now, "something was written to it"
        self.note("ledgers refused")

    def copy_of_book(self) -> sqlite3.Connection:
        """With what is in the log beside the file, too."""
        made = sqlite3.connect(":memory:")
        with closing(sqlite3.connect(self.world.book)) as raw:
            raw.backup(made)
        return made

    def write_book(self, copied: sqlite3.Connection) -> None:
        with closing(sqlite3.connect(self.world.book)) as raw:
            copied.backup(raw)

    def journal(self) -> list[Any]:
        return Ledger(self.world.book, heads=self.world.heads).journal()

    # What must be true

    def look(self) -> None:
        """What was shown once is shown for ever."""
        world = self.world
        for task in world.tasks:
            for number in range(ROUNDS):
                found = world.part(task.id, number)
                if found is not None:
                    assert world.first_shown.setdefault((task.id, number), found) == found

    def teardown(self) -> None:
        world = self.world
        self.look()
        self.finish()
        self.look()
        ledger = Ledger(world.book, heads=world.heads)
        history = ledger.verify()
        parts_ = {}
        for entry in ledger.entries("app-users", "fleet"):
            for number in ledger.stored_parts(entry.sequence):
                parts_[entry.sequence, number] = ledger.stored_part(entry.sequence, number)
        assert len(history.parts) == len(parts_)
        entries = ledger.entries("app-users", "fleet")
        spent = sum((one.spend.rho for one in entries), start=Zcdp(0).rho)
        assert ledger.account("app-users").spent.rho == spent
        assert len({one.about["task"] for one in entries}) == len(entries) == history.n_charges
        assert world.partitions() == []
        for payload in parts_.values():
            assert payload is not None
            self.check(counts(Release.from_bytes(payload)))

    def finish(self) -> None:
        """Everything is well again, and every round comes to its end."""
        world = self.world
        for described in world.described.values():
            if self.is_open(described):
                bundle = world.bundle(self.task_of(described), described)
                self.post(described, b"".join(bundle.sealed))
            world.door.close(described.task, described.round)
        for _ in range(2 * ROUNDS + 2):
            world.pass_leases()
            with meaning_put_back(world):
                world.door.step()
        world.pass_leases()
        for described in world.described.values():
            found = world.store.round(described.task, described.round)
            if found is not None and found.state == "closing":
                assert world.was_put_back, "a round cannot be counted"
                world.door.cancel(described.task, described.round)
        world.door.tidy()
        for (name, number), described in world.described.items():
            found = world.store.round(name, number)
            assert found is not None
            assert found.has_ended
            assert (found.state == "released") == (world.part(name, number) is not None)
            self.note(found.state)
            if found.state == "released":
                self.complete(described, world.part(name, number) or b"")

    def complete(self, described: Descriptor, payload: bytes) -> None:
        shown = counts(Release.from_bytes(payload))
        for bundle in self.world.bundles:
            if bundle.described == described and set(bundle.sealed) <= self.world.acked:
                assert bundle.answer in shown, "a report that was acknowledged is lost"
                self.note("shown")

    def check(self, shown: dict[str, int]) -> None:
        known = {one.answer: one for one in self.world.bundles}
        for answer, number in shown.items():
            bundle = known[answer]
            terms = self.task_of(bundle.described).terms
            assert number == round(terms.threshold / float(terms.rate)), "a report counted twice"
            assert set(bundle.sealed) <= bundle.sent, "a report that nobody sent"


class meaning_put_back:
    """What a core says of a round that it counted before from other reports."""

    def __init__(self, world: World) -> None:
        self.world = world

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, at: Any) -> bool:
        return kind is not None and issubclass(kind, UsageError) and self.world.was_put_back


class meanwhile:
    """Do something in a thread while a block lasts."""

    def __init__(self, job: Callable[[], None]) -> None:
        self.thread = threading.Thread(target=job)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.thread.join()


def cut(sealed: list[bytes], size: int) -> list[bytes]:
    return [b"".join(sealed[i : i + size]) for i in range(0, len(sealed), size)]


@pytest.fixture
def worlds(
    server_of_its_own: Any, clients: ModuleType, tmp_path: Path
) -> Iterator[Callable[..., World]]:
    made: list[World] = []
    with tempfile.TemporaryDirectory(prefix="hc-") as folder:

        def make(**given: Any) -> World:
            place = Path(folder) / str(len(made))
            place.mkdir()
            made.append(World(server_of_its_own, clients, place, **given))
            return made[-1]

        yield make
        for one in made:
            one.end()


def run(world: World, stories: int, steps: int) -> float:
    """Stories a second."""
    Story.world, Story.told = world, {}
    begun = time.monotonic()
    run_state_machine_as_test(
        Story,
        settings=settings(
            max_examples=stories,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
            # A story is told as it was: to make it shorter would take a hundred others.
            phases=[Phase.generate],
        ),
    )
    return Story.told["stories"] / (time.monotonic() - begun)


@pytest.mark.timeout(100_000 if os.environ.get("HEADCOUNT_LONG") == "1" else 1_200)
def test_whatever_happens_nothing_is_lost_and_nothing_counted_twice(
    worlds: Callable[..., World], long: bool, record_property: Callable[[str, object], None]
) -> None:
    n = int(os.environ.get("HEADCOUNT_STORIES", 10_000 if long else 20))
    rate = run(worlds(), n, 30 if long else 15)
    record_property("stories", Story.told)
    print(f"{rate:.2f} stories a second: {Story.told}")
    assert Story.told["shown"] >= n / 4, "hardly anything was counted"


def count_each_time() -> None:
    """A core that forgets which reports it counted."""

    class Forgetful(set[bytes]):
        def add(self, _: bytes) -> None:
            pass

    core.set = Forgetful  # type: ignore[attr-defined]


def test_a_core_that_counts_a_report_twice_is_found_out(worlds: Callable[..., World]) -> None:
    with pytest.raises(AssertionError, match="counted twice"):
        run(worlds(edit=count_each_time), 200, 15)


def test_an_ingest_that_acknowledges_what_is_late_is_found_out(
    worlds: Callable[..., World],
) -> None:
    world = worlds()
    world.sql(
        "CREATE OR REPLACE FUNCTION fleet.take(round_ bigint, bodies bytea[]) RETURNS boolean "
        "LANGUAGE sql AS 'SELECT true'"
    )
    with pytest.raises(AssertionError):
        run(world, 200, 15)
