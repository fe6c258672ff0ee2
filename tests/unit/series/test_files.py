"""Files that are there whole or not at all, and what is left by whoever is killed."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from headcount.errors import OutputError
from headcount.series.files import check_place, entry_in, write_atomically


def test_a_file_is_flushed_before_it_is_renamed_and_its_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    did: list[str] = []
    sync, replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        name = Path(os.readlink(f"/proc/self/fd/{handle}")).name
        did.append("file" if name.endswith(".part") else name)
        sync(handle)

    def replaced(source: Path, target: Path) -> None:
        assert Path(source).read_bytes() == b"rows"
        did.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    write_atomically(tmp_path / "a/rows.parquet", b"rows")
    assert did == ["file", "rename", "a"]
    assert [one.name for one in (tmp_path / "a").iterdir()] == ["rows.parquet"]


def test_a_leftover_is_taken_and_a_file_being_written_is_not(tmp_path: Path) -> None:
    left, held = (tmp_path / f"rows.parquet.{n}.part" for n in ("aaaaaaaa", "bbbbbbbb"))
    other = tmp_path / "other.parquet.cccccccc.part"
    for one in (left, held, other):
        one.write_bytes(b"half")
    with held.open("rb") as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        write_atomically(tmp_path / "rows.parquet", b"rows")
    assert {one.name for one in tmp_path.iterdir()} == {held.name, other.name, "rows.parquet"}


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.parquet"
    write_atomically(path, b"old")

    def full(_source: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OutputError, match="the disk is full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [path]


def test_a_place_that_cannot_be_written_is_found_before_the_charge(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="Nothing was charged"):
        check_place(tmp_path / "file/rows.parquet")
    check_place(tmp_path / "new/rows.parquet")
    assert list((tmp_path / "new").iterdir()) == []


def test_a_file_that_is_no_release_has_no_entry(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    assert entry_in(tmp_path / "a.parquet") is None
    assert entry_in(tmp_path / "b.parquet") is None
