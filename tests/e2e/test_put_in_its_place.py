"""A file that is put in the place of another keeps the account of its people."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

import headcount as hc
from headcount.errors import EngineError, HeadcountError, LedgerError

BUDGET, ONE = hc.Budget(rho=10), hc.Budget(rho=1)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, n_users in (("real", 500), ("other", 3)):
        rows = "".join(f"u{i},a\n" for i in range(n_users))
        Path(f"{name}.csv").write_text(f"user,group\n{rows}")
        with duckdb.connect(f"{name}.duckdb") as connection:
            connection.execute(f"create table t as from '{name}.csv'")
    return tmp_path


def opened(source: str, here: Path, account: str | None = None) -> hc.Dataset:
    return hc.open(source, user="user", budget=BUDGET, ledger=here / "l.db", account=account)


def planned(data: hc.Dataset) -> hc.Plan:
    return data.count_users("group", groups=["a"], spend=ONE)


def linked(real: str, other: str) -> None:
    Path(other).unlink()
    os.link(real, other)


WAYS: dict[str, Callable[[str, str], object]] = {"a hard link": linked, "a rename": os.replace}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ending", [".csv", ".duckdb?table=t"])
def test_it_is_refused_under_the_account_of_the_other(way: str, ending: str, here: Path) -> None:
    scheme = "duckdb://" if "?" in ending else ""
    real, other = (f"{scheme}{here}/{name}{ending}" for name in ("real", "other"))
    for account, source in (("a", real), ("b", other)):
        planned(opened(source, here, account)).release()
    plain = ending.partition("?")[0]
    WAYS[way](f"real{plain}", f"other{plain}")
    with pytest.raises(LedgerError, match=r"overlaps those of several accounts: a, b"):
        opened(other, here)
    with pytest.raises(LedgerError, match="belongs to account 'a'"):
        opened(other, here, "b")


@pytest.mark.parametrize("way", WAYS)
def test_it_is_refused_after_the_other_was_opened(way: str, here: Path) -> None:
    planned(opened("real.csv", here)).release()
    plan = planned(opened("other.csv", here))
    WAYS[way]("real.csv", "other.csv")
    with pytest.raises(LedgerError, match="belongs to account"):
        plan.release()


def test_a_folder_that_became_a_link_is_refused(here: Path) -> None:
    for folder, name in (("a", "other.csv"), ("b", "real.csv")):
        Path(folder).mkdir()
        shutil.copy(name, f"{folder}/t.csv")
    planned(opened("b/t.csv", here)).release()
    plan = planned(opened("a/t.csv", here))
    os.rename("a", "c")
    os.symlink("b", "a")
    with pytest.raises(LedgerError, match="leads to another file"):
        plan.release()


def test_what_was_read_meanwhile_is_not_shown(here: Path) -> None:
    planned(opened("real.csv", here)).release()
    data = opened("other.csv", here)

    def swap(stage: str) -> None:
        if stage == "reading the table":
            linked("real.csv", "other.csv")

    with pytest.raises(EngineError):
        planned(data).release(progress=swap)
    (entry,) = data.ledger.entries(data.account_name)
    assert not entry.has_result


def test_what_the_ledger_keeps_of_a_file_does_not_tell_its_size(here: Path) -> None:
    covers = []
    for n_rows in (10, 11):
        Path("sized.csv").write_text("user,group\n" + "u,a\n" * n_rows)
        os.utime("sized.csv", ns=(1, 1))
        data = hc.open("sized.csv", user="user", budget=BUDGET, ledger=here / f"{n_rows}.db")
        covers.append(data.opening.covers)
    assert covers[0] == covers[1]


def test_a_file_that_is_written_anew_keeps_its_account(here: Path) -> None:
    first = planned(opened("real.csv", here)).release()
    Path("new.csv").write_text("user,group\nu1,a\n")
    os.replace("new.csv", "real.csv")
    data = opened("real.csv", here)
    assert data.account.spent.rho == 1
    assert first.facts is not None
    try:
        planned(data).release(fresh=True)
    except HeadcountError as error:  # pragma: no cover
        pytest.fail(str(error))
