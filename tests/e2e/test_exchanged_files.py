"""What is charged for is what was opened: files that are exchanged, moved or spoilt meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.exchanges import BUDGET, ROWS, opened, planned, spent, write

import headcount as hc
from headcount.errors import HeadcountError, LedgerError, UsageError
from headcount.ledger.ledger import Ledger


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_written_after_it_was_opened_is_known_when_it_is_moved(here: Path) -> None:
    write("e.parquet")
    data = opened("e.parquet")
    os.utime("e.parquet", (1, 1))
    planned(data).release()
    os.rename("e.parquet", "m.parquet")
    assert opened("m.parquet").account_name == data.account_name
    with pytest.raises(LedgerError, match="belongs to account"):
        opened("m.parquet", "another budget")


def test_two_names_of_a_file_at_one_moment_are_one_account(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second is charged between the first one's look at the ledger and its charge."""
    write("a.parquet")
    os.link("a.parquet", "b.parquet")
    first, second = planned(opened("a.parquet")), planned(opened("b.parquet"))

    shipped = Ledger.charge

    def meanwhile(*given: Any, **named: Any) -> Any:
        monkeypatch.setattr(Ledger, "charge", shipped)
        second.release()
        return shipped(*given, **named)

    monkeypatch.setattr(Ledger, "charge", meanwhile)
    with pytest.raises(LedgerError, match="This file belongs to account"):
        first.release()
    assert list(spent().values()) == [1]
    assert planned(opened("a.parquet")).release().again is not None


def garbage(path: Path) -> None:
    path.write_bytes(b"PAR1 nothing PAR1")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


SPOILS: dict[str, Callable[[Path], object]] = {
    "gone": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:100]),
    "garbage": garbage,
    "a folder": folder,
}


@pytest.mark.parametrize("how", SPOILS)
@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_a_file_that_is_spoilt_after_its_plan_is_not_charged(
    here: Path, how: str, ending: str
) -> None:
    path = here / f"e{ending}"
    write(path)
    plan = planned(opened(str(path)))
    SPOILS[how](path)
    if (how, ending) == ("cut short", ".csv"):
        # What is left of a CSV file is read.
        plan.release()
        return
    with pytest.raises(HeadcountError, match=r"[Nn]othing was charged") as refused:
        plan.release()
    assert refused.value.__cause__ is None
    assert spent() == {}


def test_a_file_whose_name_looks_like_a_pattern(here: Path) -> None:
    write("e1.parquet", f"{ROWS} limit 9")
    write("e[1].parquet")
    planned(opened("e[1].parquet")).release()
    assert list(spent()) == [str(here / "e[1].parquet")]
    with pytest.raises(LedgerError, match="belongs to account"):
        opened(here / "e[1].parquet", "other")
    assert opened("e1.parquet").account_name == str(here / "e1.parquet")


def test_places_that_cannot_be(here: Path) -> None:
    write("e.parquet")
    with pytest.raises(UsageError, match="memory must be a size"):
        opened("e.parquet", memory="99999999999999999999TB")
    for place in ("/tmp/\ud800.db", Path(os.fsdecode(b"/tmp/\xff.db"))):
        with pytest.raises(UsageError, match="not a text in UTF-8"):
            Ledger(place)
    for heads in ("x" * 300, "/tmp/\ud800"):
        with pytest.raises(HeadcountError, match=r"HEADCOUNT_HEADS|UTF-8"):
            Ledger("l2.db", heads=heads)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_a_file_that_is_replaced_while_it_is_read_is_not_shown(here: Path, ending: str) -> None:
    path, new = here / f"e{ending}", here / f"new{ending}"
    write(path)
    write(new, f"{ROWS} limit 9")
    plan = planned(opened(str(path)))

    def replaced(stage: str) -> None:
        if stage == "reading the table":
            os.replace(new, path)

    with pytest.raises(HeadcountError):
        plan.release(progress=replaced)
    (entry,) = Ledger("l.db").entries(str(path))
    assert not entry.has_result
    # Under the same charge: nothing of the first draw was seen.
    plan.release()
    assert spent() == {str(path): 1}


def test_a_log_that_grows_while_it_is_read_is_shown(here: Path) -> None:
    write("e.csv")
    plan = planned(opened("e.csv"))

    def grow(stage: str) -> None:
        if stage == "reading the table":
            with Path("e.csv").open("a") as log:
                log.write("u9,p0,1\n")

    assert plan.release(progress=grow).to_arrow().num_rows == 1


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_a_file_that_is_gone_when_the_charge_is_made_is_not_charged(
    here: Path, ending: str
) -> None:
    path = here / f"e{ending}"
    write(path)
    plan = planned(opened(str(path)))

    def move(stage: str) -> None:
        if stage == "charging the ledger":
            os.rename(path, here / f"gone{ending}")

    with pytest.raises(HeadcountError, match=r"[Nn]othing was charged"):
        plan.release(progress=move)
    assert spent() == {}


def test_a_folder_is_no_ledger_with_a_second_name(here: Path) -> None:
    write("e.parquet")
    (here / "folder" / "below").mkdir(parents=True)
    with pytest.raises(LedgerError) as refused:
        planned(hc.open("e.parquet", user="user_id", budget=BUDGET, ledger="folder")).release()
    assert "second name" not in str(refused.value)
