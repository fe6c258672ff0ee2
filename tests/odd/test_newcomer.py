"""What a newcomer stumbles over at the command line, and what is said about it."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.odd.commands import Ended
from tests.odd.commands import run as run_in

from headcount.accounting.convert import RHO_UNIT, zcdp_of
from headcount.cli.spelling import in_shell
from headcount.ledger.account import Account, refusal
from headcount.ledger.ledger import Ledger
from headcount.privacy.budget import Budget
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp

COUNT = ["count-users", "t.parquet", "--user=user"]
BY_PAGE = [*COUNT, "--by=page", "--epsilon=1"]
PYTHON = re.compile(r"hc\.|headcount\.\w+\(|PosixPath|\b[a-z_]+=(?!timestamp|number|integer)|None")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADCOUNT_LEDGER", str(tmp_path / "l.db"))
    monkeypatch.setenv("HEADCOUNT_HEADS", str(tmp_path / "heads"))
    monkeypatch.chdir(tmp_path)
    i = np.arange(3_000)
    times = pa.array(i * 10**9, pa.timestamp("us"))
    pages = [f"p{k % 5}" for k in i]
    rows = pa.table({"user": i % 1000, "page": pages, "time": times})
    pq.write_table(rows, tmp_path / "t.parquet")
    (tmp_path / "ages.csv").write_text("user,age\n1,20\n2,30\n")
    return tmp_path


def run(*words: str) -> Ended:
    return run_in(list(words), Path.cwd())


def entries() -> list[tuple[int, bool]]:
    book = Ledger("l.db")
    return [(e.sequence, e.has_result) for a in book.accounts() for e in book.entries(a.name)]


def test_demo_overwrites_nothing(place: Path) -> None:
    assert run("demo", "--users=5", "--pages=3").code == 0
    before = (place / "events.parquet").read_bytes()
    ended = run("demo", "--users=6", "--pages=3")
    assert ended.code == 2
    assert (
        "'events.parquet' is there already and is not overwritten. Name another: headcount demo "
        "demo.parquet" in ended.err
    )
    assert (place / "events.parquet").read_bytes() == before


def test_the_plan_says_what_fresh_will_do(place: Path) -> None:
    assert run(*BY_PAGE, "--budget=3", "--key=k").code == 0
    same = run(*BY_PAGE, "--plan").out
    assert "shown again, free; --fresh charges again" in same
    fresh = run(*BY_PAGE, "--fresh", "--plan").out
    assert re.search(
        r"--fresh +new rows are drawn, and charged again\n +left after +epsilon 2\.\d+ of 3", fresh
    )
    assert "shown again" not in fresh
    assert "shown again, free" in run(*BY_PAGE, "--fresh", "--key=k", "--plan").out
    assert len(entries()) == 1
    foot = run(*BY_PAGE).out
    assert "fresh=True" not in foot
    assert "--fresh draws new rows and charges again" in foot


def test_a_fresh_plan_that_cannot_be_paid_is_refused(place: Path) -> None:
    assert run(*BY_PAGE, "--budget=1").code == 0
    assert run(*BY_PAGE, "--plan").code == 0
    assert run(*BY_PAGE, "--plan", "--fresh").code == 3


@pytest.mark.parametrize("other", ["--fresh", "--key=k"])
def test_again_goes_with_no_other(other: str, place: Path) -> None:
    assert run(*BY_PAGE, "--budget=3", "--key=k").code == 0
    ended = run(*BY_PAGE, "--again=k", other)
    assert ended.code == 2
    assert "--again shows what was released and never charges" in ended.err
    assert len(entries()) == 1


@pytest.mark.parametrize(
    "command", [["show"], ["verify"], ["export"], ["statement", "web"], ["result", "k"]], ids=str
)
def test_who_only_looks_makes_no_ledger(command: list[str], place: Path) -> None:
    for there, shown in (("none.db", f"{place}/none.db"), ("no/such/none.db",) * 2):
        ended = run("ledger", *command, f"--ledger={there}")
        assert ended.code == 4, ended.out
        assert f"There is no ledger at '{shown}'. Check --ledger and HEADCOUNT_LEDGER." in ended.err
    assert not (place / "no").exists()
    assert not (place / "none.db").exists()
    assert not (place / "heads").exists()


def test_a_ledger_that_is_gone_is_called_gone(place: Path) -> None:
    assert run("ledger", "open", "web", "--budget=1").code == 0
    shutil.move("l.db", "elsewhere.db")
    ended = run("ledger", "show")
    assert ended.code == 4
    assert "One was there, and is gone" in ended.err
    assert not (place / "l.db").exists()


def test_show_begins_with_the_place(place: Path) -> None:
    Ledger("l.db")._make()
    empty = run("ledger", "show").out.splitlines()
    assert empty == [f"ledger {place / 'l.db'}", "The ledger has no accounts yet."]
    assert run("ledger", "open", "web", "--budget=1").code == 0
    assert run("ledger", "show").out.splitlines()[0] == f"ledger {place / 'l.db'}"


def test_empty_lines_of_groups_are_skipped_and_blanks_are_seen(place: Path) -> None:
    (place / "groups.txt").write_text("p0 \n\np1\n\np2\np3\np4\n")
    ended = run(*BY_PAGE, "--budget=3", "--groups=groups.txt", "--plan")
    assert ended.code == 0, ended.err
    assert re.search(r"listed +'p0 ', 'p1', 'p2' and 2 more\n", ended.out)
    assert "5 known groups" in ended.out


def test_a_release_without_rows_says_what_to_do(place: Path) -> None:
    ended = run(*COUNT, "--by=time:day", "--epsilon=0.03", "--budget=3")
    assert ended.code == 0, ended.err
    said = " ".join(ended.out.split())
    assert "The release has no rows." in said
    assert "A larger --epsilon shows smaller groups; --groups" in said


def test_a_key_of_another_question_is_shown_by_the_ledger(place: Path) -> None:
    assert run(*BY_PAGE, "--budget=3", "--key=monday", "--out=first.csv").code == 0
    other = run(*COUNT, "--by=time:day", "--epsilon=1", "--again=mon")
    assert other.code == 4
    assert "answered another question: count_users by page, entry 5" in other.err
    assert "Use a new key" not in other.err
    told = other.err.split("headcount ledger result ")[1].strip()
    (place / "t.parquet").unlink()
    ended = run("ledger", "result", told[:3], "--out=again.csv")
    assert ended.code == 0, ended.err
    assert "p0" in ended.out
    assert (place / "again.csv").read_bytes() == (place / "first.csv").read_bytes()
    assert run("ledger", "result", "monday", "--out=l.db").code == 2
    assert run("ledger", "result", "tuesday").code == 2
    assert run("ledger", "result", "monday", "--account=nobody").code == 4
    assert len(entries()) == 1


def test_a_result_that_was_changed_is_not_shown(place: Path) -> None:
    assert run(*BY_PAGE, "--budget=3", "--key=monday").code == 0
    with sqlite3.connect("l.db") as connection:
        connection.execute("drop trigger pieces_refuses_update")
        connection.execute("update pieces set payload = x'00'")
    ended = run("ledger", "result", "monday")
    assert ended.code == 4
    assert "was changed" in ended.err


def test_what_is_left_and_what_is_needed_are_two_numbers(place: Path) -> None:
    assert run(*BY_PAGE, "--budget=3").code == 0
    said = run("ledger", "show").out
    (left,) = re.findall(r"epsilon ([\d.]+) left for one release", said)
    assert run(*BY_PAGE[:-1], f"--epsilon={left}", "--plan").code == 0, "so much can be asked for"
    refused = run(*BY_PAGE[:-1], "--epsilon=2.99")
    assert f"Write --epsilon {left} or less." in refused.err
    limit = zcdp_of(Budget(epsilon="0.5205"))
    crumb = Zcdp(RHO_UNIT)
    account = Account("web", Neighbours.ADD_REMOVE, limit, crumb, Fraction(1, 10**6))
    said = refusal(account, limit)
    assert "has epsilon 0.5204 left, this release needs 0.5205." in said
    nothing = Account("web", Neighbours.ADD_REMOVE, limit, limit, Fraction(1, 10**6))
    assert "headcount ledger result KEY" in refusal(nothing, limit)


def test_a_spend_too_small_for_anything_is_named_in_epsilon(place: Path) -> None:
    refused = run(*BY_PAGE[:-1], "--epsilon=0.01", "--budget=3")
    (least,) = re.findall(r"Write --epsilon (0\.01\d+) or more", refused.err)
    assert run(*BY_PAGE[:-1], f"--epsilon={least}", "--budget=3", "--plan").code == 0


def test_the_way_out_of_a_fleeting_place_works_as_it_is_printed(
    place: Path, monkeypatch: pytest.MonkeyPatch, headcount_command: str
) -> None:
    monkeypatch.delenv("HEADCOUNT_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", str(place / "my data"))
    monkeypatch.setenv("TMPDIR", str(place))
    refused = subprocess.run(
        [headcount_command, *BY_PAGE, "--budget=3"], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 4
    way = refused.stderr.split("To use this place all the same: ")[1].strip()
    again = f"{way} && {headcount_command} ledger open web --budget 3"
    assert subprocess.run(["sh", "-c", again], check=False).returncode == 0
    assert (place / "my data" / "headcount" / "ledger.db").exists()


def test_a_tilde_is_the_home_folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(place))
    assert run(*BY_PAGE, "--budget=3", "--ledger=~/own.db").code == 0
    assert (place / "own.db").exists()
    monkeypatch.setenv("HEADCOUNT_LEDGER", "~/own.db")
    assert run("ledger", "show").out.startswith(f"ledger {place / 'own.db'}\n")
    assert not (place / "~").exists()


def test_a_missing_account_may_be_one_that_exists(place: Path) -> None:
    ended = run(*BY_PAGE)
    assert ended.code == 4
    assert "the people of an account that exists" in ended.err
    assert "--account '...'" in ended.err
    assert run(*BY_PAGE, "--budget=3").code == 0
    (place / "t.parquet").rename("renamed.parquet")
    again = run("count-users", "renamed.parquet", *BY_PAGE[2:], "--plan")
    assert again.code == 0, "a renamed file keeps its account"
    assert "answered" not in again.out, "and the question about it is a new one"


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        (["count-ranges", "t.parquet", "--user=user", "--range=18-65"], "18:65, :18 or 65:"),
        ([*COUNT, "--by=time"], "Cut it to a unit: --by time:day."),
        ([*COUNT, "--by=time:mnth"], "year, quarter, month, week, day or hour: --by time:day."),
        ([*COUNT, "--by=page,time:month"], "repeat the option: --by page --by time:month."),
        (["quantiles", "ages.csv", "--user=user", "--of=age", "--low=0", "--high=9"],
         "--type age=number,"),
        ([*COUNT, "--by=page", "--out=x.xlsx"], "not 'x.xlsx'. Write 'x.csv'."),
        ([*COUNT, "--by=page", "--plot=x.gif"], "not 'x.gif'. Write 'x.svg'."),
        ([*COUNT, "--by=page", "--epsilon=0"], "Write --epsilon 1."),
        ([*COUNT, "--by=page", "--top=0"], "Write --top 100."),
        ([*COUNT, "--by=page", "--within=9"], "Write --within 0.10."),
        ([*COUNT, "--by=page", "--bound=0"], "Write --bound 20, or leave it out."),
        ([*COUNT, "--by=page", "--method=best"], "Write --method auto."),
        (["quantiles", "t.parquet", "--user=user", "--low=0", "--high=9", "--at=2"],
         "Write --at 0.25 --at 0.5 --at 0.75."),
        (["quantiles", "t.parquet", "--user=user", "--low=a", "--high=9"], "--low 0 --high 100"),
        ([*COUNT, "--by=page", "--within=0.1", "--bound=3", "--method=equal"],
         "leave --bound out, or --within and --method."),
    ],
    ids=lambda words: words[-1] if isinstance(words, list) else None,
)  # fmt: skip
def test_what_to_write_is_said_as_a_shell_writes_it(
    words: list[str], instead: str, place: Path
) -> None:
    epsilon = [] if any(word.startswith("--epsilon") for word in words) else ["--epsilon=1"]
    ended = run(*words, *epsilon, "--budget=3")
    assert ended.code == 2, ended.out
    assert instead in ended.err
    assert not PYTHON.search(ended.err.replace("age=integer", "")), ended.err


def test_an_account_without_a_budget_says_the_command(place: Path) -> None:
    ended = run("ledger", "open", "web2")
    assert ended.code == 4
    assert "headcount ledger open web2 --budget 3" in ended.err
    assert not PYTHON.search(ended.err)


@pytest.mark.parametrize(
    ("python", "shell"),
    [
        ("Write spend=hc.Budget(epsilon=1), or a share of the account's whole limit: "
         "spend='1/10'. On the command line: --epsilon 1, or --spend 1/10. Nothing was charged.",
         "Write --epsilon 1, or a share of the account's whole limit: --spend 1/10. Nothing was "
         "charged."),
        ("csv=hc.Csv(header=False, columns=[...])", "--no-header --columns user,page"),
        ("say so: delimiter=';' (--delimiter ';').", "say so: --delimiter ';'."),
        ("debias=True needs bound=, for how many", "--debias needs --bound, for how many"),
        ("leave groups= or method= out.", "leave --groups or --method out."),
        ("at_most= is for method='central' without groups=", "--at-most is for --method central "
         "without --groups"),
        ("name the groups: groups=[...].", "name the groups: --groups groups.txt."),
        ("postgres://user@host:5432/database?user=ann", "postgres://user@host:5432/database?user=ann"),
        ("Cut it: hc.truncate('$(touch x)', 'day').", "Cut it: --by '$(touch x):day'."),
        ("by=[hc.bins('a;b', 10), '`id`']", "--by 'a;b:10' --by '`id`'"),
        ("say what it is: types={'a b;c': 'number'}.", "say what it is: --type 'a b;c=number'."),
        (r"types={'it\'s': 'number'}", """--type 'it'"'"'s=number'"""),
        ("--type key=integer", "--type key=integer"),
        ("not 'key=3'", "not 'key=3'"),
    ],
)  # fmt: skip
def test_words_for_a_shell(python: str, shell: str) -> None:
    assert in_shell(python) == shell


def test_groups_from_a_pipe(place: Path) -> None:
    """As `--groups <(sort pages.txt)` hands them over: they can be read once."""
    reads, writes = os.pipe()
    os.write(writes, b"p0\np1\n")
    os.close(writes)
    ended = run(*BY_PAGE, "--budget=3", f"--groups=/dev/fd/{reads}", "--out=x.csv")
    os.close(reads)
    assert ended.code == 0, ended.err
    rows = Path("x.csv").read_text().splitlines()[-2:]
    assert [row.split(",")[0] for row in rows] == ['"p0"', '"p1"']


def test_slips_of_the_pen_are_put_right(place: Path) -> None:
    """A comma for a point, letters exchanged, a word that SQL has: what to write is named."""
    comma = run(*BY_PAGE[:-1], "--epsilon=0,5", "--budget=3")
    assert "Write --epsilon 0.5, with a point." in comma.err
    misspelt = run(*COUNT, "--by=paeg", "--epsilon=1", "--budget=3")
    assert "Did you mean 'page'?" in misspelt.err
    like = run(*BY_PAGE, "--budget=3", "--where", "page like 'p%'")
    assert "uses LIKE" in like.err
    for refused in (comma, misspelt, like):
        assert refused.code == 2
        assert "othing was charged" in refused.err
