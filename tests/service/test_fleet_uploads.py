"""Reports on their way in: in groups, twice, in other cuts, at the last moment, and malformed."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import psycopg
import pytest
from tests.service.fleets import counts, cut, reports, round_id, truth, upload, written

from headcount.errors import FleetError, UsageError
from headcount.fleet import intake
from headcount.fleet.intake import Intake
from headcount.fleet.store import FleetStore

pytestmark = pytest.mark.postgres
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = "


def opened(fleet: Any, number: int = 0) -> tuple[Any, Any, Any]:
    door = fleet.door()
    task = door.apply(written())
    return door, task, door.open_round(task.id, number)


def shown(door: Any, task: Any) -> dict[str, int]:
    door.close(task.id, 0)
    (release,) = door.step()
    return counts(release)


@contextmanager
def held(fleet: Any, statement: str) -> Any:
    """Keep a lock of the database while a block lasts."""
    with psycopg.connect(fleet.address) as connection:
        connection.execute(statement)
        yield
        connection.rollback()


def waiters(fleet: Any) -> int:
    return int(fleet.sql(f"{WAITING} '{fleet.database}'")[0][0])


def test_whoever_lets_go_of_a_store_has_no_connection(fleet: Any, clients: ModuleType) -> None:
    """A server that opens one for each request would use up the database."""
    mine = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    ((before,),) = fleet.sql(mine)
    for _ in range(5):
        assert FleetStore(fleet.address).open_rounds() == []
    gc.collect()
    clients.wait_until(lambda: fleet.sql(mine) == [(before,)], 20)


def test_reports_in_three_cuts_and_in_any_order_count_once(fleet: Any) -> None:
    door, task, descriptor = opened(fleet)
    sealed, dice = reports(task, descriptor), random.Random(3)
    for size in (1, 7, 100, len(sealed)):
        for _ in range(2):
            posts = cut(sealed, size)
            dice.shuffle(posts)
            assert upload(door, task, posts)
        dice.shuffle(sealed)
    assert shown(door, task) == truth(task)
    fleet.is_in_order(task, 1)


def test_bytes_of_others_change_nothing(fleet: Any) -> None:
    """Noise, reports of another round, reports under another name, and cut ones put together."""
    door, task, descriptor = opened(fleet)
    other = door.open_round(task.id, 1)
    sealed, dice = reports(task, descriptor), random.Random(4)
    posts = cut(sealed, 50)
    renamed = [dice.randbytes(16) + one[16:] for one in sealed[:100]]
    moved = reports(task, other, ["mail"] * 100, first=5_000)
    flipped = [one[:200] + bytes([one[200] ^ 1]) + one[201:] for one in sealed[:100]]
    noise = [dice.randbytes(320) for _ in range(100)]
    shifted = [(b"".join(sealed[:50])[160:] + bytes(160))]
    assert upload(door, task, [*cut(noise + flipped, 9), *shifted, *cut(renamed + moved, 9)])
    assert upload(door, task, posts)
    assert shown(door, task) == truth(task)


def test_what_is_not_reports_is_refused_here_and_by_the_database(fleet: Any) -> None:
    door, task, _ = opened(fleet)
    number = round_id(door, task)
    for odd in (b"", bytes(319), bytes(321), bytes(320 * 13_108)):
        with pytest.raises(UsageError, match="Nothing was taken"):
            asyncio.run(Intake(door.store).post(number, odd))
        with pytest.raises(FleetError) as refused:
            door.store.take(number, [bytes(320), odd])
        assert refused.value.__context__ is None
    assert fleet.sql("SELECT 1 FROM fleet.posted") == []
    for nowhere in (number + 1, 0, -1):
        assert not door.store.take(nowhere, [bytes(320)])


def at_once(fleet: Any, number: int, posts: Sequence[bytes]) -> tuple[list[Any], int]:
    """Post all at the same time; what each is told, and how often something was written."""
    door = fleet.door()
    calls: list[int] = []
    take = door.store.take

    def noted(number: int, bodies: Sequence[bytes]) -> bool:
        calls.append(len(bodies))
        return bool(take(number, bodies))

    door.store.take = noted

    async def every() -> list[Any]:
        doorway = Intake(door.store)
        waiting = [doorway.post(number, post) for post in posts]
        return await asyncio.gather(*waiting, return_exceptions=True)

    return asyncio.run(every()), len(calls)


def test_those_who_wait_share_one_write(fleet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    door, task, descriptor = opened(fleet)
    sealed = reports(task, descriptor)
    told, calls = at_once(fleet, round_id(door, task), sealed)
    assert set(told) == {True}
    assert calls <= 3
    monkeypatch.setattr(intake, "MOST_GROUP", 320 * 100)
    told, calls = at_once(fleet, round_id(door, task), sealed)
    assert set(told) == {True}
    assert calls >= len(sealed) // 100
    monkeypatch.setattr(intake, "MOST_WAITING", 320 * 600)
    told, _ = at_once(fleet, round_id(door, task), sealed)
    assert told.count(True) == 600
    assert all(isinstance(one, FleetError) for one in told[600:])
    assert shown(door, task) == truth(task)


def test_each_is_told_of_its_own_round(fleet: Any) -> None:
    door, task, descriptor = opened(fleet)
    door.open_round(task.id, 1)
    first, second = round_id(door, task, 0), round_id(door, task, 1)
    door.close(task.id, 1)
    sealed = reports(task, descriptor, ["mail"] * 20)

    async def both() -> list[Any]:
        doorway = Intake(door.store)
        waiting = [doorway.post((first, second)[i % 2], one) for i, one in enumerate(sealed)]
        odd = doorway.post(first, sealed[0])
        task_of = asyncio.ensure_future(odd)
        await asyncio.sleep(0)
        task_of.cancel()
        return await asyncio.gather(*waiting, task_of, return_exceptions=True)

    told = asyncio.run(both())
    assert told[:-1] == [True, False] * 10
    assert isinstance(told[-1], asyncio.CancelledError)
    assert len(fleet.sql("SELECT 1 FROM fleet.posted")) == 10


def test_nobody_is_told_before_it_is_written(fleet: Any, clients: ModuleType) -> None:
    door, task, descriptor = opened(fleet)
    (post,) = cut(reports(task, descriptor, ["mail"] * 20), 20)

    async def posted() -> bool:
        doorway = Intake(door.store)
        with held(fleet, "LOCK TABLE fleet.posted IN SHARE MODE"):
            told = asyncio.ensure_future(doorway.post(round_id(door, task), post))
            await asyncio.to_thread(clients.wait_until, lambda: waiters(fleet) == 1)
            assert not told.done()
        return await told

    assert asyncio.run(posted())
    # A server that goes away in the middle has taken nothing, and nobody is told that it has.
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"

    async def cut_short() -> None:
        doorway = Intake(door.store)
        with held(fleet, "LOCK TABLE fleet.posted IN SHARE MODE"):
            told = asyncio.ensure_future(doorway.post(round_id(door, task), post[:320]))
            await asyncio.to_thread(clients.wait_until, lambda: waiters(fleet) == 1)
            fleet.sql(f"{end} AND datname = '{fleet.database}'")
            with pytest.raises(FleetError, match="send them again"):
                await told

    asyncio.run(cut_short())
    assert len(fleet.sql("SELECT 1 FROM fleet.posted")) == 1


def test_a_round_closes_after_those_who_were_let_in(fleet: Any, clients: ModuleType) -> None:
    """An upload that was let in and is held up before it writes; then the round is closed."""
    door, task, descriptor = opened(fleet)
    posts, number = cut(reports(task, descriptor), 50), round_id(door, task)
    with ThreadPoolExecutor(2) as pool:
        with held(fleet, "LOCK TABLE fleet.posted IN SHARE MODE"):
            taking: Future[bool] = pool.submit(door.store.take, number, posts)
            clients.wait_until(lambda: waiters(fleet) == 1)
            closing = pool.submit(fleet.door().store.close, number)
            clients.wait_until(lambda: closing.done() or waiters(fleet) == 2)
            in_it = len(fleet.sql("SELECT 1 FROM fleet.posted")) if closing.done() else len(posts)
        assert closing.result() == [number]
        assert not taking.result() or in_it == len(posts), "acknowledged, and not in the round"
    assert shown(door, task) == truth(task)


def test_groups_with_the_same_posts_do_not_wait_for_each_other(
    fleet: Any, clients: ModuleType
) -> None:
    """Both are held up in the middle by a post that somebody is writing."""
    door, task, descriptor = opened(fleet)
    first, middle, last = sorted(reports(task, descriptor, ["mail"] * 3))
    number, other = round_id(door, task), fleet.door()
    with ThreadPoolExecutor(2) as pool:
        with psycopg.connect(fleet.address) as writing:
            insert = "INSERT INTO fleet.posted (round, body) VALUES (%s, %s)"
            writing.execute(insert, (number, middle))
            one = pool.submit(door.store.take, number, [first, middle, last])
            clients.wait_until(lambda: waiters(fleet) == 1)
            two = pool.submit(other.store.take, number, [last, middle, first])
            clients.wait_until(lambda: waiters(fleet) == 2)
            writing.rollback()
        assert one.result()
        assert two.result()
    assert len(fleet.sql("SELECT 1 FROM fleet.posted")) == 3


def test_a_reader_that_is_stuck_does_not_stop_uploads(fleet: Any) -> None:
    """Posts that cannot be dropped yet are dropped later; the round is released all the same."""
    door, task, descriptor = opened(fleet)
    upload(door, task, cut(reports(task, descriptor), 50))
    next_round = door.open_round(task.id, 1)
    door.close(task.id, 0)
    with held(fleet, "SELECT 1 FROM fleet.posted LIMIT 1"):
        (release,) = door.step()
        assert counts(release) == truth(task)
        assert fleet.states() == [("released", False), ("open", False)]
        assert fleet.core.key_bytes(task, 0) == b""
        assert upload(door, task, cut(reports(task, next_round), 50), 1)
    door.tidy()
    assert fleet.states() == [("released", True), ("open", False)]
    assert fleet.partitions() == ["posted_2"]
