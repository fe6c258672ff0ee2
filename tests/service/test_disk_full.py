"""The disk fills up: an error, nothing shown, and nothing lost that was acknowledged."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path
from types import ModuleType

import pytest

from headcount.errors import LedgerError
from headcount.ledger.heads import LINE


def fill(address: str, clients: ModuleType, told: Path) -> None:
    """Charge and store until the disk is full; a limit on file sizes plays the full disk."""
    out = os.open(told, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    ledger = clients.Ledger(address)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    for number in range(10_000):
        try:
            charge = clients.charge(ledger, f"key-{number}")
            os.write(out, f"charged key-{number}\n".encode())
            ledger.store_result(charge.sequence, b"x" * 2000)
            os.write(out, f"shown key-{number}\n".encode())
        except LedgerError as error:
            os.write(out, f"refused {error}\n".encode())
            os._exit(0)


def test_a_full_disk_is_an_error_and_loses_nothing(clients: ModuleType, tmp_path: Path) -> None:
    address, told = str(tmp_path / "ledger.db"), tmp_path / "told"
    clients.new_ledger(address, clients.PLENTY)
    child = clients.forked(fill, address, clients, told)
    assert os.waitpid(child, 0)[1] == 0
    *lines, last = told.read_text().splitlines()
    assert last.startswith("refused")
    assert "disk" in last
    assert "Nothing is released" in last
    charged = {line.split()[1] for line in lines if line.startswith("charged")}
    shown = {line.split()[1] for line in lines if line.startswith("shown")}
    assert len(shown) > 5
    ledger = clients.Ledger(address)  # the limit was the child's alone
    ledger.verify()
    entries = {entry.key: entry.has_result for entry in ledger.entries("web")}
    assert charged <= set(entries)
    assert all(entries[key] for key in shown)
    assert clients.charge(ledger, "once there is room again").is_new


def test_a_head_that_cannot_be_written_shows_nothing(
    clients: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = clients.new_ledger(str(tmp_path / "ledger.db"))
    real = os.pwrite

    def full(file: int, data: bytes, offset: int) -> int:
        if len(data) == LINE:
            raise OSError(28, "No space left on device")
        return real(file, data, offset)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(LedgerError, match="head cannot be kept"):
        clients.charge(ledger, "key")
    monkeypatch.setattr(os, "pwrite", real)
    again = clients.charge(ledger, "key")
    assert not again.is_new, "the charge stays"
    assert ledger.account("web").spent.rho * 100 == 1
    ledger.verify()
