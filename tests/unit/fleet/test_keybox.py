"""Keys of rounds: made once, read while there, destroyed for good; and one view of a round."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headcount.errors import UsageError
from headcount.fleet.keybox import KeyBox
from headcount.fleet.seal import public_key_of

TASK, OTHER = bytes(32), bytes([1]) * 32


@pytest.fixture
def box(tmp_path: Path) -> KeyBox:
    return KeyBox(tmp_path / "keys")


def test_a_round_has_one_key_and_whoever_asks_again_gets_the_same(
    box: KeyBox, tmp_path: Path
) -> None:
    first = box.make(TASK, 0)
    assert box.make(TASK, 0) == first == public_key_of(box.open(TASK, 0))
    assert KeyBox(tmp_path / "keys").make(TASK, 0) == first
    assert len({first, box.make(TASK, 1), box.make(OTHER, 0)}) == 3


def test_only_its_user_can_read_a_key(box: KeyBox, tmp_path: Path) -> None:
    box.make(TASK, 0)
    files = list((tmp_path / "keys").iterdir())
    assert [oct(file.stat().st_mode & 0o777) for file in files] == ["0o600"]
    assert oct((tmp_path / "keys").stat().st_mode & 0o777) == "0o700"
    (tmp_path / "open").mkdir(mode=0o755)
    with pytest.raises(UsageError, match="its user's alone"):
        KeyBox(tmp_path / "open")


def test_a_destroyed_key_is_gone_and_never_made_again(box: KeyBox, tmp_path: Path) -> None:
    box.make(TASK, 0)
    key = box.open(TASK, 0)
    box.destroy(TASK, 0)
    for attempt in (box.open, box.make):
        with pytest.raises(UsageError, match="is destroyed"):
            attempt(TASK, 0)
    box.destroy(TASK, 0)
    for file in (tmp_path / "keys").iterdir():
        assert key not in file.read_bytes()
    box.destroy(TASK, 5)
    with pytest.raises(UsageError, match="is destroyed"):
        box.make(TASK, 5)


def test_a_crash_while_a_key_is_destroyed_leaves_none_that_everybody_knows(
    box: KeyBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Overwritten and not yet emptied: 32 bytes of zero are a key to X25519."""

    def crashed(*_: object) -> None:
        raise RuntimeError

    box.make(TASK, 0)
    with monkeypatch.context() as patched:
        patched.setattr(os, "ftruncate", crashed)
        with pytest.raises(RuntimeError):
            box.destroy(TASK, 0)
    for attempt in (box.open, box.make):
        with pytest.raises(UsageError, match="is destroyed"):
            attempt(TASK, 0)
    box.destroy(TASK, 0)


def test_a_round_that_was_never_opened_has_no_key(box: KeyBox) -> None:
    with pytest.raises(UsageError, match="never opened"):
        box.open(TASK, 0)
    for task, number in ((b"short", 0), (TASK, -1)):
        with pytest.raises(UsageError, match="belongs to a round"):
            box.make(task, number)


def test_a_crash_while_a_key_is_made_leaves_the_round_to_be_opened(
    box: KeyBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crashed(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(os, "link", crashed)
        with pytest.raises(RuntimeError):
            box.make(TASK, 0)
    with pytest.raises(UsageError, match="never opened"):
        box.open(TASK, 0)
    assert box.make(TASK, 0) == public_key_of(box.open(TASK, 0))


def test_a_round_is_counted_from_one_set_of_reports(box: KeyBox) -> None:
    box.bind(TASK, 0, b"a" * 32)
    box.bind(TASK, 0, b"a" * 32)
    with pytest.raises(UsageError, match="from other reports"):
        box.bind(TASK, 0, b"b" * 32)
    box.bind(TASK, 1, b"b" * 32)
