"""The owner of a ledger's database edits it, triggers off: a reading of it names the entry."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
import pytest

from headcount.errors import LedgerError
from headcount.ledger.journal import FIELDS, HASHED, hash_of
from headcount.ledger.ledger import Ledger
from headcount.privacy.budget import Budget

CHARGED = 5
"""The entry that is edited: after an account, a source and two quotas, with a result behind it."""
WITHOUT_LIMITS = [
    f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {unit}_within_{name}"
    for table, name in (("accounts", "limit"), ("quotas", "quota"))
    for unit in ("rho", "delta")
]


class Owned:
    """A ledger in use, and a connection for which no trigger and no constraint stands."""

    def __init__(self, address: str, clients: ModuleType) -> None:
        self.address, self.is_file = address, "://" not in address
        self.ledger = Ledger(address)
        self.ledger.open_account("web", clients.HUNDRED, covers=["/data"])
        self.ledger.set_quota("web", "ann", Budget(rho="0.5"))
        self.ledger.set_quota("web", self.ledger.analyst, Budget(rho="0.5"))
        self.clients = clients
        for number in range(3):
            charge = clients.charge(self.ledger, f"key-{number}")
            self.ledger.store_result(charge.sequence, b"rows")
        self.rows = self.ledger.journal()

    def sql(self, *statements: str | tuple[str, Sequence[Any]]) -> None:
        steps = [(each, ()) if isinstance(each, str) else each for each in statements]
        if self.is_file:
            with sqlite3.connect(self.address) as raw:
                raw.execute("PRAGMA ignore_check_constraints = ON")
                found = raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
                for name in [row[0] for row in found]:
                    raw.execute(f"DROP TRIGGER {name}")
                for statement, values in steps:
                    raw.execute(statement.replace("%s", "?"), values)
            raw.close()
            return
        with psycopg.connect(self.address) as connection:
            connection.execute("SET session_replication_role = replica")
            for statement, values in [(each, ()) for each in WITHOUT_LIMITS] + steps:
                connection.execute(statement, values or None)

    def set(self, sequence: int, /, **fields: object) -> None:
        self.sql(*changes(sequence, fields))

    def rewrite(self, sequence: int, /, **fields: object) -> None:
        """Change an entry, and all after it so that the chain fits again."""
        steps, previous = [], ""
        for row in self.rows:
            new = dict(row)
            if row["sequence"] == sequence:
                new |= fields
            if row["sequence"] > sequence:
                new["previous"] = previous
            previous = new["hash"] = hash_of([new[name] for name in HASHED])
            changed = {name: new[name] for name in FIELDS if new[name] != row[name]}
            steps += changes(row["sequence"], changed)
        self.sql(*steps)

    def write_back(self) -> None:
        """All entries as they were."""
        self.sql(*(step for row in self.rows for step in changes(row["sequence"], row)))

    def append(self, **fields: object) -> None:
        """Add an entry that fits the chain."""
        last = self.ledger.journal()[-1]
        new: dict[str, Any] = {**last, **fields, "sequence": last["sequence"] + 1}
        new["previous"] = last["hash"]
        new["hash"] = hash_of([new[name] for name in HASHED])
        marks = ", ".join(["%s"] * len(FIELDS))
        values = [new[name] for name in FIELDS]
        self.sql((f"INSERT INTO entries VALUES ({marks})", values))

    def is_refused(self, match: str, heads: Path | None = None) -> None:
        with pytest.raises(LedgerError, match=match) as caught:
            Ledger(self.address, heads=heads).verify()
        assert "treat all of its budgets as spent" in str(caught.value)


def changes(sequence: int, fields: Mapping[str, object]) -> list[tuple[str, Sequence[Any]]]:
    where = f"WHERE sequence = {sequence}"
    return [(f"UPDATE entries SET {name} = %s {where}", [fields[name]]) for name in fields]


@pytest.fixture
def owned(
    new_address: Callable[[], str],
    clients: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Owned:
    monkeypatch.setenv("HEADCOUNT_HEADS", str(tmp_path / "heads"))
    return Owned(new_address(), clients)


def test_a_change_in_any_column_is_named(owned: Owned, tmp_path: Path) -> None:
    row = owned.rows[CHARGED - 1]
    for name in FIELDS:
        if name == "sequence":
            continue
        was = row[name]
        owned.set(CHARGED, **{name: was + 1 if isinstance(was, int) else was + " "})
        owned.is_refused(f"entry {CHARGED} was changed")
        owned.set(CHARGED, **{name: was})
        owned.ledger.verify()
    owned.set(CHARGED, sequence=1000)
    owned.is_refused(f"entry {CHARGED} is missing", tmp_path / "another machine")
    owned.is_refused(f"entry {len(owned.rows) + 1} is missing")


def test_a_change_in_any_sum_is_named(owned: Owned) -> None:
    last, who = len(owned.rows), owned.ledger.analyst
    one = int(owned.clients.ONE_IN_UNITS)
    account, quota = "accounts SET {0} = {0} {1}", "quotas SET {0} = {0} {1} WHERE analyst = '{2}'"
    for table in (account, quota):
        for column, by in (
            ("rho_spent", one),
            ("delta_spent", -1),
            ("rho_limit", -one),
            ("delta_limit", -one),
        ):
            for sign, back in ((f"- {by}", f"+ {by}"), (f"+ {by}", f"- {by}")):
                change = f"UPDATE {table}".format
                owned.sql(change(column, sign.replace("- -", "+ "), who))
                owned.is_refused(f"do not agree with its entries at 'web'.* entry {last}")
                owned.sql(change(column, back.replace("- -", "+ "), who))
                owned.ledger.verify()
    for statement in (
        "DELETE FROM quotas WHERE analyst = 'ann'",
        "UPDATE covers SET account = 'other'",
    ):
        owned.sql(statement)
        owned.is_refused("do not agree with its entries at")


EVENTS = ["[]", '"x"', "1", "x", "", "{}", '{"kind": "free"}', '{"kind": ["x"]}', "[" * 5000]
EVENTS += [json.dumps({"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": word})
           for word in ("0", "x", "1/0", "9" * 5000)]  # fmt: skip
EVENTS += [json.dumps({"kind": "composed", "events": 5}), '{"kind": "composed", "events": ["x"]}']
EDITS: list[tuple[Mapping[str, object], str]] = [
    *(({"event": event}, "makes no sense|cannot be paid for") for event in EVENTS),
    ({"rho": 1}, "was charged less than what its event costs"),
    ({"rho": 0}, "was charged less than what its event costs"),
    ({"neighbours": "replace"}, "cannot be paid for"),
    ({"neighbours": "x"}, "makes no sense"),
    ({"account": "x"}, "makes no sense"),
    ({"kind": "x"}, "makes no sense"),
    ({"analyst": "eve"}, "spends more than its analyst's quota"),
]


def test_a_chain_that_was_made_anew_is_named(owned: Owned, tmp_path: Path) -> None:
    """By a machine that used the ledger, whatever it is; by any other, what makes no sense."""
    last = len(owned.rows)
    for number, (fields, match) in enumerate(EDITS):
        owned.rewrite(CHARGED, **fields)
        with pytest.raises(LedgerError, match=f"entry {last}, which this machine saw, is not"):
            owned.clients.charge(owned.ledger, "next")
        owned.is_refused(f"entry {last} is not the one that this machine saw|entry {CHARGED} ")
        owned.is_refused(f"entry {CHARGED} .*({match})", tmp_path / f"machine {number}")
        owned.write_back()
        owned.ledger.verify()


def test_a_cheaper_history_with_sums_to_match_is_named(owned: Owned, tmp_path: Path) -> None:
    owned.rewrite(CHARGED, rho=0)
    lower = f"rho_spent = rho_spent - {int(owned.clients.ONE_IN_UNITS)}"
    owned.sql(f"UPDATE accounts SET {lower}", f"UPDATE quotas SET {lower} WHERE analyst <> 'ann'")
    owned.is_refused(f"entry {CHARGED} was charged less", tmp_path / "another machine")


def test_an_account_is_not_opened_anew(owned: Owned) -> None:
    """Entries that fit the chain, which every machine that used the ledger would go on from."""
    fields = {name: owned.rows[0][name] for name in FIELDS}
    owned.append(**fields)
    owned.sql("UPDATE accounts SET rho_spent = 0, has_quotas = 0", "DELETE FROM quotas")
    owned.is_refused(f"entry {len(owned.rows) + 1} opens an account a second time")


def test_what_no_account_and_no_quota_had_is_not_spent(owned: Owned) -> None:
    paid, last = owned.rows[CHARGED - 1], len(owned.rows)
    limit = owned.rows[0]["rho"]
    for number, rho in enumerate((limit // 2, limit // 2)):
        owned.append(**{**paid, "key": f"more-{number}", "rho": rho, "analyst": "ann"})
    owned.sql(
        f"UPDATE accounts SET rho_spent = rho_spent + {limit}",
        f"UPDATE quotas SET rho_spent = {limit} WHERE analyst = 'ann'",
    )
    owned.is_refused(f"entry {last + 2} spends more than the account had")


def test_a_second_result_and_a_moved_source_are_named(owned: Owned, tmp_path: Path) -> None:
    last = len(owned.rows)
    owned.sql("DROP INDEX one_result_per_charge")
    owned.append(**{**owned.rows[CHARGED], "digest": "another"})
    owned.is_refused(f"entry {last + 1} is a second result of one charge", tmp_path / "another")
    owned.sql(f"DELETE FROM entries WHERE sequence = {last + 1}")
    owned.append(**{**owned.rows[1], "account": "other"})
    owned.is_refused(f"entry {last + 1} moves a source to another account")
