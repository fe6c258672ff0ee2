"""Ways past the ledger that an outsider found, each named by the law that it broke."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.errors import LedgerError, UsageError
from headcount.ledger.heads import HeadFile
from headcount.ledger.journal import FIELDS, Head
from headcount.ledger.ledger import Ledger
from headcount.results.release import Release

GAUSSIAN = {"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}
SAMPLE = {"kind": "sample-threshold", "rate": "1/10", "threshold": "50", "n_samples": "1"}


def insert(address: str, row: dict[str, Any], *, past_checks: bool) -> None:
    """Write an entry past headcount; what stands in the way of that is removed if it must be."""
    marks, values = ", ".join(["%s"] * len(FIELDS)), [row[name] for name in FIELDS]
    statement = f"INSERT INTO entries VALUES ({marks})"
    if "://" not in address:
        with sqlite3.connect(address) as raw:
            if past_checks:
                raw.execute("DROP TRIGGER entries_begin_at_one")
            raw.execute(statement.replace("%s", "?"), values)
        raw.close()
        return
    with psycopg.connect(address) as connection:
        if past_checks:
            connection.execute("ALTER TABLE entries DROP CONSTRAINT entries_begin_at_one")
        connection.execute(statement, values)


def test_an_entry_before_the_first_is_none(
    new_address: Callable[[], str], clients: ModuleType, tmp_path: Path
) -> None:
    """No hash vouches for it: it pays for nothing, and a reading of the ledger names it."""
    address = new_address()
    ledger = clients.new_ledger(address)
    paid = clients.charge(ledger, "paid")
    row = {**ledger.journal()[paid.sequence - 1], "sequence": -1, "key": "free", "digest": "free"}
    with pytest.raises((sqlite3.IntegrityError, psycopg.errors.CheckViolation)):
        insert(address, row, past_checks=False)
    insert(address, row, past_checks=True)
    spent = ledger.account("web").spent
    assert ledger.known("web", "free", key="free") is None
    with pytest.raises(LedgerError, match=r"charge"):
        ledger.store_result(-1, b"rows")
    assert ledger.account("web").spent == spent
    for heads in (None, tmp_path / "another machine"):
        with pytest.raises(LedgerError, match="entry -1 stands before the first one"):
            Ledger(address, heads=heads)
    with pytest.raises(LedgerError, match="entry -1 stands before the first one"):
        ledger.verify()


def test_a_machine_that_showed_an_entry_takes_no_ledger_without_it(
    server: Any, clients: ModuleType, tmp_path: Path
) -> None:
    address = server.new_database()
    name = address.rsplit("/", 1)[1]
    writer = clients.new_ledger(address)
    writer._store.engine.dispose()
    server.sql(f"CREATE DATABASE {name}_copy TEMPLATE {name}")
    reader = Ledger(address, heads=tmp_path / "another machine")
    charge = clients.charge(writer, "shown")
    writer.store_result(charge.sequence, b"rows")
    shown = reader.known("web", "r", key="shown")
    assert shown is not None
    assert shown.result == b"rows"
    for ledger in (writer, reader):
        ledger._store.engine.dispose()
    server.sql(f"DROP DATABASE {name} WITH (FORCE)", f"CREATE DATABASE {name} TEMPLATE {name}_copy")
    looks: list[Callable[[], object]] = [
        lambda: reader.known("web", "r", key="shown"),
        lambda: reader.account("web"),
        reader.journal,
        lambda: clients.charge(reader, "shown"),
        reader.verify,
    ]
    for look in looks:
        with pytest.raises(LedgerError, match="cannot be trusted"):
            look()


def test_nobody_s_verify_takes_long_for_what_costs_nothing(book: Any) -> None:
    cheap = {**SAMPLE, "rho": "1/10", "delta": "1/1000000"}
    parts = [{**cheap, "rate": f"1/{n}"} for n in range(10, 40)]
    for event in (
        {"kind": "composed", "events": parts},
        {"kind": "composed", "events": [GAUSSIAN] * 2000},
        {**cheap, "threshold": "2001"},
    ):
        with pytest.raises(psycopg.Error, match=r"not well formed|cannot be"):
            book.charge(json.dumps(event), key="many")
    began = time.process_time()
    book.is_in_order(charges=1)
    assert time.process_time() - began < 20


def test_who_can_act_as_the_owner_or_make_schemas_is_no_analyst(server: Any, book: Any) -> None:
    server.sql("CREATE ROLE acting LOGIN NOINHERIT", "GRANT keeper TO acting")
    server.sql("CREATE ROLE making LOGIN", "GRANT CREATE ON DATABASE postgres TO making")
    try:
        for role in ("analyst", "auditor"):
            with pytest.raises(UsageError, match='REVOKE "keeper" FROM "acting"'):
                book.owner.grant(role, "acting")
            with pytest.raises(UsageError, match="REVOKE CREATE ON DATABASE"):
                book.owner.grant(role, "making")
    finally:
        server.sql("REVOKE CREATE ON DATABASE postgres FROM making", "REVOKE keeper FROM acting",
                   "DROP ROLE acting", "DROP ROLE making")  # fmt: skip


@pytest.mark.parametrize("letters", ["я" * 300, "\U0001f600" * 200, '"\\' * 200, "a" * 300])
def test_a_head_is_kept_whatever_the_path_is(tmp_path: Path, letters: str) -> None:
    file = HeadFile(tmp_path / "x.head", f"/data/{letters}")
    for sequence in (1, 9, 10, 999_999_999_999, 10**15):
        head = Head("l" * 36, sequence, "f" * 64)
        file.advance(head)
        assert HeadFile(tmp_path / "x.head", "/another").read() == head


def offsets_beyond(payload: bytes) -> bytes:
    """A result whose texts end far outside of it."""
    old = [(0).to_bytes(4, "little"), (5).to_bytes(4, "little"), (10).to_bytes(4, "little")]
    at = payload.index(b"".join(old))
    return payload[: at + 8] + (2**31 - 1).to_bytes(4, "little") + payload[at + 12 :]


def without_facts() -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("a", pa.int8())])):
        pass
    return bytes(sink.getvalue().to_pybytes())


def test_what_headcount_did_not_write_is_not_shown(tmp_path: Path) -> None:
    users = [f"u{i}" for i in range(400)]
    path = tmp_path / "e.parquet"
    pq.write_table(pa.table({"user": users, "page": ["pppp0", "pppp1"] * 200}), path)
    data = hc.open(path, user="user", account="web", ledger=tmp_path / "l.db",
                   budget=hc.Budget(epsilon=3, delta=1e-6))  # fmt: skip
    plan = data.count_users(by="page", groups=["pppp0", "pppp1"], spend="1/10")
    good = plan.release().to_bytes()
    for bad in (offsets_beyond(good), b"garbage", without_facts(), good[:-200]):
        with pytest.raises(LedgerError, match="no release that headcount wrote"):
            Release.from_bytes(bad, key="k")


def test_a_charge_for_less_answers_no_question(tmp_path: Path, clients: ModuleType) -> None:
    """Somebody charges next to nothing in the name of a question, and stores rows for it."""
    users = [f"u{i}" for i in range(400)]
    pq.write_table(pa.table({"user": users, "page": ["a", "b"] * 200}), tmp_path / "e.parquet")
    here: Any = {"user": "user", "account": "web", "budget": hc.Budget(epsilon=3, delta=1e-6)}
    ask: Any = {"by": "page", "groups": ["a", "b"], "spend": "1/10"}
    honest = hc.open(tmp_path / "e.parquet", ledger=tmp_path / "one.db", **here)
    plan = honest.count_users(**ask)
    rows = plan.release().to_bytes()
    data = hc.open(tmp_path / "e.parquet", ledger=tmp_path / "two.db", **here)
    ledger = Ledger(tmp_path / "two.db")
    ledger.open_account("web", here["budget"])
    charge = clients.charge(ledger, "cheap", request=plan.work.request.hash)
    ledger.store_result(charge.sequence, rows)
    with pytest.raises(LedgerError, match="paid for something else"):
        data.count_users(**ask).release()
