"""D11: no message repeats a user name or a password, however the address is spelled."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.cli.main import main
from headcount.ledger.address import parse_address as parse_ledger
from headcount.ledger.ledger import Ledger
from headcount.screens import WITHHELD, holds_login, is_address_like, quoted
from headcount.tables.address import is_address, parse_address
from headcount.tables.sources import identify

USER, PASSWORD = "annuser", "hunter2"
LOGIN = f"{USER}:{PASSWORD}"
BUDGET = hc.Budget(epsilon=1, delta=1e-6)

TABLES = [
    f"postgres:/{LOGIN}@127.0.0.1:1/db?table=t",
    f"postgres:{LOGIN}@127.0.0.1:1/db",
    f"postgres//{LOGIN}@127.0.0.1:1/db",
    f"POSTGRES://{LOGIN}@127.0.0.1:1/db?table=t",
    f"PostgreSQL://{LOGIN}@127.0.0.1:1/db?table=t",
    f"postgres://{LOGIN}@127.0.0.1:1/db",
    f"postgres://{LOGIN}@127.0.0.1:1/db?tabel=t",
    f"postgres://{LOGIN}@127.0.0.1:port/db?table=t",
    f"postgres://{LOGIN}/@127.0.0.1:1/db?table=t",
    f"postgres://{USER}:12/{PASSWORD}@127.0.0.1:1/db?table=t",
    f"postgres://{USER}:12#{PASSWORD}@127.0.0.1:1/db?table=t",
    f"postgres://{USER}:12?{PASSWORD}@127.0.0.1:1/db?table=t",
    f"postgres://{USER}:a@{PASSWORD}@127.0.0.1:1/db?table=t",
    f"postgres://{USER}%3A{PASSWORD}%40127.0.0.1/db?table=t",
    f"postgres://127.0.0.1:1/db?user={USER}&password={PASSWORD}&table=t",
    f"postgres://127.0.0.1:1/db?table=t?user={USER}&password={PASSWORD}",
    f"postgres://127.0.0.1:1/db?table=t%3Fpassword%3D{PASSWORD}",
    f"postgres://127.0.0.1:1/db%3Fpassword={PASSWORD}?table=t",
    f" postgres://{LOGIN}@127.0.0.1:1/db?table=t",
    f"\tpostgres://{LOGIN}@127.0.0.1:1/db?table=t\n",
    f"postgres%3A%2F%2F{USER}%3A{PASSWORD}%40h%2Fdb",
    f"postgres%253A%252F%252F{USER}%253A{PASSWORD}%2540h%252Fdb",
    f"postgres：//{USER}：{PASSWORD}＠h/db",
    f"postgresql+psycopg://{LOGIN}@h/db?table=t",
    f"jdbc:postgresql://{LOGIN}@h/db",
    f"jdbc:postgresql://h/db?user={USER}&password={PASSWORD}",
    f"mysql://{LOGIN}@h/db?table=t",
    f"redshift+adbc://{LOGIN}@h/db?table=t",
    f"https://{LOGIN}@h/events.parquet",
    f"{LOGIN}@h/db",
    f"host=h user={USER} password={PASSWORD} dbname=d",
    f"host=h user = {USER} password = '{PASSWORD}'",
    f"password={PASSWORD}",
    f"PASSWORD={PASSWORD}/x.parquet",
    f"Server=h;Uid={USER};Pwd={PASSWORD};",
    f"psql -U {USER} password {PASSWORD}",
    f"events.parquet?user={USER}&password={PASSWORD}",
    f"duckdb://{LOGIN}@h/x.duckdb?table=t",
    f"DuckDB://{LOGIN}@h/x.duckdb",
    f"duckdb:/{LOGIN}@h/x.duckdb?table=t",
    f"md:{USER}?motherduck_token={PASSWORD}",
    f"*/{LOGIN}@h/*.parquet",
]
LEDGERS = [
    f"mysql://{LOGIN}@h/db",
    f"postgresql:/{LOGIN}@h/db",
    f"postgresql:{LOGIN}@h",
    f"postgresql:{LOGIN}@h/db",
    f"POSTGRESQL://{LOGIN}@127.0.0.1:1/db",
    f" postgresql://{LOGIN}@127.0.0.1:1/db",
    f"postgresql+psycopg://{LOGIN}@h/db",
    f"postgresql://{LOGIN}@127.0.0.1:1/db?password={PASSWORD}&options=-cx%3D{PASSWORD}",
    f"postgresql://{USER}:hun@{PASSWORD}@127.0.0.1:1/db",
    f"postgresql://{USER}:12/{PASSWORD}@127.0.0.1:1/db",
    f"postgresql://{LOGIN}/@127.0.0.1:1/db",
    f"postgresql://{USER}%3A{PASSWORD}%40127.0.0.1/db",
    f"postgresql://{LOGIN}@127.0.0.1:port/db",
    f"postgresql://127.0.0.1/db?port={PASSWORD}",
    f"postgresql:///db?host=127.0.0.1&password={PASSWORD}&user={USER}&port=1",
    f"postgresql://{LOGIN}@127.0.0.1:1",
    f"host=h user={USER} password={PASSWORD}",
    f"password={PASSWORD}",
    f"sqlite:///{LOGIN}@h/ledger.db",
]
PATHS = [
    "events.parquet",
    "/data/2026/month=05/*.csv",
    "data/day=2026-01-0?/country=SE/part-0.parquet",
    "logs/2026-01-01T12:30:00.csv.gz",
    "../a b/c d.csv",
    "passwords/password_resets.parquet",
    "C++ & R&D/été [1].parquet",
    "100%.csv",
    "~/.local/share/headcount/ledger.db",
]


def told(call: object, *arguments: object, **named: object) -> str:
    """The error of a call as Python would print it, with whatever it is linked to."""
    with pytest.raises(hc.HeadcountError) as caught:
        call(*arguments, **named)  # type: ignore[operator]
    return "".join(traceback.format_exception_only(caught.value)) + str(caught.value.__cause__)


def gives_nothing_away(text: str) -> bool:
    return not any(part in text for part in (USER, PASSWORD, "hun@"))


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"u": ["a"], "g": ["b"]}), "events.parquet")
    return tmp_path


@pytest.mark.parametrize("source", TABLES)
def test_d11_no_table_is_repeated(source: str, in_folder: Path) -> None:
    assert gives_nothing_away(told(hc.open, source, user="u", ledger="l.db", budget=BUDGET))
    as_path = told(hc.open, Path(source), user="u", ledger="l.db", budget=BUDGET)
    assert gives_nothing_away(as_path)
    assert not list(in_folder.glob("l.db*"))


@pytest.mark.parametrize("ledger", LEDGERS)
def test_d11_no_ledger_is_repeated_nor_made_a_file(ledger: str, in_folder: Path) -> None:
    assert gives_nothing_away(told(Ledger, ledger))
    assert gives_nothing_away(
        told(hc.open, "events.parquet", user="u", ledger=ledger, budget=BUDGET)
    )
    assert [path.name for path in in_folder.iterdir()] == ["events.parquet"]


@pytest.mark.parametrize("text", [*TABLES, *LEDGERS])
def test_d11_what_looks_like_an_address_is_withheld(text: str) -> None:
    assert is_address_like(text)
    assert quoted(text) == WITHHELD


@pytest.mark.parametrize("path", PATHS)
def test_d11_plain_paths_are_repeated(path: str, in_folder: Path) -> None:
    assert quoted(path) == repr(path)
    assert not holds_login(path)
    if not Path(path).exists() and not path.startswith("~"):
        assert repr(path) in told(hc.open, path, user="u", ledger="l.db", budget=BUDGET)


def test_d11_upper_case_and_spaces_are_the_same_address() -> None:
    spelled = ["postgres://h:1/db?table=a.t", "POSTGRES://h:1/db?table=a.t",
               " PostgreSQL://u:p@h:1/db?table=a.t\n"]  # fmt: skip
    assert all(map(is_address, spelled))
    assert {str(parse_address(text)) for text in spelled} == {spelled[0]}
    assert {str(parse_address(f"{x}://x.db?table=t")) for x in ("duckdb", "DuckDB")} == {
        "duckdb://x.db?table=t"
    }
    ledgers = ("postgres://h/db", "POSTGRESQL://u:p@h/db", " Postgres://h:5432/db ")
    assert {str(parse_ledger(text)) for text in ledgers} == {"postgresql://h:5432/db"}
    assert "hunter2" not in str(
        parse_ledger("postgres://h/d?options=-csearch_path%3Done%20-cx%3Dhunter2")
    )


def test_d11_an_account_does_not_get_an_address_for_a_name(in_folder: Path) -> None:
    source = f"mysql://{LOGIN}@h/db"
    assert gives_nothing_away(told(identify, source))
    assert gives_nothing_away(
        told(hc.open, "events.parquet", user="u", ledger="l.db", budget=BUDGET, account=source)
    )
    ledger = Ledger("l.db")
    assert gives_nothing_away(told(ledger.account, source))
    assert gives_nothing_away(told(ledger.open_account, source))
    assert gives_nothing_away(told(ledger.open_account, "web", BUDGET, covers=[source]))
    assert ledger.accounts() == []
    (in_folder / "ann@corp").mkdir()
    pq.write_table(pa.table({"u": ["a"], "g": ["b"]}), "ann@corp/events.parquet")
    for path in ("ann@corp/events.parquet", "ann@corp/*.parquet"):
        hc.open(path, user="u", ledger=ledger, budget=BUDGET)


ADDRESS = f"postgres:/{LOGIN}@h/db?table=t"
COMMANDS = [
    [ADDRESS],
    ["count-users", ADDRESS, "--user", "u", "--by", "g", "--ledger", "l.db"],
    ["count-users", "events.parquet", ADDRESS, "--user", "u", "--by", "g"],
    ["count-users", "events.parquet", "--user", "u", "--by", "g", "--ledger", ADDRESS],
    ["count-users", "events.parquet", "--user", "u", "--by", "g", f"--ledgr={ADDRESS}"],
    ["count-users", "events.parquet", "--user", "u", "--by", "g", f"--top={ADDRESS}"],
    ["count-users", "events.parquet", "--user", "u", "--by", "g", "--groups", ADDRESS],
    ["count-users", "events.parquet", "--user", "u", "--by", "g", "--ledger", "l.db", "--out",
     f"{ADDRESS}.csv"],
    ["count-users", "events.parquet", "--user", "u", "--by", "g", "--ledger", "l.db", "--plot",
     f"{ADDRESS}.html"],
    ["count-users", "events.parquet", "--user", "u", "--by", "g", "--ledger", "l.db", "--out",
     ADDRESS],
    ["ledger", ADDRESS],
    ["ledger", "show", "--ledger", ADDRESS],
    ["ledger", "show", "--account", ADDRESS, "--ledger", "l.db"],
    ["ledger", "open", ADDRESS, "--epsilon", "1", "--ledger", "l.db"],
    ["ledger", "open", "web", "--epsilon", "1", "--covers", ADDRESS, "--ledger", "l.db"],
    ["ledger", "export", "--out", f"{ADDRESS}/x", "--ledger", "l.db"],
    ["ledger", "statement", "web", "--out", ADDRESS, "--ledger", "l.db"],
    ["stream", "describe", ADDRESS],
    ["stream", "new", ADDRESS, "--buckets", "8", "--epsilon", "1"],
    ["demo", ADDRESS, "--users", "10", "--pages", "2"],
]  # fmt: skip


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda words: " ".join(words[:2])[:20])
def test_d11_no_command_repeats_it(
    arguments: list[str],
    in_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["headcount", *arguments])
    monkeypatch.setenv("COLUMNS", "400")
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert ended.value.code not in (0, None)
    assert gives_nothing_away(said.out + said.err)
    assert "Traceback" not in said.err
    assert said.err.strip()
