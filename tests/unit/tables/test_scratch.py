"""The private folder: its mode, its end, and what is left by those who were killed."""

from __future__ import annotations

import gc
import os
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from headcount.errors import UsageError
from headcount.tables import open_table
from headcount.tables.scratch import Scratch
from headcount.tables.source import Options


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADCOUNT_TMP", str(tmp_path))
    return tmp_path / f"headcount-{os.getuid()}"


def test_it_is_private_and_goes_with_its_holder(place: Path) -> None:
    scratch = Scratch()
    path = scratch.path
    assert path.parent == place
    assert [stat.S_IMODE(p.stat().st_mode) for p in (place, path)] == [0o700, 0o700]
    del scratch
    gc.collect()
    assert not path.exists()


def test_it_goes_with_the_table(place: Path) -> None:
    table = open_table(pa.table({"u": ["a"]}), user="u")
    assert len(list(place.iterdir())) == 1
    del table
    gc.collect()
    assert not list(place.iterdir())


KILLED = """
import os, signal
from headcount.tables.scratch import Scratch
scratch = Scratch()
(scratch.path / "rows").write_text("private")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_is_removed_and_a_living_ones_is_not(place: Path) -> None:
    alive = Scratch()
    subprocess.run([sys.executable, "-c", KILLED], check=False)
    assert len(list(place.iterdir())) == 2
    another = Scratch()
    assert set(place.iterdir()) == {alive.path, another.path}


def test_a_forked_child_does_not_remove_its_parents_folder(place: Path) -> None:
    scratch = Scratch()
    child = os.fork()
    if child == 0:
        scratch.remove()
        os._exit(0)
    os.waitpid(child, 0)
    assert scratch.path.exists()


def test_a_folder_that_others_can_read_is_refused(place: Path) -> None:
    place.mkdir(mode=0o755)
    place.chmod(0o755)
    with pytest.raises(UsageError, match="you alone can read"):
        Scratch()


def test_a_link_in_its_place_is_refused(place: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="you alone can read"):
        Scratch()


def test_a_place_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADCOUNT_TMP", str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="nowhere"):
        Scratch()


def test_memory_is_duckdbs_limit() -> None:
    table = open_table(pa.table({"u": ["a"]}), user="u", options=Options(memory="300MB"))
    setting = "select current_setting('memory_limit')"
    assert table.engine.connection.con.execute(setting).fetchone()[0] == "286.1 MiB"


@pytest.mark.parametrize("memory", ["lots", "2", 5, "2GB'; select 1"])
def test_a_memory_that_is_no_size_is_refused(memory: str) -> None:
    with pytest.raises(UsageError, match="memory must be a size"):
        open_table(pa.table({"u": ["a"]}), user="u", options=Options(memory=memory))


def opened(scratch: object) -> object:
    return open_table(pa.table({"u": ["a"]}), user="u", options=Options(scratch=scratch))  # type: ignore[arg-type]


def test_a_folder_of_ones_own_is_used_and_left_as_it_was(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    (own / "mine").write_text("stays")
    table = opened(own)
    (root,) = (path for path in own.iterdir() if path.is_dir())
    assert len(list(root.iterdir())) == 1
    del table
    gc.collect()
    assert list(root.iterdir()) == []
    assert (own / "mine").read_text() == "stays"


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701])
def test_a_folder_of_ones_own_that_others_can_read_is_refused(mode: int, tmp_path: Path) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(UsageError, match="you alone can read"):
        opened(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_or_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no folder"):
        opened(tmp_path / "nowhere")
    (tmp_path / "file").touch(mode=0o600)
    with pytest.raises(UsageError, match="you alone can read"):
        opened(tmp_path / "file")
