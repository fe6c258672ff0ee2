"""Many processes that commit at once share a flush, and no one shares an earlier one."""

from __future__ import annotations

import multiprocessing
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from headcount.ledger.ledger import Ledger
from headcount.ledger.stores import flush, queue
from headcount.privacy.budget import Budget
from headcount.privacy.event import GaussianNoise
from headcount.privacy.neighbours import Neighbours

FORK = multiprocessing.get_context("fork")
N = 8


def committer(number: int, path: Path, opened: Any, made: Any, flushes: Any, answers: Any) -> None:
    """Charge once. A flush of this process lasts until everybody has committed."""
    try:
        ledger = Ledger(path)
        store, really = ledger._store, os.fsync
        log = Path(f"{path}-wal")
        commit = store.commit

        def counted(connection: Any) -> int:
            ticket = commit(connection)
            made.release()
            return ticket

        def fsync(file: int) -> None:
            if os.path.samestat(os.fstat(file), os.stat(log)):
                with flushes.get_lock():
                    flushes.value += 1
                for _ in range(N):
                    made.acquire()
                for _ in range(N):
                    made.release()
            really(file)

        store.commit = counted  # type: ignore[method-assign]
        os.fsync = fsync  # type: ignore[assignment]
        # Opening waits for a flush too.
        opened.wait()
        charge = ledger.charge(
            ledger.opening("web"),
            key=f"key-{number}",
            fresh=True,
            request_hash="r",
            verb="count_users",
            event=GaussianNoise(Fraction(1), Fraction(50)),
            neighbours=Neighbours.ADD_REMOVE,
        )
        answers.put(charge.is_new)
    except BaseException as error:
        answers.put(repr(error))
        # Nobody is to wait for a commit that does not come.
        made.release()
    os._exit(0)


@pytest.mark.parametrize("byte_locks", [True, False])
def test_who_commits_while_a_flush_is_under_way_shares_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, byte_locks: bool
) -> None:
    monkeypatch.setattr(flush, "HAS_BYTE_LOCKS", byte_locks and queue.HAS_BYTE_LOCKS)
    path = tmp_path / "ledger.db"
    Ledger(path).open_account("web", Budget(rho=1000, delta=1e-6))
    made, flushes, answers = FORK.Semaphore(0), FORK.Value("i", 0), FORK.SimpleQueue()
    arguments = (path, FORK.Barrier(N), made, flushes, answers)
    children = [FORK.Process(target=committer, args=(i, *arguments)) for i in range(N)]
    for child in children:
        child.start()
    got = [answers.get() for _ in children]
    for child in children:
        child.join()
    assert got == [True] * N
    # The first flush began when some had committed; the second when all had.
    assert flushes.value in (1, 2)
    assert len(Ledger(path).entries("web")) == N


def test_a_flush_that_began_before_a_commit_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second commits while the flush of the first is under way, and waits for another."""
    path = tmp_path / "log"
    path.write_bytes(b"log")
    Path(f"{path}.queue").touch()
    order: list[str] = []
    really = os.fsync
    first, second = (flush.Flush(Path(f"{path}.queue"), path) for _ in range(2))
    later: list[int] = []

    def fsync(file: int) -> None:
        if os.path.samestat(os.fstat(file), os.stat(path)):
            order.append("flush")
            if not later:
                later.append(second.take_number())
                second.made(later[0])
                order.append("second committed")
        really(file)

    monkeypatch.setattr(os, "fsync", fsync)
    number = first.take_number()
    first.made(number)
    first.settle(number)
    assert order == ["flush", "second committed"]
    second.settle(later[0])
    assert order == ["flush", "second committed", "flush"]
