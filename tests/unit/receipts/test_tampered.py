"""Whatever is changed in a receipt or in its rows is named, and nothing ends in a traceback.

Each change is tried as it is, when the signature is no longer of the text, and most of them also
signed anew by whoever has the key: then it is the rest of the receipt that contradicts it.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.unit.receipts.conftest import Made

import headcount as hc
from headcount.ledger.keys import SigningKey
from headcount.receipts.check import MOST_OF_STRANGERS
from headcount.receipts.form import LARGEST, TEXT
from headcount.receipts.rows import UnlikeError, _as

Change = Callable[[dict[str, Any]], object]
UNSIGNED = "signature is not of this text"


def put(path: str, value: Any) -> Change:
    """Put a value, or what a function makes of the one that is there, in a place of a receipt."""

    def change(body: dict[str, Any]) -> None:
        *folders, name = path.split("/")
        part: Any = body
        for folder in folders:
            part = part[int(folder) if folder.isdigit() else folder]
        part[name] = value(part.get(name)) if callable(value) else value

    return change


def in_event(value: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        event = json.loads(text)
        event["events"][0]["sigma_squared"] = value
        return json.dumps(event, sort_keys=True)

    return change


CONTRADICTED: dict[str, tuple[Change, str]] = {
    "a cost": (put("cost/rho", "0.001"), "cost.rho is 0.001"),
    "a threshold's delta": (put("cost/delta", "0.1"), "cost.delta is 0.1"),
    "an epsilon": (put("cost/epsilon", "0.1"), "cost.epsilon is 0.1"),
    "the delta of epsilon": (put("cost/at_delta", "1/10"), "cost.at_delta is 1/10"),
    "the delta of the account": (put("account/delta", "1/10"), "account.delta is 1/10"),
    "the account": (put("account/name", "another"), "account.name is another"),
    "the account's limit": (put("account/limit/rho", "1000"), "account.limit.rho is 1000"),
    "the limit's epsilon": (put("account/limit/epsilon", "99"), "account.limit.epsilon is 99"),
    "neighbours": (put("account/neighbours", "replace"), "account.neighbours is replace"),
    "neighbours of the event": (put("release/neighbours", "x"), "release.neighbours is x"),
    "less spent than this": (put("account/spent/rho", "0.001"), "less than this entry alone"),
    "more spent than the limit": (put("account/spent/rho", "999999"), "more than the limit"),
    "crumbs spent": (put("account/spent/rho", "0.0000000000001"), "no whole number"),
    "the unit": (put("release/unit", "one row"), "release.unit is one row"),
    "the verb": (put("release/verb", "profile"), "release.verb is profile"),
    "what was asked": (put("release/about/by", "name"), "release.about.by is name"),
    "more that was asked": (put("release/about/top", "3"), "release.about is"),
    "an event's kind": (put("release/events/0/kind", "selection"), "release.events is"),
    "an event's number": (put("release/events/0/sigma_squared", "1"), "release.events is"),
    "no events": (put("release/events", []), "release.events is []"),
    "one more event": (put("release/events", lambda found: found * 2), "release.events is"),
    "a charge": (put("chain/entry/rho", 1), "charged less than its events cost"),
    "the event that was charged": (put("chain/entry/event", in_event("1")), "charged less than"),
    "an event of no kind": (put("chain/entry/event", '{"kind": "x"}'), "kind 'x'"),
    "an event that is no JSON": (put("chain/entry/event", "{"), "makes no sense"),
    "an event without end": (put("chain/entry/event", in_event("1e999999999")), "makes no sense"),
    "noise of nothing": (put("chain/entry/event", in_event("0")), "that no version wrote"),
    "a limit of nothing": (put("chain/opened/event", "{}"), "makes no sense"),
    "the entry's words": (put("chain/entry/about", "{}"), "chain.entry has not the hash"),
    "the entry's hash": (put("chain/entry/hash", "0" * 64), "chain.entry has not the hash"),
    "the hash before": (put("chain/entry/previous", "0" * 64), "chain.entry has not the hash"),
    "the entry's number": (put("chain/entry/sequence", 2), "chain.entry has not the hash"),
    "the entry's key": (put("chain/entry/key", "x"), "chain.entry has not the hash"),
    "the entry's kind": (put("chain/entry/kind", "cover"), "of the kind 'charge'"),
    "the opening's limit": (put("chain/opened/rho", 1 << 60), "chain.opened has not the hash"),
    "the order of entries": (put("chain/opened/sequence", 90), "not in order"),
    "the head's number": (put("chain/head/sequence", 1), "not in order"),
    "the head's hash": (
        lambda body: body["chain"]["head"].update(
            sequence=body["chain"]["entry"]["sequence"], hash="0" * 64
        ),
        "another hash",
    ),
    "the ledger": (put("chain/ledger", "another"), "of another ledger"),
}
SIGNED_ALONE: dict[str, Change] = {
    "the version": put("software/signed", "9.9"),
    "where it is from": put("software/from", "a wheel"),
    "the files": put("software/files", "0" * 64),
    "who drew it": put("software/drew", "9.9"),
    "the rows' digest": put("rows/digest", "0" * 64),
    "the number of rows": put("rows/n", 7),
    "the columns": put("rows/columns", []),
    "rows withheld": lambda body: body.update(withheld=body["rows"]),
    "how far the ledger had come": put("chain/head/sequence", 10**6),
}
MISSHAPEN: dict[str, tuple[Change, str]] = {
    "a field that nobody knows": (put("more", 1), "more is a field that no receipt has"),
    "one deep inside": (put("chain/head/at", "now"), "chain.head.at is a field"),
    "a field that is gone": (lambda body: body.pop("cost"), "cost is missing"),
    "no signature": (lambda body: body.pop("signature"), "signature is missing"),
    "a number for a text": (put("release/verb", 7), "release.verb must be a text"),
    "a text for a number": (put("rows/n", "7"), "rows.n must be a whole number"),
    "yes for a number": (put("rows/n", True), "rows.n must be a whole number"),
    "a number below none": (put("rows/n", -1), "rows.n must be a whole number"),
    "an endless number": (put("rows/n", 10**4000), "rows.n must be a whole number"),
    "nothing for a part": (put("chain", None), "chain must be an object"),
    "a list for a part": (put("account", []), "account must be an object"),
    "a digest of other letters": (put("rows/digest", "Z" * 64), "64 hexadecimal digits"),
    "an exponent": (put("cost/rho", "1e9"), "cost.rho must be a decimal number"),
    "a sign": (put("cost/rho", "-1"), "cost.rho must be a decimal number"),
    "words that are no texts": (put("release/about", {"by": 1}), "an object of texts"),
    "events that are none": (put("release/events", [1]), "a list of events"),
    "columns that are none": (put("rows/columns", ["a"]), "a list of names"),
    "another form": (put("form", "headcount receipt 3"), "newer version"),
    "a number with a point": (put("rows/n", 1.5), "numbers in a receipt are whole"),
    "no number": (put("rows/n", float("nan")), "numbers in a receipt are whole"),
}


def refusal(content: bytes, folder: Path, *more: Any, **options: Any) -> str:
    path = folder / "receipt.json"
    path.write_bytes(content)
    with pytest.raises(hc.LedgerError) as refused:
        hc.verify(path, *more, **options)
    return str(refused.value)


@pytest.mark.parametrize("name", CONTRADICTED)
def test_what_contradicts_the_rest_is_named_whoever_signed_it(
    made: Made, tmp_path: Path, name: str
) -> None:
    change, words = CONTRADICTED[name]
    body = made.body
    change(body)
    as_it_is = refusal(json.dumps(body).encode(), tmp_path)
    assert words in as_it_is
    assert UNSIGNED in as_it_is
    signed = refusal(made.signed(body), tmp_path, public_key=made.key.public)
    assert words in signed
    assert UNSIGNED not in signed


@pytest.mark.parametrize("name", SIGNED_ALONE)
def test_what_nothing_else_contradicts_is_vouched_for_by_the_signature(
    made: Made, tmp_path: Path, name: str
) -> None:
    body = made.body
    SIGNED_ALONE[name](body)
    assert UNSIGNED in refusal(json.dumps(body).encode(), tmp_path)
    stranger = SigningKey(b"\x07" * 32)
    by_another = refusal(made.signed(body, stranger), tmp_path, public_key=made.key.public)
    assert "another key than the one you gave" in by_another


@pytest.mark.parametrize("name", MISSHAPEN)
def test_what_is_not_of_the_form_is_named(made: Made, tmp_path: Path, name: str) -> None:
    change, words = MISSHAPEN[name]
    body = made.body
    change(body)
    assert words in refusal(json.dumps(body).encode(), tmp_path)


@pytest.mark.parametrize(
    ("name", "words"),
    [("key", "no public key"), ("value", UNSIGNED)],
)
@pytest.mark.parametrize("value", ["", "ed25519:", "0" * 128, "é", "ed25519:" + "zz" * 32])
def test_a_signature_or_key_of_any_other_shape(
    made: Made, tmp_path: Path, name: str, words: str, value: str
) -> None:
    body = made.body
    body["signature"][name] = value
    assert words in refusal(json.dumps(body).encode(), tmp_path)


def test_a_signature_of_another_receipt_or_by_another_key(made: Made, tmp_path: Path) -> None:
    body, other = made.body, json.loads(made.other.receipt())
    assert UNSIGNED in refusal(
        json.dumps({**body, "signature": other["signature"]}).encode(), tmp_path
    )
    stranger = {**body["signature"], "key": SigningKey(b"\x07" * 32).public}
    assert UNSIGNED in refusal(json.dumps({**body, "signature": stranger}).encode(), tmp_path)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda text: text[:-20], "cut off"),
        (lambda text: b"", "no whole JSON"),
        (lambda text: b"[]", "does not say"),
        (lambda text: b"7", "does not say"),
        (lambda text: b"\xff\xfe" + text, "no text in UTF-8"),
        (lambda text: b"PAR1" + text, "no whole JSON"),
        (lambda text: text.replace(b'"cost"', b'"rows"', 1), "says rows twice"),
        (lambda text: text.replace(b'"rho": ', b'"rho": "1", "rho": ', 1), "says rho twice"),
        (lambda text: text + b" " * LARGEST, "no receipt is that long"),
        (lambda text: b'{"form":' * 90_000, "no whole JSON"),
        (lambda text: b"[" * 90_000, "no whole JSON"),
        (lambda text: b'{"n": ' + b"9" * 10_000 + b"}", "no whole JSON"),
    ],
)
def test_bytes_that_are_no_receipt(
    made: Made, tmp_path: Path, spoil: Callable[[bytes], bytes], words: str
) -> None:
    assert words in refusal(spoil(made.release.receipt().encode()), tmp_path)


def changed(table: pa.Table, name: str) -> pa.Table:
    """The rows with one thing done to them."""
    number = table.column_names.index("count")
    more = pa.array([value + 1 for value in table["count"].to_pylist()])
    return {
        "a cell": lambda: table.set_column(number, "count", more),
        "a group": lambda: table.set_column(0, "place", pa.array(["=a", "b", "x"])),
        "a group that is missing": lambda: table.set_column(
            0, "place", pa.array(["=a", "b", None])
        ),
        "the order": lambda: table.take([2, 1, 0]),
        "a row dropped": lambda: table.slice(1),
        "a row added": lambda: pa.concat_tables([table, table.slice(0, 1)]),
        "no rows": lambda: table.slice(0, 0),
        "a column dropped": lambda: table.drop_columns(["sd"]),
        "a column added": lambda: table.append_column("x", more),
        "a column renamed": lambda: table.rename_columns(["x", *table.column_names[1:]]),
        "columns exchanged": lambda: table.select([*table.column_names[1:], "place"]),
        "halves": lambda: table.set_column(number, "count", pa.array([0.5, 1.5, 2.5])),
    }[name]()


ROWS = {
    "a cell": "a cell was changed",
    "a group": "a cell was changed",
    "a group that is missing": "a cell was changed",
    "the order": "not in the order of the release",
    "a row dropped": "is of 3 rows, and there are 2",
    "a row added": "is of 3 rows, and there are 4",
    "no rows": "is of 3 rows, and there are 0",
    "a column dropped": "its columns are place, count, low, high",
    "a column added": "its columns are",
    "a column renamed": "its columns are x",
    "columns exchanged": "its columns are count",
    "halves": "not those of the receipt",
}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("name", ROWS)
def test_rows_that_were_changed(made: Made, tmp_path: Path, name: str, ending: str) -> None:
    rows = tmp_path / f"rows.{ending}"
    table = changed(made.release.to_arrow(), name)
    write = pyarrow.csv.write_csv if ending == "csv" else pq.write_table
    write(table, rows)
    found = refusal(made.release.receipt().encode(), tmp_path, rows)
    assert ROWS[name] in found or "with those columns" in found


def test_the_receipt_or_rows_of_another_release(made: Made, tmp_path: Path) -> None:
    rows = made.other.write(tmp_path / "rows.parquet")
    assert "a cell was changed" in refusal(made.release.receipt().encode(), tmp_path, rows)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_that_hold_no_rows(made: Made, tmp_path: Path, ending: str) -> None:
    rows = tmp_path / f"rows.{ending}"
    for content in (b"", b"\x00\xff\xfe", b"PAR1" * 9, b'"a"b"c"\n"'):
        rows.write_bytes(content)
        assert "not those of the receipt" in refusal(
            made.release.receipt().encode(), tmp_path, rows
        )


def test_every_fault_is_named_at_once(made: Made, tmp_path: Path) -> None:
    body = copy.deepcopy(made.body)
    for name in ("a cost", "the unit", "the entry's hash"):
        CONTRADICTED[name][0](body)
    rows = made.other.write(tmp_path / "rows.csv")
    found = refusal(json.dumps(body).encode(), tmp_path, rows)
    for name in ("a cost", "the unit", "the entry's hash"):
        assert CONTRADICTED[name][1] in found
    assert UNSIGNED in found
    assert "a cell was changed" in found


RESPELLED: dict[str, Callable[[str], str]] = {
    "the guard against formulas": lambda text: text.replace("'=a", "=a"),
    "a sign before a number": lambda text: re.sub(r'^("b",)', r"\1+", text, flags=re.MULTILINE),
    "a nought before a number": lambda text: re.sub(
        r'^("b",)', r"\g<1>0", text, flags=re.MULTILINE
    ),
    "a nought behind a number": lambda text: re.sub(
        r"(\.\d+)$", r"\g<1>0", text, flags=re.MULTILINE
    ),
    "no quotes": lambda text: text.replace('"b"', "b"),
    "ends of lines": lambda text: text.replace("\n", "\r\n"),
    "an empty line": lambda text: f"{text}\n",
    "a mark of order": lambda text: f"\ufeff{text}",
}


@pytest.mark.parametrize("name", RESPELLED)
def test_a_csv_that_is_spelled_otherwise_is_not_the_file_that_was_written(
    made: Made, tmp_path: Path, name: str
) -> None:
    rows = made.release.write(tmp_path / "rows.csv")
    receipt = made.release.receipt()
    (tmp_path / "receipt.json").write_text(receipt)
    assert "as they were released" in str(hc.verify(tmp_path / "receipt.json", rows))
    text = rows.read_text()
    changed = RESPELLED[name](text)
    assert changed != text
    rows.write_bytes(changed.encode())
    found = refusal(receipt.encode(), tmp_path, rows)
    named = ("not as headcount writes", "cell was changed", "cannot be read as csv")
    assert any(words in found for words in named)
    assert "is as it was signed" in found


def test_the_headline_blames_what_is_to_blame(made: Made, tmp_path: Path) -> None:
    table = made.release.to_arrow()
    rows = tmp_path / "rows.parquet"
    pq.write_table(table.take([2, 1, 0]), rows)
    headline, *listed = refusal(made.release.receipt().encode(), tmp_path, rows).splitlines()
    assert "is as it was signed, and its costs are right" in headline
    assert "rows.parquet" in headline
    assert "cannot be trusted" not in headline
    assert len(listed) == 1
    body = made.body
    CONTRADICTED["a cost"][0](body)
    headline, *listed = refusal(json.dumps(body).encode(), tmp_path, rows).splitlines()
    assert "cannot be trusted" in headline
    assert len(listed) == 3


@pytest.mark.parametrize("name", ["many events", "long events"])
def test_much_is_worked_out_for_a_known_key_alone(made: Made, tmp_path: Path, name: str) -> None:
    """A stranger's text must not buy hours of arithmetic."""
    body = made.body
    event = json.loads(body["chain"]["entry"]["event"])
    if name == "many events":
        event["events"] *= MOST_OF_STRANGERS["events"]
    else:
        number = "1" * 1900
        event["events"] = [
            {**event["events"][0], "sigma_squared": f"1/{number}"} for _ in range(11)
        ]
    body["chain"]["entry"]["event"] = json.dumps(event, sort_keys=True)
    as_it_is = refusal(json.dumps(body).encode(), tmp_path)
    assert UNSIGNED in as_it_is
    assert "was not worked out" in as_it_is
    assert "charged less than" not in as_it_is
    other = refusal(made.signed(body), tmp_path, public_key="ed25519:" + "0" * 64)
    assert "was not worked out" in other
    assert "was not worked out" in refusal(made.signed(body), tmp_path)
    signed = refusal(made.signed(body), tmp_path, public_key=made.key.public)
    assert "charged less than its events cost" in signed


def test_half_a_letter_is_no_text() -> None:
    _, fits = TEXT
    assert fits("a letter: ä")
    assert not fits("\ud800")


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([0, 7]), "boolean"),
        (pa.array([0.0, 0.25]), "boolean"),
        (pa.array([86_399_000_000], pa.timestamp("us")), "date"),
        (pa.array([b"text"]), "text"),
    ],
)
def test_a_cell_of_another_kind_is_not_cast(column: pa.Array, kind: str) -> None:
    with pytest.raises(UnlikeError, match="does not hold what the receipt says"):
        _as(pa.table({"x": column}), [["x", kind]])
