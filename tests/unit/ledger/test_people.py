from __future__ import annotations

import json
import re
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headcount.cli import main as cli
from headcount.cli.commands import app
from headcount.ledger.journal import HASHED, hash_of
from headcount.ledger.ledger import Ledger
from headcount.ledger.statement.bar import percent, svg_bar, text_bar
from headcount.ledger.statement.statement import statement
from headcount.privacy.budget import Budget
from headcount.privacy.event import Event, GaussianNoise, GaussianThreshold
from headcount.privacy.neighbours import Neighbours

STEEP = GaussianThreshold(Fraction(1), Fraction(8), Fraction(1, 10**7))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    book = Ledger(tmp_path / "ledger.db")
    book.open_account("web", Budget(epsilon=3, delta=1e-6), covers=["/data/<b>events</b>"])
    return book


def charge(ledger: Ledger, key: str, event: Event) -> int:
    return ledger.charge(
        ledger.opening("web"),
        key=key,
        fresh=True,
        request_hash="r",
        verb="count_users",
        event=event,
        neighbours=Neighbours.ADD_REMOVE,
        about={"by": "page | <script>", "user": "user_id"},
    ).sequence


def test_the_bar_shows_what_is_spent(ledger: Ledger) -> None:
    assert text_bar(ledger.account("web"), 10) == "░" * 10
    assert percent(ledger.account("web")) == "0 %"
    charge(ledger, "k", STEEP)
    account = ledger.account("web")
    assert text_bar(account, 10).count("█") == 4  # rho 1/16 of 0.1757
    assert percent(account) == "35.6 %"
    assert 'width="213.4"' in svg_bar(account)


def test_a_statement_says_all_that_must_be_filed(ledger: Ledger) -> None:
    ledger.store_result(charge(ledger, "k", STEEP), b"rows")
    ledger.set_quota("web", "ann", Budget(epsilon=1))
    text = statement(ledger, "web")
    account = ledger.account("web")
    for words in (
        "Unit of privacy",
        "adding or removing one user",
        "column user_id",
        "Privacy loss",
        f"epsilon {float(account.epsilon_spent):.4g} at delta 1e-06",
        "limit is epsilon 3 at delta 1e-06",
        "Sensitivity",
        "trusted curator",
        "Side channels",
        "What is not covered",
        "Gaussian noise and threshold: l2 squared 1, sigma squared 8, delta 1e-07",
        ledger.analyst,
        "ann",
        ledger.verify().head.hash,
    ):
        assert words in text, words


def test_a_page_is_complete_in_itself_and_takes_names_as_text(ledger: Ledger) -> None:
    charge(ledger, "k", STEEP)
    page = statement(ledger, "web", as_html=True)
    assert "<svg" in page
    assert "&lt;script&gt;" in page
    assert not re.search(r"<script|<b>|https?://|src=|@import|url\(", page)
    text = statement(ledger, "web")
    assert "page \\| &lt;script>" in text
    assert "<b>" not in text


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["ledger", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_commands_open_show_file_check_and_export(tmp_path: Path) -> None:
    where = ("--ledger", str(tmp_path / "l.db"))
    data = tmp_path / "events.parquet"
    data.write_bytes(b"")
    assert "epsilon 0 of 2" in run(
        "open", "web", "--epsilon", "2", "--quota", "ann=0.5", "--covers", str(data), *where
    )
    book = Ledger(tmp_path / "l.db")
    book.set_quota("web", book.analyst, Budget(epsilon=1))
    charge(book, "[bold]key", GaussianNoise(Fraction(1), Fraction(50)))
    shown = run("show", *where)
    for words in ("█", "quota of ann: epsilon 0 of 0.5", f"covers {data}", "count_users", "[bold]"):
        assert words in shown, words
    assert "sums agree" in run("verify", *where)
    assert run("statement", "web", *where).startswith("# Privacy statement: web")
    run("statement", "web", "--out", str(tmp_path / "s.html"), *where)
    assert (tmp_path / "s.html").read_text().startswith("<!doctype html>")
    lines = [json.loads(line) for line in run("export", *where).splitlines()]
    assert [line["kind"] for line in lines] == [
        "open-account",
        "cover",
        "cover",
        "cover",
        "quota",
        "quota",
        "charge",
    ]
    for line in lines:
        assert line["hash"] == hash_of([line[name] for name in HASHED])


def test_verify_ends_with_four_when_something_is_wrong(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sequence = charge(ledger, "k", STEEP)
    ledger.store_result(sequence, b"rows")
    raw = sqlite3.connect(ledger.address)
    raw.execute("DROP TRIGGER pieces_refuses_update")
    raw.execute("UPDATE pieces SET payload = x'00'")
    raw.commit()
    raw.close()
    monkeypatch.setattr("sys.argv", ["headcount", "ledger", "verify", "--ledger", ledger.address])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 4
    assert "was changed" in capsys.readouterr().err
