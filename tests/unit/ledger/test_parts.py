"""One charge for several rounds: each stores what it shows, once, and none that nobody paid for."""

from __future__ import annotations

import json
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headcount.cli.commands import app
from headcount.errors import LedgerError, UsageError
from headcount.ledger import parts
from headcount.ledger.copies import verify_copy
from headcount.ledger.journal import HASHED, hash_of
from headcount.ledger.ledger import Ledger
from headcount.ledger.statement.statement import statement
from headcount.privacy.budget import Budget
from headcount.privacy.event import Composed, Event, GaussianNoise, SampleThreshold
from headcount.privacy.neighbours import Neighbours

ROUNDS = SampleThreshold(
    Fraction(1, 16), Fraction(12), Fraction(3), Fraction(1, 2), Fraction(1, 10**8)
)
ABOUT = {"task": "top_app", "population": "phones", "rounds": "3", "cover": "yes"}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    book = Ledger(tmp_path / "ledger.db")
    book.open_account("phones", Budget(rho=10, delta=1e-6), Neighbours.REPLACE, ["fleet:phones"])
    return book


def charge(ledger: Ledger, key: str = "fleet/top_app/1", event: Event = ROUNDS) -> int:
    return ledger.charge(
        ledger.opening("phones"),
        key=key,
        fresh=True,
        request_hash=key,
        verb="fleet",
        event=event,
        neighbours=Neighbours.REPLACE,
        about=ABOUT,
    ).sequence


def test_each_round_is_stored_once_and_costs_nothing_more(ledger: Ledger) -> None:
    paid = charge(ledger)
    spent = ledger.account("phones").spent
    assert ledger.stored_part(paid, 0) is None
    assert ledger.store_part(paid, 2, b"third") == b"third"
    assert ledger.store_part(paid, 0, b"") == b""
    assert ledger.store_part(paid, 0, b"another count") == b""
    assert ledger.store_part(paid, 2, b"another count") == b"third"
    assert [ledger.stored_part(paid, part) for part in range(3)] == [b"", None, b"third"]
    assert ledger.stored_parts(paid) == [0, 2]
    assert ledger.account("phones").spent == spent
    (entry,) = ledger.entries("phones")
    assert (entry.n_parts, entry.has_result, entry.rounds_shown) == (2, False, "2 rounds")
    assert len(ledger.verify().parts) == 2
    assert ledger.journal()[-1]["kind"] == "part"


def test_a_part_that_nobody_paid_for_is_refused(ledger: Ledger) -> None:
    paid = charge(ledger)
    with pytest.raises(LedgerError, match=r"paid for 3 rounds, parts 0 to 2; .* as part 3"):
        ledger.store_part(paid, 3, b"rows")
    with pytest.raises(UsageError, match="part must be a whole number"):
        ledger.store_part(paid, -1, b"rows")
    with pytest.raises(LedgerError, match="There is no charge under entry 1,"):
        ledger.store_part(1, 0, b"rows")
    noise = GaussianNoise(Fraction(1), Fraction(50))
    for event in (noise, Composed((ROUNDS,))):
        once = charge(ledger, event.kind, event)
        with pytest.raises(LedgerError, match="paid for one release, which has no parts"):
            ledger.store_part(once, 0, b"rows")
    assert len(ledger.journal()) == 5
    assert not ledger.verify().parts


def test_a_charge_has_a_result_or_parts(ledger: Ledger) -> None:
    whole, rounds = charge(ledger, "whole"), charge(ledger, "rounds")
    ledger.store_result(whole, b"rows")
    with pytest.raises(LedgerError, match="has a stored result"):
        ledger.store_part(whole, 0, b"rows")
    ledger.store_part(rounds, 1, b"rows")
    with pytest.raises(LedgerError, match="has stored parts"):
        ledger.store_result(rounds, b"rows")
    ledger.verify()


def test_a_part_too_long_is_refused_before_anything_is_written(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "LARGEST", 4)
    paid = charge(ledger)
    with pytest.raises(UsageError, match="at most 4 bytes, and this one has more"):
        ledger.store_part(paid, 0, b"12345")
    assert ledger.store_part(paid, 0, b"1234") == b"1234"


def forge(ledger: Ledger, kind: str, event: str, payload: bytes, at: tuple[int, int]) -> None:
    """An entry with good hashes, as only someone who owns the file can write it."""
    row = dict(ledger.journal()[-1])
    row |= {"sequence": row["sequence"] + 1, "kind": kind, "event": event, "previous": row["hash"]}
    row |= {"digest": parts.digest_of(payload), "about": "", "rho": 0, "delta": 0}
    row["about"] = json.dumps({"pieces": "1"}) if kind == "result" else ""
    row["hash"] = hash_of([row[name] for name in HASHED])
    table = "pieces" if kind == "result" else "parts"
    with sqlite3.connect(ledger.address) as raw:
        raw.execute(f"INSERT INTO entries VALUES ({','.join('?' * len(row))})", tuple(row.values()))
        raw.execute(f"INSERT OR IGNORE INTO {table} VALUES (?, ?, ?)", (*at, payload))
    raw.close()


@pytest.mark.parametrize(
    ("kind", "event", "at", "says"),
    [
        ("part", '{"charge": 3, "part": 3}', (3, 3), "a part that nobody paid for"),
        ("part", '{"charge": 3, "part": -1}', (3, -1), "a part that nobody paid for"),
        ("part", '{"charge": 1, "part": 0}', (1, 0), "a part that nobody paid for"),
        ("part", '{"part": 0, "charge": 3}', (3, 0), "a second part of one round"),
        ("part", '{"charge": 3, "part": 1.0}', (3, 1), "makes no sense"),
        ("part", '{"charge": 3}', (3, 1), "makes no sense"),
        ("part", '{"charge": 4, "part": 0}', (4, 0), "has a result and parts"),
        ("result", '{"charge": 3}', (3, 0), "has a result and parts"),
    ],
)
def test_what_could_not_be_stored_is_found_by_verify(
    ledger: Ledger, kind: str, event: str, at: tuple[int, int], says: str, tmp_path: Path
) -> None:
    paid, whole = charge(ledger), charge(ledger, "whole")
    assert (paid, whole) == (3, 4)
    ledger.store_result(whole, b"rows")
    ledger.store_part(paid, 0, b"rows")
    forge(ledger, kind, event, b"rows", at)
    elsewhere = tmp_path / "another machine"
    with pytest.raises(LedgerError, match=says):
        Ledger(ledger.address, heads=elsewhere).verify()


def test_an_exported_journal_is_checked_with_its_parts(ledger: Ledger, tmp_path: Path) -> None:
    ledger.store_part(charge(ledger), 1, b"rows")
    lines = [json.dumps(entry) + "\n" for entry in ledger.journal()]
    copy = tmp_path / "journal.jsonl"
    copy.write_text("".join(lines))
    assert len(verify_copy(copy).parts) == 1
    assert len(verify_copy(ledger.address).parts) == 1


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["ledger", *arguments])
    assert result.exit_code == code or result.exception, result.output
    return result.output + str(result.exception or "")


def test_the_statement_says_who_is_trusted_with_answers_of_devices(ledger: Ledger) -> None:
    ledger.store_part(charge(ledger), 0, b"rows")
    for text in (statement(ledger, "phones"), statement(ledger, "phones", as_html=True)):
        for words in (
            "Answers collected from devices",
            "one device with all its answers in one period",
            "1 round released",
            "top_app",
            "not said",
        ):
            assert words in text, words
    ledger.open_account("web", Budget(rho=1))
    assert "devices" not in statement(ledger, "web")


def test_the_commands_show_and_check_parts(ledger: Ledger) -> None:
    where = ("--ledger", ledger.address)
    paid = charge(ledger)
    assert "none" in run("show", *where)
    for part in (0, 2):
        ledger.store_part(paid, part, b"rows")
    assert "2 rounds" in run("show", *where)
    assert "2 stored parts of charges for rounds: hashes agree" in run("verify", *where)
    said = run("result", "fleet/top_app/1", *where, code=2)
    assert "Rounds that were shown: 0, 2" in said
    said = run("result", "fleet/top_app/1", "--part", "1", *where, code=2)
    assert "nothing in round 1" in said
