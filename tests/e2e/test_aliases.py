"""D4: one table, one account, however it is spelled."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.errors import LedgerError, UsageError
from headcount.ledger.ledger import Ledger
from headcount.releases import accounts
from headcount.releases.accounts import default_ledger

BUDGET = hc.Budget(rho=1000, delta=1e-3)
ONE = hc.Budget(rho=1)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    table = pa.table({"user": list(range(500)), "group": ["a"] * 500})
    folder = tmp_path / "data"
    (folder / "sub" / "deep").mkdir(parents=True)
    pq.write_table(table, folder / "events.parquet")
    for name in ("link.parquet", "sub/link.parquet", "sub/deep/link.parquet"):
        os.symlink(folder / "events.parquet", folder / name)
    os.symlink(folder, tmp_path / "elsewhere")
    for name in ("hard.parquet", "sub/hard.parquet"):
        os.link(folder / "events.parquet", folder / name)
    os.symlink("sub/hard.parquet", folder / "soft-hard.parquet")
    with duckdb.connect(str(folder / "w.duckdb")) as connection:
        connection.register("incoming", table)
        connection.execute("create table ev as from incoming")
        connection.execute("create schema s2")
        connection.execute("create view v as from ev")
        connection.execute('create view s2.w as select "user", "group" from v')
    os.symlink("w.duckdb", folder / "w-link.duckdb")
    os.link(folder / "w.duckdb", folder / "w-hard.duckdb")
    monkeypatch.chdir(folder)
    return folder


def file_spellings(here: Path) -> Iterator[str | Path]:
    yield from (
        "events.parquet",
        "./events.parquet",
        ".//events.parquet",
        "sub/../events.parquet",
        "sub/deep/../../events.parquet",
        "../data/events.parquet",
        "../elsewhere/events.parquet",
        "../elsewhere/sub/../events.parquet",
        str(here / "events.parquet"),
        "//" + str(here)[1:] + "/events.parquet",
        f"{here.parent}/elsewhere/events.parquet",
        Path("events.parquet"),
        here / "events.parquet",
        "link.parquet",
        "sub/link.parquet",
        "sub/deep/link.parquet",
        "hard.parquet",
        "sub/hard.parquet",
        "soft-hard.parquet",
        "../elsewhere/hard.parquet",
        "events.par*",
        "event[s].parquet",
        "[e]vents.parquet",
        "?vents.parquet",
        "even*",
        "e*.parquet",
        "l*.parquet",
        "h*d.parquet",
        "**/events.parquet",
        "**/deep/*.parquet",
        "sub/*.parquet",
        "sub/**/link.parquet",
        "sub/h*",
        "*.parquet",
        "[el]*.parquet",
        "**/*.parquet",
        "../*/events.parquet",
        "../els*/link.parquet",
        "../**/hard.parquet",
        "./sub/../sub/../events.p*t",
    )


def duckdb_spellings(here: Path) -> Iterator[str]:
    places = (
        "w.duckdb",
        "./w.duckdb",
        "sub/../w.duckdb",
        str(here / "w.duckdb"),
        "%77.duckdb",
        "../elsewhere/w.duckdb",
        "w-link.duckdb",
        "w-hard.duckdb",
    )
    for place in places:
        yield f"duckdb://{place}?table=ev"
        yield f"duckdb://{place}?table=main.ev"
        yield f"duckdb://{place}?table=EV"
        yield f"duckdb://{place}?x=1&table=Main.Ev"
        yield f"duckdb://{place}?table=v"
        yield f"duckdb://{place}?table=s2.w"


def ask(source: Any, ledger: Path, account: str | None) -> str:
    data = hc.open(source, user="user", budget=BUDGET, ledger=ledger, account=account)
    data.count_users("group", groups=["a"], bound=1, spend=ONE).release()
    return data.account_name


@pytest.mark.parametrize("first", ["events.parquet", "hard.parquet", "e*.parquet", "sub/*.parquet"])
def test_forty_spellings_of_a_file_are_one_account(here: Path, tmp_path: Path, first: str) -> None:
    spellings = list(file_spellings(here))
    assert len(spellings) >= 40
    ledger = tmp_path / "ledger.db"
    owner = ask(first, ledger, None)
    found = {str(spelling): ask(spelling, ledger, None) for spelling in spellings}
    assert set(found.values()) == {owner}, found
    for spelling in spellings:
        with pytest.raises(LedgerError, match="belongs to account"):
            ask(spelling, ledger, "another budget")
    assert [account.name for account in Ledger(ledger).accounts()] == [owner]


def test_spellings_of_one_file_are_one_question(here: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    for spelling in (
        "events.parquet",
        "./event[s].parquet",
        "link.parquet",
        here / "events.parquet",
    ):
        ask(spelling, ledger, None)
    (account,) = Ledger(ledger).accounts()
    assert account.spent.rho == 1


def test_spellings_of_a_duckdb_table_are_one_account(here: Path, tmp_path: Path) -> None:
    spellings = list(duckdb_spellings(here))
    assert len(spellings) >= 40
    ledger = tmp_path / "ledger.db"
    ask(spellings[0], ledger, "web")
    assert {ask(spelling, ledger, None) for spelling in spellings} == {"web"}
    for spelling in spellings:
        with pytest.raises(LedgerError, match="belongs to account 'web'"):
            ask(spelling, ledger, "another budget")


def test_a_connection_of_ones_own_is_no_way_around(here: Path, tmp_path: Path) -> None:
    import ibis

    ledger = tmp_path / "ledger.db"
    ask("duckdb://w.duckdb?table=ev", ledger, "web")
    connection = ibis.duckdb.connect("w-hard.duckdb", read_only=True)
    for name in ("ev", "v"):
        table = connection.table(name)
        for expr in (table, table.filter(table.user < 100), table.mutate(more=1)):
            with pytest.raises(LedgerError, match="belongs to account 'web'"):
                ask(expr, ledger, "another budget")


def test_another_file_is_another_account(here: Path, tmp_path: Path) -> None:
    """Also one that took the number of a deleted file, or has the same name elsewhere."""
    ledger = tmp_path / "ledger.db"
    ask("events.parquet", ledger, None)
    shutil.copy("events.parquet", "sub/events.parquet")
    assert ask("sub/events.parquet", ledger, None) == str(here / "sub" / "events.parquet")
    owners = set()
    for number in range(5):
        path = Path(f"day-{number}.parquet")
        pq.write_table(pa.table({"user": [1], "group": [f"a{number}"]}), path)
        owners.add(ask(path, ledger, None))
        path.unlink()
    assert len(owners) == 5


def test_a_file_that_was_moved_is_known_again(here: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    for name in ("hard.parquet", "sub/hard.parquet", "soft-hard.parquet"):
        os.unlink(name)
    owner = ask("events.parquet", ledger, None)
    os.rename("events.parquet", "moved.parquet")
    assert ask("moved.parquet", ledger, None) == owner


def test_files_of_two_accounts_cannot_be_opened_as_one(here: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    shutil.copy("events.parquet", "other.parquet")
    ask("events.parquet", ledger, None)
    ask("other.parquet", ledger, "other")
    with pytest.raises(LedgerError, match="several accounts"):
        ask("[eo]*.parquet", ledger, None)
    with pytest.raises(LedgerError, match="belongs to account"):
        ask("[eo]*.parquet", ledger, "other")


def test_a_new_file_of_a_pattern_joins_its_account(here: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    owner = ask("e*.parquet", ledger, "web")
    shutil.copy("events.parquet", "evening.parquet")
    assert ask("e*.parquet", ledger, None) == owner
    assert ask("evening.parquet", ledger, None) == owner


@pytest.mark.parametrize("kind", ["overlay", "tmpfs"])
def test_no_ledger_begins_by_itself_where_it_would_not_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.delenv("HEADCOUNT_LEDGER", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(LedgerError, match=r"temporary files.*Nothing was charged"):
        default_ledger()
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    monkeypatch.setattr(accounts, "file_system", lambda _path: kind)
    with pytest.raises(LedgerError, match="does not last"):
        default_ledger()
    monkeypatch.setattr(accounts, "file_system", lambda _path: "ext4")
    place = Path(default_ledger())
    place.parent.mkdir()
    place.touch()
    monkeypatch.setattr(accounts, "file_system", lambda _path: kind)
    assert default_ledger() == place, "one that is there is used"
    monkeypatch.setenv("HEADCOUNT_LEDGER", "told.db")
    assert default_ledger() == "told.db"


def test_a_misspelling_opens_nothing(here: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    ask("events.parquet", ledger, None)
    with pytest.raises(UsageError, match="no file"):
        ask("evnets.parquet", ledger, None)
    assert len(Ledger(ledger).accounts()) == 1


def test_an_account_opened_from_python_covers_what_its_sources_are_known_by(here: Path) -> None:
    book = Ledger("l.db")
    unknown = ("events.parquet", "./events.parquet", str(here / "link.parquet"), "warehouse")
    for source in (*unknown, "duckdb://w.duckdb?table=ev", str(here / "sub/../events.parquet")):
        with pytest.raises(UsageError, match=r"ledger open web .*--covers.* Nothing was charged"):
            book.open_account("web", BUDGET, covers=[source])
    assert book.accounts() == []
    book.open_account("web", BUDGET, covers=[str(here / "events.parquet")])
    for source in ("events.parquet", "link.parquet", "../elsewhere/events.parquet"):
        assert hc.open(source, user="user", ledger=book).account_name == "web"
