"""What an analyst of a ledger on PostgreSQL can do with every right that ``ledger grant`` gives."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from tests.service.books import ONE

from headcount.ledger.schema import metadata
from headcount.ledger.windows import Windows
from headcount.privacy.budget import Budget

pytestmark = pytest.mark.postgres

DEEP = "[" * 3000 + "]" * 3000
COLUMNS = {table.name: table.columns.keys()[0] for table in metadata.tables.values()}
COLUMNS["ledger_version"] = "version_num"


def test_nothing_can_be_written_directly(book: Any) -> None:
    refused = "42501"
    for table, column in COLUMNS.items():
        for statement in (
            f"INSERT INTO {table} SELECT * FROM {table}",
            f"UPDATE {table} SET {column} = {column}",
            f"DELETE FROM {table}",
            f"TRUNCATE {table}",
            f"BEGIN; LOCK TABLE {table} IN SHARE MODE",
            f"SELECT * FROM {table} FOR SHARE",
            f"ALTER TABLE {table} DISABLE TRIGGER ALL",
            f"CREATE TRIGGER mine BEFORE INSERT ON {table} EXECUTE FUNCTION ledger_keeps_rows()",
            f"COPY {table} FROM STDIN",
        ):
            with pytest.raises(psycopg.Error) as caught:
                book.sql(statement)
            assert caught.value.sqlstate == refused, statement
    for statement in (
        "SELECT ledger_append(e) FROM entries e",
        "SELECT ledger_hash(e) FROM entries e",
        "SELECT ledger_start(0, '')",
        "SELECT ledger_cost('{}'::jsonb, 0)",
        "SELECT ledger_fraction('{}'::jsonb, 'x')",
        "SELECT ledger_units(1::numeric, 1::numeric, 1::numeric)",
        "SELECT ledger_sum(ARRAY[1, 1]::numeric[], ARRAY[1, 1]::numeric[])",
        "SET ROLE keeper",
        "SET SESSION AUTHORIZATION keeper",
        "SET session_replication_role = replica",
        f"CREATE FUNCTION {book.schema}.mine() RETURNS int LANGUAGE sql RETURN 1",
        f"CREATE TABLE {book.schema}.mine (x int)",
    ):
        with pytest.raises(psycopg.Error) as caught:
            book.sql(statement)
        assert caught.value.sqlstate == refused, statement
    book.is_in_order(charges=1)


def number(word: str) -> str:
    return json.dumps({"kind": "selection", "epsilon": word})


SAMPLE = {"kind": "sample-threshold", "rate": "1/10", "threshold": "50", "n_samples": "1"}
SAMPLE |= {"rho": "1/1000", "delta": "1/100000000"}
WORDS = ["", "-1", "1e5", "1/0", "0/00", "٣", "1.5", " 1", "1\n", "1/2/3", "inf", "nan", "1_0"]
WORDS += ["+1", "0x1", "1/-2", "1/", "/2", "9" * 4301, "1/" + "9" * 5000]
EVENTS = [number(word) for word in WORDS]
EVENTS += [number("9" * 40), '{"kind": "selection", "epsilon": 0}', '{"kind": "selection"}']
EVENTS += ['{"kind": "selection", "epsilon": null}', '{"kind": "selection", "epsilon": ["0"]}']
EVENTS += ['{"kind": "selection", "epsilon": "0", "more": "0"}', '{"kind": "free"}', "{}", "[]"]
EVENTS += ['{"kind": ["selection"], "epsilon": "0"}', '"selection"', "null", "0", "", "{", DEEP]
EVENTS += ['{"epsilon": "0", "kind": "selection", "kind": "free"}', '{"kind": "composed"}']
EVENTS += ['{"kind": "composed", "events": {}}', '{"kind": "composed", "events": [[]]}']
EVENTS += ['{"kind": "composed", "events": [' * 10 + "]}" * 10]
EVENTS += ['{"kind": "gaussian-noise", "l2_squared": "0", "sigma_squared": "0"}']
EVENTS += [json.dumps({"kind": "laplace-noise", "l1": "1", "scale": "0"})]
EVENTS += [json.dumps({"kind": "filtered", "rho": "0", "delta": "5"}), '{"kind": "sel\\u0000"}']
BAD = [("rate", "1"), ("rate", "0"), ("rate", "1/100000000"), ("rho", "0"), ("delta", "0")]
BAD += [("threshold", word) for word in ("0", "1/2", "1000000", "x")]
BAD += [("n_samples", word) for word in ("0", "3/2", "100000")]
EVENTS += [json.dumps({**SAMPLE, name: word}) for name, word in BAD]
EVENTS += [json.dumps({k: w for k, w in SAMPLE.items() if k != name}) for name in SAMPLE]
WINDOWED: dict[str, Any] = {"kind": "windowed", "first": "1", "last": "3", "times": "3"}
WINDOWED |= {"event": {"kind": "selection", "epsilon": "1/9999999"}}
WINDOWS: list[tuple[str, Any]] = [("first", word) for word in (1, "x", "4", "1/2", "", "01", "-0")]
WINDOWS += [("last", word) for word in ("200000", "1000000000", "9" * 30, None, "0", "-1")]
TIMES: list[Any] = ["0", "-3", "3/2", "17179869185", "9" * 18, [], 3]
INSIDE: list[Any] = [None, "free", [], {}, WINDOWED, {"kind": "free"}]
WINDOWS += [("times", word) for word in TIMES] + [("event", word) for word in INSIDE]
WINDOWS += [("more", "1")]
EVENTS += [json.dumps({**WINDOWED, name: word}) for name, word in WINDOWS]
EVENTS += [json.dumps({k: w for k, w in WINDOWED.items() if k != name}) for name in WINDOWED]
EVENTS += [json.dumps({"kind": "composed", "events": [WINDOWED]})]
OTHER: list[dict[str, Any]] = [
    dict.fromkeys([part]) for part in ("account", "key", "question", "digest")
]
OTHER += [dict.fromkeys([part]) for part in ("verb", "about", "event", "neighbours", "covers")]
OTHER += [{"neighbours": word} for word in ("replace", "both", "")]
OTHER += [{part: word} for part in ("key", "verb", "digest") for word in ("", "x" * 2001)]
OTHER += [{"about": word} for word in ("[]", "x", "", '{"a": 1}', '{"a": {}}', '{"a": null}')]
OTHER += [{"about": word} for word in ('{"a": "\\u0000"}', '{"a": "\\ud800"}', '{"a": "\\udc00x"}')]
OTHER += [{"about": json.dumps({"a": "x" * 1_000_001})}, {"account": "another"}]
OTHER += [{"covers": [""]}, {"covers": [None]}, {"covers": ["x" * 2001]}]


def test_what_makes_no_sense_is_not_charged(book: Any) -> None:
    with psycopg.connect(book.address("mallory"), autocommit=True) as connection:
        for asked in [{"event": event} for event in EVENTS] + OTHER:
            try:
                status = book.charge(connection=connection, **asked)[0]
            except psycopg.Error:
                continue
            assert status in ("account", "no account"), asked
    book.is_in_order(charges=1)


def test_windows_are_charged_by_their_account_or_not_at_all(book: Any) -> None:
    """As an analyst asks by hand: without windows, with too many times, with one spent window."""
    per = Windows.of("time", "day", "UTC", Budget(rho="0.02", delta="1e-6"))
    book.owner.open_account("daily", windows=per)
    one = json.loads(ONE)
    asked = {**WINDOWED, "event": {**one, "sigma_squared": "50"}}
    assert book.charge(json.dumps(asked), key="in web")[0] == "no windows"
    assert book.charge(ONE, key="in no window", account="daily")[0] == "windows missing"
    asked["times"] = "9" + "0" * 9
    with pytest.raises(psycopg.Error, match="more than any ledger counts to"):
        book.charge(json.dumps(asked), key="many times", account="daily")
    asked["times"] = "1"
    for key, said in (("a", "charged"), ("b", "charged"), ("c", "window"), ("a", "known")):
        assert book.charge(json.dumps(asked), key=key, account="daily")[0] == said
    asked["first"], asked["last"] = "3", "9"
    assert book.charge(json.dumps(asked), key="d", account="daily")[0] == "window"
    book.is_in_order(charges=1, elsewhere=2)
    found = book.owner.window_balances("daily", -10, 10)
    assert [(b.number, b.left.rho) for b in found] == [(1, 0), (2, 0), (3, 0)]
    assert "windows of 1970-01" not in book.run("show"), "nobody asked for them"


FREE = [number("0"), number("0/7"), number("0" * 4300)]
FREE += ['{"kind": "composed", "events": []}', '{"kind": "composed", "events": [' * 8 + "]}" * 8]
FREE += ['{"kind":"filtered", "rho":"0", "delta":"0"}']
FREE += ['{"kind": "gaussian-noise", "l2_squared": "0", "sigma_squared": "1"}']
CHEAP = [number("1/" + "9" * 4300)]
CHEAP += [f'{{"kind": {word}, "kind": "selection", "epsilon": "1/9999999"}}'
          for word in (DEEP, "9" * 5000)]  # fmt: skip
CHEAP += ['{"\\u006bind": "selection", "epsilon": "\\u0031/9999999"}']
CHEAP += [json.dumps({"kind": "gaussian-noise", "l2_squared": "1" + "0" * 400,
          "sigma_squared": "1" + "0" * 500})]  # fmt: skip
ODD = [f'{{"by": {word}, "by": "x"}}' for word in (DEEP, "9" * 5000, "1e400")]
ODD += [
    '{"user": "\\u001b[2J", "where": "\\u202e\\n|<b>`[x](y)", "": ""}',
    '{"by": "\\ud83d\\ude00"}',
]


@pytest.mark.parametrize("event", FREE)
def test_what_costs_nothing_is_not_charged(book: Any, event: str) -> None:
    with pytest.raises(psycopg.Error, match="a charge of nothing"):
        book.charge(event, key="free")
    book.is_in_order(charges=1)


def test_what_costs_next_to_nothing_harms_nobody(book: Any) -> None:
    """Any event of little cost, and any public words, as strange as the server takes them."""
    asked = [{"event": event} for event in CHEAP] + [{"about": words} for words in ODD]
    asked += [{"key": "\x1b[31m\u202e\n'; --", "verb": "[bold]|<b>", "digest": "%s"}]
    for i, words in enumerate(asked):
        assert book.charge(**{"key": f"k{i}", **words})[0] == "charged", words
    book.is_in_order(charges=1 + len(asked))
