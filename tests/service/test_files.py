"""Who may look into a ledger's files."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from headcount.ledger.ledger import Ledger

SAMPLE = Path(__file__).with_name("samples") / "0.1.0" / "sqlite.db"
NOBODY = 65534


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    found = (path for path in folder.iterdir() if path.is_file())
    return {path.name: oct(stat.S_IMODE(path.stat().st_mode))[2:] for path in found}


def used(clients: ModuleType, path: Path) -> Ledger:
    """A ledger with a charge and its result."""
    ledger: Ledger = clients.new_ledger(str(path))
    ledger.store_result(clients.charge(ledger, "shown").sequence, b"rows")
    ledger.verify()
    return ledger


def close(ledger: Ledger) -> None:
    ledger._store.engine.dispose()


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o027, 0o077])
def test_files_are_the_owners_alone(open_folder: Path, clients: ModuleType, mask: int) -> None:
    with umask(mask):
        ledger = used(clients, open_folder / "l.db")
    endings = ("", "-wal", "-shm", ".queue", ".queue.flush")
    assert modes(open_folder) == dict.fromkeys((f"l.db{ending}" for ending in endings), "600")
    heads = ledger._heads.paths[0].parent
    assert set(modes(heads).values()) == {"600"}
    assert {path.suffix for path in heads.iterdir()} == {".head", ".sums"}
    assert stat.S_IMODE(heads.stat().st_mode) == 0o700


@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_files_beside_a_ledger_are_for_the_same_people(
    open_folder: Path, clients: ModuleType, mask: int
) -> None:
    close(used(clients, open_folder / "l.db"))
    for path in open_folder.iterdir():
        if path.name != "l.db":
            path.unlink()
    (open_folder / "l.db").chmod(0o660)
    with umask(mask):
        ledger = Ledger(open_folder / "l.db")
        clients.charge(ledger, "again")
    assert set(modes(open_folder).values()) == {"660"}
    if os.getuid() == 0:
        os.chown(open_folder / "l.db", NOBODY, NOBODY)
        close(ledger)
        (open_folder / "l.db.queue").unlink()
        clients.charge(Ledger(open_folder / "l.db"), "by root")
        assert (open_folder / "l.db.queue").stat().st_uid == NOBODY


@pytest.mark.parametrize(("before", "after"), [(0o644, "640"), (0o666, "660"), (0o600, "600")])
def test_a_ledger_of_an_earlier_version_is_closed_to_others(
    open_folder: Path, before: int, after: str
) -> None:
    shutil.copy(SAMPLE, open_folder / "l.db")
    (open_folder / "l.db").chmod(before)
    with umask(0):
        (open_folder / "l.db.queue").touch(before)
    ledger = Ledger(open_folder / "l.db")
    assert set(modes(open_folder).values()) == {after}
    # A right that is given later is its owner's to give.
    (open_folder / "l.db").chmod(0o644)
    close(ledger)
    Ledger(open_folder / "l.db").verify()
    assert modes(open_folder)["l.db"] == "644"
