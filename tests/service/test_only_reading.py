"""What someone can do with a ledger file who may only read it."""

from __future__ import annotations

import os
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import headcount as hc
from headcount.cli.commands import app
from headcount.errors import LedgerError
from headcount.ledger.ledger import Ledger
from headcount.ledger.stores import sqlite_reader
from headcount.privacy.budget import Budget

SAMPLE = Path(__file__).with_name("samples") / "0.1.0" / "sqlite.db"
NOBODY = 65534
CLOSED, IN_USE, CRASHED = "closed", "in use", "crashed"
REFUSED = "may be read by this user and not written to. Nothing was charged"


def used(clients: ModuleType, path: Path) -> Ledger:
    """A ledger with a charge and its result."""
    ledger: Ledger = clients.new_ledger(str(path))
    ledger.store_result(clients.charge(ledger, "shown").sequence, b"rows")
    ledger.verify()
    return ledger


def close(ledger: Ledger) -> None:
    ledger._store.engine.dispose()


def reader(clients: ModuleType, program: Callable[..., None], *arguments: Any) -> None:
    """Run a program as someone who may only read what the modes of files let them."""
    saying, hearing = os.pipe()

    def run() -> None:
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            with tempfile.TemporaryDirectory() as own:
                os.environ["HEADCOUNT_HEADS"] = own
                program(*arguments)
        except BaseException:
            os.write(hearing, traceback.format_exc().encode())
            raise

    child = clients.forked(run)
    os.close(hearing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(saying) as said:
        assert status == 0, said.read()


def commands(address: str) -> None:
    for command in ("show", "verify", "export"):
        ran = CliRunner().invoke(app, ["ledger", command, "--ledger", address])
        assert ran.exit_code == 0, ran.output


def plan(ledger: Ledger) -> Any:
    table = pa.table({"user": [1, 2, 3], "group": ["a", "a", "b"]})
    data = hc.open(table, user="user", account="web", ledger=ledger)
    return data.count_users(by="group", groups=["a"], bound=1, spend=hc.Budget(rho="0.01"))


@pytest.fixture(scope="module")
def imported(clients: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Another user may not be let into the folder that Python is in."""
    ledger = used(clients, tmp_path_factory.mktemp("first") / "l.db")
    commands(ledger.address)
    plan(ledger).release()


def look(clients: ModuleType, address: str) -> None:
    """All ways to read; then all ways to write."""
    ledger = Ledger(address)
    assert [account.name for account in ledger.accounts()] == ["web"]
    assert [entry.key for entry in ledger.entries("web")] == ["shown"]
    assert ledger.stored_result(2) == b"rows"
    assert ledger.verify().head.sequence == 3
    commands(address)
    # What was asked before is shown, and charges nothing.
    found = ledger.known("web", "r", key="shown")
    assert found is not None
    assert found.result == b"rows"
    for write in (
        lambda: clients.charge(ledger, "new"),
        lambda: ledger.open_account("mine", Budget(rho=1)),
        lambda: ledger.set_quota("web", "me", Budget(rho="0.1")),
        lambda: ledger.store_result(2, b"other rows"),
    ):
        with pytest.raises(LedgerError, match=REFUSED):
            write()
    stages: list[str] = []
    with pytest.raises(LedgerError, match=REFUSED):
        plan(ledger).release(progress=stages.append)
    assert "reading the table" not in stages


def keep_open(address: str, told: int, waiting: int) -> None:
    ledger = Ledger(address)
    ledger.accounts()
    os.write(told, b"!")
    os.read(waiting, 1)


@contextmanager
def kept(state: str, clients: ModuleType, address: str) -> Iterator[None]:
    """Somebody has the ledger open, or had it open when they were killed."""
    if state == CLOSED:
        yield
        return
    arrived, told = os.pipe()
    waiting, _ = os.pipe()
    child = clients.forked(keep_open, address, told, waiting)
    assert os.read(arrived, 1) == b"!"
    if state == CRASHED:
        clients.kill_all([child])
    try:
        yield
    finally:
        if state == IN_USE:
            clients.kill_all([child])


@pytest.mark.parametrize("state", [CLOSED, IN_USE, CRASHED])
@pytest.mark.parametrize(
    ("file", "where"),
    [(0o444, 0o555), (0o444, 0o777), (0o644, 0o555)],
    ids=["neither", "folder is writable", "file is writable"],
)
@pytest.mark.usefixtures("imported")
def test_who_may_only_read_reads(
    open_folder: Path, clients: ModuleType, file: int, where: int, state: str
) -> None:
    path = open_folder / "l.db"
    close(used(clients, path))
    with kept(state, clients, str(path)):
        before = sorted(open_folder.iterdir())
        assert (open_folder / "l.db-wal" in before) == (state != CLOSED)
        for beside in before:
            beside.chmod(file)
        open_folder.chmod(where)
        reader(clients, look, clients, str(path))
        assert sorted(open_folder.iterdir()) == before, "a reader leaves nothing behind"
    if os.getuid() == 0:
        # Root is the owner here, and may write whatever the modes say.
        ledger = Ledger(path)
        ledger.store_result(clients.charge(ledger, "goes on").sequence, b"more")
        ledger.verify()


def refused(address: str, says: str) -> None:
    with pytest.raises(LedgerError, match=says):
        Ledger(address)


def test_who_may_only_read_cannot_bring_a_ledger_up_to_date(
    open_folder: Path, clients: ModuleType
) -> None:
    shutil.copy(SAMPLE, open_folder / "l.db")
    (open_folder / "l.db").chmod(0o444)
    open_folder.chmod(0o555)
    before = SAMPLE.read_bytes()
    reader(clients, refused, str(open_folder / "l.db"), "earlier version .* this user may not do")
    assert (open_folder / "l.db").read_bytes() == before
    (open_folder / "l.db").chmod(0o400 if os.getuid() == 0 else 0o000)
    reader(
        clients, refused, str(open_folder / "l.db"), "cannot be opened; check the path and its perm"
    )


def test_what_was_read_while_a_writer_came_is_read_again(
    open_folder: Path, clients: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(open_folder / "l.db")
    close(used(clients, open_folder / "l.db"))
    with monkeypatch.context() as only_read:
        only_read.setattr(sqlite_reader, "may_only_read", lambda _path: True)
        looking = Ledger(path, heads=open_folder / "own")
    came: list[bool] = []

    def writer_comes(_connection: object, *_rest: object) -> None:
        if not came:
            came.append(True)
            writer = Ledger(path)
            clients.charge(writer, "meanwhile")
            close(writer)

    sa.event.listen(looking._store.engine, "before_cursor_execute", writer_comes)
    assert [entry.key for entry in looking.entries("web")] == ["shown", "meanwhile"]
    assert looking.verify().head.sequence == 4
