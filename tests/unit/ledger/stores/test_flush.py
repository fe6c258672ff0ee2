"""Nothing is shown before a flush that began after its commit: in whatever order things happen."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.ledger.charges import charge

from headcount.errors import LedgerError
from headcount.ledger.ledger import Ledger
from headcount.ledger.stores.flush import BEGUN, FLUSHED, MADE, TAKEN
from headcount.privacy.budget import Budget

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    book = Ledger(path)
    book.open_account("web", Budget(rho=1000, delta=1e-6))
    return book


class Watch:
    """What happened to a ledger's log, in order: 'commit' as it was made, 'flush' as it ended."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, ledger: Ledger) -> None:
        self.seen: list[str] = []
        self.fail = False
        store, really = ledger._store, os.fsync
        log = Path(f"{ledger.address}-wal")

        def fsync(file: int) -> None:
            if os.path.samestat(os.fstat(file), os.stat(log)):
                if self.fail:
                    raise OSError(errno.EIO, "the disk failed")
                really(file)
                self.seen.append("flush")
            else:
                really(file)

        commit = store.commit

        def noted(connection: Any) -> int:
            number = commit(connection)
            self.seen.append("commit")
            return number

        monkeypatch.setattr(os, "fsync", fsync)
        monkeypatch.setattr(store, "commit", noted)

    def during(self, job: Callable[[], object]) -> list[str]:
        del self.seen[:]
        job()
        return list(self.seen)


def numbers(path: Path) -> dict[int, int]:
    found = Path(f"{path}.queue").read_bytes().ljust(40, b"\0")
    return {at: int.from_bytes(found[at : at + 8], "little") for at in (TAKEN, MADE, FLUSHED)}


def put(path: Path, **values: int) -> None:
    places = {"taken": TAKEN, "made": MADE, "flushed": FLUSHED, "begun": BEGUN}
    with Path(f"{path}.queue").open("r+b") as file:
        for name, value in values.items():
            file.seek(places[name])
            file.write(value.to_bytes(8, "little"))


def test_every_write_is_flushed_after_its_commit_and_before_it_returns(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch(monkeypatch, ledger)
    once = ["commit", "flush"]
    assert watch.during(lambda: charge(ledger, "a")) == once
    assert watch.during(lambda: ledger.store_result(2, b"rows")) == once
    assert watch.during(lambda: ledger.open_account("b", Budget(rho=1))) == once
    assert watch.during(lambda: ledger.set_quota("b", "ann", Budget(rho=1))) == once


def test_the_head_outside_moves_after_the_flush(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch(monkeypatch, ledger)
    advance = ledger._heads.advance

    def noted(head: Any) -> None:
        watch.seen.append("head")
        advance(head)

    monkeypatch.setattr(ledger._heads, "advance", noted)
    assert watch.during(lambda: charge(ledger, "a")) == ["commit", "flush", "head"]


def test_a_failing_flush_is_an_error_and_nothing_is_released(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = charge(ledger, "a")
    head = ledger._heads.read()
    watch = Watch(monkeypatch, ledger)
    watch.fail = True
    for job in (lambda: charge(ledger, "b"), lambda: ledger.store_result(first.sequence, b"rows")):
        with pytest.raises(LedgerError, match=r"could not be flushed.*Nothing is released"):
            job()
    assert ledger._heads.read() == head
    # The result is in the log and perhaps nowhere else: whoever sees it must not show it either.
    for show in (
        lambda: charge(ledger, "a"),
        lambda: ledger.store_result(first.sequence, b"other rows"),
        lambda: ledger.stored_result(first.sequence),
        lambda: ledger.known("web", "r", key="a"),
    ):
        with pytest.raises(LedgerError, match="could not be flushed"):
            show()
    watch.fail = False
    assert watch.during(lambda: charge(ledger, "a")) == ["flush"]
    assert charge(ledger, "a").result == b"rows"


def killed_after_commit(path: Path) -> None:
    ledger = Ledger(path)
    ledger._store._flush.made = lambda _number: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[attr-defined]
    ledger.store_result(2, b"rows")


def test_a_result_of_a_writer_that_was_killed_at_its_commit_is_flushed_by_who_sees_it(
    path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    charge(ledger, "a")
    child = FORK.Process(target=killed_after_commit, args=(path,))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    watch = Watch(monkeypatch, ledger)
    for _ in range(2):
        # Nobody knows who flushed what, so each does until the next commit.
        assert watch.during(lambda: ledger.stored_result(2)) == ["flush"]
    assert ledger.stored_result(2) == b"rows"
    assert watch.during(lambda: charge(ledger, "b")) == ["commit", "flush"]
    assert watch.during(lambda: ledger.stored_result(2)) == []


def test_a_flush_does_not_vouch_for_a_commit_on_its_way(path: Path, ledger: Ledger) -> None:
    charge(ledger, "a")
    flush = ledger._store._flush  # type: ignore[attr-defined]
    before = numbers(path)[TAKEN]
    on_its_way = flush.take_number()
    put(path, flushed=before - 1)
    flush.settle(before)
    assert numbers(path)[FLUSHED] == before < on_its_way
    flush.made(on_its_way)
    flush.settle(on_its_way)
    assert numbers(path)[FLUSHED] == on_its_way


@pytest.mark.parametrize(
    "left",
    [
        {"taken": 5, "made": 5, "flushed": 9000},
        {"taken": 9000, "made": 5, "flushed": 5},
        {"taken": 5, "made": 9000, "flushed": 0},
        {"taken": 0, "made": 0, "flushed": 0, "begun": 0},
        {"begun": 9000},
    ],
    ids=str,
)
def test_numbers_that_a_crash_left_behind_do_no_harm(
    path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, left: dict[str, int]
) -> None:
    charge(ledger, "a")
    put(path, **left)
    watch = Watch(monkeypatch, ledger)
    keys = iter("bcd")
    for _ in range(3):
        assert watch.during(lambda: charge(ledger, next(keys))) == ["commit", "flush"]


def test_without_the_queue_file_everybody_flushes(
    path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    charge(ledger, "a")
    ledger.store_result(2, b"rows")
    Path(f"{path}.queue").unlink()
    watch = Watch(monkeypatch, ledger)
    assert watch.during(lambda: ledger.stored_result(2)) == ["flush"]
    assert watch.during(lambda: charge(ledger, "b")) == ["commit", "flush"]


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_who_may_not_take_part_flushes_alone(
    path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    charge(ledger, "a")
    ledger.store_result(2, b"rows")
    really = os.open

    def refusing(name: Any, flags: int, *rest: Any) -> int:
        if str(name).endswith(".queue") and flags & os.O_RDWR:
            raise OSError(code, "no")
        return really(name, flags, *rest)

    watch = Watch(monkeypatch, ledger)
    monkeypatch.setattr(os, "open", refusing)
    assert watch.during(lambda: ledger.stored_result(2)) == ["flush"]


def test_a_reader_shows_what_was_flushed_without_another_flush(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    charge(ledger, "a")
    ledger.store_result(2, b"rows")
    watch = Watch(monkeypatch, ledger)
    assert watch.during(lambda: ledger.stored_result(2)) == []
    assert watch.during(lambda: charge(ledger, "a")) == []
