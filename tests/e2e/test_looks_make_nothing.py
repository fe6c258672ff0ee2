"""Whatever only looks makes nothing, and what is no ledger is refused and left as it is."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headcount as hc

LOOKS = (
    ("ledger", "show"),
    ("ledger", "verify"),
    ("ledger", "export"),
    ("ledger", "statement", "web"),
    ("ledger", "result", "abc"),
    ("ledger", "grant", "analyst", "ann"),
)
COUNT = ("--user", "user_id", "--by", "page", "--epsilon", "1", "--budget", "3")
Run = Callable[..., Any]


@pytest.fixture
def run(headcount_command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in a folder and a home of its own."""
    monkeypatch.setenv("HEADCOUNT_HEADS", str(tmp_path / "home" / "heads"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home" / "data"))
    monkeypatch.delenv("HEADCOUNT_LEDGER", raising=False)
    (tmp_path / "here").mkdir()
    (tmp_path / "home").mkdir()

    def command(*words: str, code: int = 0) -> str:
        ran = subprocess.run(
            [headcount_command, *words], cwd=tmp_path / "here", capture_output=True, text=True
        )
        said = ran.stdout + ran.stderr
        assert ran.returncode == code, said
        return said

    return command


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def foreign(path: Path) -> None:
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE orders (id INTEGER)")
    raw.commit()
    raw.close()


@pytest.mark.parametrize("look", LOOKS, ids=lambda words: words[1])
def test_a_database_of_others_is_refused_and_left_as_it_is(
    run: Run, tmp_path: Path, look: tuple[str, ...]
) -> None:
    foreign(tmp_path / "here" / "other.db")
    before = files(tmp_path)
    said = run(*look, "--ledger", "other.db", code=4)
    assert "other.db' is not a ledger" in said
    assert files(tmp_path) == before


@pytest.mark.parametrize("look", LOOKS, ids=lambda words: words[1])
@pytest.mark.parametrize("empty", [False, True], ids=["no file", "an empty file"])
def test_a_look_at_nothing_makes_nothing(
    run: Run, tmp_path: Path, look: tuple[str, ...], empty: bool
) -> None:
    if empty:
        (tmp_path / "here" / "new.db").touch()
    before = files(tmp_path)
    said = run(*look, "--ledger", "new.db", code=4)
    assert "There is no ledger at" in said
    assert "headcount ledger open" in said
    assert files(tmp_path) == before


def test_a_release_or_an_opening_writes_into_no_other_database(
    run: Run, tmp_path: Path, demo_file: Path
) -> None:
    foreign(tmp_path / "here" / "other.db")
    before = files(tmp_path)
    for words in (("count-users", str(demo_file), *COUNT), ("ledger", "open", "web", "--budget=3")):
        assert "is not a ledger" in run(*words, "--ledger", "other.db", code=4)
    assert files(tmp_path) == before


def test_a_plan_makes_no_ledger_and_the_release_does(
    run: Run, tmp_path: Path, demo_file: Path
) -> None:
    said = run("count-users", str(demo_file), *COUNT, "--ledger", "new.db", "--plan")
    assert "new: the release opens it" in said
    assert files(tmp_path) == {}
    run("count-users", str(demo_file), *COUNT, "--ledger", "new.db")
    assert "epsilon" in run("ledger", "show", "--ledger", "new.db")
    assert (tmp_path / "here" / "new.db").stat().st_mode & 0o777 == 0o600


def test_the_usual_folder_is_made_with_the_ledger(
    run: Run, tmp_path: Path, demo_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen from Python, where a test can say that a folder for temporary files lasts."""
    from headcount.releases import accounts

    monkeypatch.setattr(accounts, "_check_lasts", lambda *_: None)
    data = hc.open(demo_file, user="user_id", budget=hc.Budget(epsilon=3, delta=1e-6))
    plan = data.count_users(by="page", spend=hc.Budget(epsilon=1))
    assert files(tmp_path) == {}
    assert not (tmp_path / "home" / "data").exists()
    plan.release()
    assert (tmp_path / "home" / "data" / "headcount" / "ledger.db").exists()


def test_a_ledger_that_was_lost_is_not_replaced(run: Run, tmp_path: Path, demo_file: Path) -> None:
    release = ("count-users", str(demo_file), *COUNT, "--ledger", "web.db")
    run(*release)
    for lost in (tmp_path / "here").glob("web.db*"):
        lost.unlink()
    for words in (
        (*release, "--plan"),
        release,
        ("ledger", "open", "web", "--budget", "3", "--ledger", "web.db"),
        *((*look, "--ledger", "web.db") for look in LOOKS),
    ):
        said = run(*words, code=4)
        assert "There is no ledger at" in said
        assert "One was there, and is gone" in said
        assert "under a new name" in said
        assert not list((tmp_path / "here").iterdir()), words
    run("ledger", "open", "web", "--budget", "3", "--ledger", "another.db")


def test_a_copy_without_a_ledger_is_refused(run: Run, tmp_path: Path, demo_file: Path) -> None:
    foreign(tmp_path / "here" / "other.db")
    before = files(tmp_path)
    said = run("ledger", "verify", "--copy", "other.db", code=2)
    assert "is a database without a ledger. Give the path of a ledger file" in said
    said = run("ledger", "verify", "--copy", str(demo_file), code=2)
    assert "is no entry of a ledger. Give the path of a ledger file" in said
    assert files(tmp_path) == before
