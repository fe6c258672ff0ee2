from __future__ import annotations

from pathlib import Path

import pytest

from headcount.errors import LedgerError, UsageError
from headcount.ledger.address import parse_address
from headcount.ledger.ledger import Ledger
from headcount.ledger.stores import mounts, place, sqlite
from headcount.ledger.stores.postgres import NAMES, wrong_settings
from headcount.privacy.budget import Budget

MOUNTS = r"""
/dev/vda / ext4 rw,relatime 0 0
proc /proc proc rw 0 0
server:/export /data nfs4 rw,vers=4.2 0 0
//server/share /mnt/team\040files cifs rw 0 0
me@host:/ /mnt/ssh fuse.sshfs rw 0 0
/dev/vdb /data/local xfs rw 0 0
C:\134 /mnt/c 9p rw 0 0
tmpfs /mnt/ssh/over tmpfs rw 0 0
overlay /var/lib/container overlay rw 0 0
short
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/ledger.db", None),
        ("/data/ledger.db", "nfs4"),
        ("/data/deep/er/ledger.db", "nfs4"),
        ("/data/local/ledger.db", None),
        ("/database/ledger.db", None),
        ("/mnt/team files/ledger.db", "cifs"),
        ("/mnt/ssh/ledger.db", "fuse.sshfs"),
        ("/mnt/ssh/over/ledger.db", None),
        ("/mnt/c/ledger.db", "9p"),
        ("/var/lib/container/ledger.db", None),
    ],
)
def test_network_file_systems_are_told_from_local_ones(path: str, kind: str | None) -> None:
    found = mounts.type_in(Path(path), MOUNTS)
    assert (found if found in mounts.NETWORK else None) == kind


def test_the_last_mount_on_a_point_counts() -> None:
    table = "/dev/vda /x ext4 rw 0 0\nserver:/ /x nfs rw 0 0\n"
    assert mounts.type_in(Path("/x/ledger.db"), table) == "nfs"
    assert mounts.type_in(Path("/x/ledger.db"), "") == ""


@pytest.mark.parametrize(("kind", "told"), [("nfs4", "nfs4"), ("ext4", None)])
def test_the_table_of_this_machine_is_read(
    kind: str, told: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "mounts"
    table.write_text(f"somewhere {tmp_path.resolve()} {kind} rw 0 0\n")
    monkeypatch.setattr(mounts, "TABLE", table)
    assert mounts.mounted_over_network(tmp_path / "ledger.db") == told
    monkeypatch.setattr(mounts, "TABLE", tmp_path / "none")
    assert mounts.mounted_over_network(tmp_path / "ledger.db") is None


def test_a_ledger_on_a_network_file_system_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "mounted_over_network", lambda _path: "nfs4")
    with pytest.raises(LedgerError, match=r"network file system \(nfs4\).*postgresql://"):
        Ledger(tmp_path / "ledger.db")


def test_a_ledger_with_a_second_name_is_refused_under_both(tmp_path: Path) -> None:
    """Each name has a log of its own beside it: the second would be a budget that is whole."""
    first, second = tmp_path / "ledger.db", tmp_path / "second.db"
    Ledger(first).open_account("web", Budget(rho=1))
    second.hardlink_to(first)
    for name in (first, second):
        with pytest.raises(LedgerError, match=r"second name.*Nothing was charged"):
            Ledger(name)
    second.unlink()
    assert Ledger(first).account("web").limit.rho == 1


def test_a_ledger_that_is_mounted_as_a_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "mounts"
    monkeypatch.setattr(mounts, "TABLE", table)
    table.write_text(f"/dev/vda / ext4 rw 0 0\n/dev/vda {tmp_path}/ledger.db ext4 rw 0 0\n")
    with pytest.raises(LedgerError, match=r"single file.*Mount the folder"):
        Ledger(tmp_path / "ledger.db")
    table.write_text(f"/dev/vda / ext4 rw 0 0\n/dev/vda {tmp_path} ext4 rw 0 0\n")
    Ledger(tmp_path / "ledger.db").open_account("web", Budget(rho=1))


def test_settings_that_did_not_take_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "NORMAL", 3)
    with pytest.raises(LedgerError, match="synchronous must be NORMAL"):
        Ledger(tmp_path / "ledger.db").open_account("web", Budget(rho=1))


def test_no_password_is_ever_shown() -> None:
    address = parse_address("postgresql://ann:s3cret@db.example:5433/budget?sslpassword=s3cret")
    assert str(address) == "postgresql://db.example:5433/budget"
    assert "s3cret" not in repr(address)
    assert "ann" not in repr(address)


def test_two_search_paths_are_two_ledgers() -> None:
    first = parse_address("postgres://h/d?options=-csearch_path%3Done")
    second = parse_address("postgres://h/d?options=-csearch_path%3Dtwo")
    assert first.shown != second.shown
    assert first.is_postgres
    assert parse_address("postgres://h/d").shown == "postgresql://h:5432/d"


@pytest.mark.parametrize("text", ["mysql://ann:s3cret@host/db", "postgresql://ann:s3cret@host"])
def test_an_address_that_makes_no_sense_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(UsageError, match="Nothing was charged") as caught:
        parse_address(text)
    assert "s3cret" not in str(caught.value)


def test_a_server_that_is_not_there_is_an_error_without_a_password(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be reached") as caught:
        Ledger("postgresql://ann:s3cret@127.0.0.1:1/budget")
    assert "s3cret" not in str(caught.value)
    assert caught.value.__context__ is None


GOOD = dict(zip(NAMES, ("on", "", "on", "on", "UTF8", "off", "read committed"), strict=True))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"synchronous_commit": "off"}, "ALTER SYSTEM SET synchronous_commit = on"),
        (
            {"synchronous_commit": "local", "synchronous_standby_names": "b"},
            "a standby takes over",
        ),
        ({"fsync": "off"}, "ALTER SYSTEM SET fsync = on"),
        ({"full_page_writes": "off"}, "ALTER SYSTEM SET full_page_writes = on"),
        ({"server_encoding": "LATIN1"}, "ENCODING 'UTF8'"),
        ({"in_hot_standby": "on"}, "address of the primary"),
    ],
)
def test_a_server_that_could_forget_is_refused_with_the_fix(
    change: dict[str, str], says: str
) -> None:
    wrong = wrong_settings({**GOOD, **change})
    assert wrong is not None
    assert says in wrong


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"synchronous_commit": "local"},
        {"synchronous_commit": "remote_apply", "synchronous_standby_names": "b"},
    ],
)
def test_a_server_that_keeps_its_word_is_taken(change: dict[str, str]) -> None:
    assert wrong_settings({**GOOD, **change}) is None
