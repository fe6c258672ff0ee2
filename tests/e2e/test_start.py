"""``headcount start``: five questions, nothing read or charged, and lines that run as they are."""

from __future__ import annotations

import io
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.odd.commands import Ended, run

import headcount as hc

ANSWERS = "user_id\nusers by page\npublic\nall\nonce\n"
N_USERS = 3_000


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table of two large pages, where ``headcount`` is found by its name."""
    table = pa.table(
        {
            "user_id": list(range(N_USERS)) * 2,
            "page": ["a"] * N_USERS + ["b"] * N_USERS,
            "time": pa.array([0] * N_USERS + [10**15] * N_USERS, pa.timestamp("us")),
            "who's it": [f"u{i}" for i in range(N_USERS)] * 2,
        }
    )
    pq.write_table(table, tmp_path / "events.parquet")
    pq.write_table(table, tmp_path / "two words.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADCOUNT_LEDGER", str(tmp_path / "ledger.db"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def started(answers: str, source: str = "events.parquet") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["headcount", "start", source], input=answers, capture_output=True, text=True
    )


def answered(answers: str, source: str = "events.parquet") -> Ended:
    """The same without a process of its own."""
    with mock.patch.object(sys, "stdin", io.StringIO(answers)):
        return run(["start", source], Path.cwd())


@pytest.mark.parametrize(
    ("answers", "source", "verb"),
    [
        (ANSWERS, "events.parquet", "count_users"),
        (
            "who's it\nevents by page, time:day\ninside\n0.2\ndaily\n",
            "two words.parquet",
            "count_events",
        ),
    ],
    ids=["users once", "events daily, odd names"],
)
def test_what_it_writes_runs_as_it_is(place: Path, answers: str, source: str, verb: str) -> None:
    done = started(answers, source)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Plan: ")
    assert "nine rows in ten" in done.stdout
    assert not (place / "ledger.db").exists()
    command, python = done.stdout.split("In a shell:\n\n")[1].split("\n\nIn Python:\n\n")
    ran = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    book = hc.open(
        place / source, user="who's it" if "two" in source else "user_id", ledger="ledger.db"
    ).ledger
    (account,) = book.accounts()
    (entry,) = book.entries(account.name)
    assert (entry.verb, entry.has_result) == (verb, True)
    # The same question, or the same day's key: one answer, one charge.
    again = subprocess.run([sys.executable, "-c", python], capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert f"Paid by entry {entry.sequence}" in again.stdout
    assert len(book.entries(account.name)) == 1
    # Who has an account is told what it may cost, and the same five lines are answers.
    later = answered(answers, source)
    assert later.code == 0, later.err
    assert "It was decided before" in later.err
    assert "is not used: what was decided stays" in later.err
    assert "--budget" not in later.out


def test_python_alone_releases_too(place: Path) -> None:
    # By default, those who are called so are protected, and texts are counted.
    python = answered("\n\n\n\n\n").out.split("In Python:\n\n")[1]
    ran = subprocess.run([sys.executable, "-c", python], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "count users: 2 rows" in ran.stdout


@pytest.mark.parametrize(
    ("answer", "written"),
    [("0.1234567891", "0.1234567891"), ("1/3", repr(1 / 3)), ("10%", "0.1"), ("2.5 %", "0.025")],
)
def test_the_target_that_was_planned_is_the_one_that_is_written(answer: str, written: str) -> None:
    out = answered(f"user_id\nusers by page\npublic\n{answer}\nonce\n").out
    assert f"--within {written} " in out
    assert f"within={written}," in out


@pytest.mark.parametrize("answer", ["1e400", "-1e400", "0", "1", "100%", "%", "nan"])
def test_a_target_that_is_none_is_refused(answer: str) -> None:
    done = answered(f"user_id\nusers by page\npublic\n{answer}\nonce\n")
    assert (done.code, "0.10 or 10%" in done.err) == (2, True)


def test_no_row_is_read(place: Path) -> None:
    """All that is not metadata is gone, and the same is said."""
    before = answered(ANSWERS)
    path = place / "events.parquet"
    whole = path.read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    path.write_bytes(whole[:4] + bytes(len(whole) - footer - 4) + whole[-footer:])
    with pytest.raises(Exception, match=r".+"):
        pq.read_table(path)
    after = answered(ANSWERS)
    assert after == before
    assert after.code == 0


def test_a_first_line_that_may_be_a_record_is_not_shown(place: Path) -> None:
    (place / "log.csv").write_text("user_id,page\n1,secret\n")
    done = answered("nobody\n", "log.csv")
    assert done.code == 2
    assert "secret" not in done.out + done.err
    assert "page" not in done.err.split("1. Who")[0]


@pytest.mark.parametrize("answers", ["", "user_id\n", "user_id\nusers by page\npublic\nall\n"])
def test_without_answers_it_leaves(place: Path, answers: str) -> None:
    done = answered(answers)
    assert done.code == 2
    assert "nothing was charged" in done.err
    assert "printf" in done.err
    assert done.out == ""
    assert not (place / "ledger.db").exists()


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ("nope\n", "no column 'nope'"),
        ("user_id\nusers by nope\n", "no column 'nope'"),
        ("user_id\nusers by\n", "no column 'by'"),
        ("user_id\ntime\n", "time"),
        ("user_id\npage\nmaybe\n", "public, inside, or a number"),
        ("user_id\npage\n-1\n", "epsilon must be"),
        ("user_id\npage\n1\n7\n", "such as 0.10 or 10%"),
        ("user_id\npage\n1\nall\nsometimes\n", "once, monthly, weekly or daily"),
    ],
)
def test_an_answer_that_makes_no_sense_is_refused(place: Path, answers: str, says: str) -> None:
    done = answered(answers)
    assert done.code == 2
    assert says in done.err.splitlines()[-1]
    assert "othing was charged" in done.err.splitlines()[-1]
    assert not (place / "ledger.db").exists()


def in_a_terminal(*answers: bytes) -> tuple[int, str]:
    """Type answers, each when its question is there; b"\\x03" is Ctrl-C, b"\\x04" the end."""
    pid, screen = pty.fork()
    if pid == 0:
        os.execvp("headcount", ["headcount", "start", "events.parquet"])
    shown = b""
    signal.alarm(300)
    for answer in answers:
        n = len(shown)
        while not shown[n:].rstrip().endswith((b"]", b"it is.")):
            shown += os.read(screen, 4096)
        time.sleep(0.1)
        os.write(screen, answer)
    try:
        while more := os.read(screen, 4096):
            shown += more
    except OSError:  # how a terminal ends
        pass
    signal.alarm(0)
    os.close(screen)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


def test_in_a_terminal_a_question_is_asked_again(place: Path) -> None:
    code, shown = in_a_terminal(b"nope\n", b"user_id\n", b"\n", b"\n", b"\n", b"\n")
    assert code == 0, shown
    assert "no column 'nope'" in shown
    assert shown.count("1. Who is protected?") == 2
    assert "headcount count-users events.parquet --user user_id --by page" in shown


@pytest.mark.parametrize(("key", "code"), [(b"\x03", 130), (b"\x04", 2)], ids=["Ctrl-C", "end"])
def test_leaving_charges_nothing(place: Path, key: bytes, code: int) -> None:
    ended, shown = in_a_terminal(b"user_id\n", key)
    assert ended == code
    assert "othing was charged" in shown.splitlines()[-1] or "nothing was charged" in shown
    assert "Traceback" not in shown
    assert not (place / "ledger.db").exists()
