"""What a ledger is meant to do, without a disk; and copies of real ones, to put back."""

from __future__ import annotations

import itertools
import json
import sqlite3
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import psycopg

from headcount.accounting.compose import cost
from headcount.accounting.convert import spend_of, zcdp_of
from headcount.privacy.budget import Budget
from headcount.privacy.event import Event
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp


@dataclass
class ModelAccount:
    limit: Zcdp
    stated_delta: Fraction
    spent: Zcdp = field(default_factory=lambda: Zcdp(0))
    quotas: dict[str, Zcdp] = field(default_factory=dict)
    spent_by: dict[str, Zcdp] = field(default_factory=dict)
    charges: dict[str, tuple[str, int, list[bytes]]] = field(default_factory=dict)
    """By key: the request, the number of the entry, and the results."""


class Refused(Exception):
    """What the model raises, with the name of the error a ledger must raise."""


class Model:
    """Accounts, what they cover, and a journal of numbers that are never given twice."""

    numbers = itertools.count()

    def __init__(self) -> None:
        self.accounts: dict[str, ModelAccount] = {}
        self.covers: dict[str, str] = {}
        self.journal: list[int] = []

    def write(self, n: int = 1) -> int:
        self.journal += itertools.islice(self.numbers, n)
        return len(self.journal)

    def open_account(self, name: str, budget: Budget | None, covers: list[str]) -> str:
        if any(self.covers.get(source, name) != name for source in covers):
            raise Refused("LedgerError")
        known = self.accounts.get(name)
        if known is None:
            if budget is None:
                raise Refused("NoAccountError")
            self.accounts[name] = ModelAccount(zcdp_of(budget), budget.stated_delta)
            self.write()
        elif budget is not None and (
            zcdp_of(budget) != known.limit or budget.stated_delta != known.stated_delta
        ):
            raise Refused("LedgerError")
        self.write(len(set(covers) - set(self.covers)))
        self.covers.update(dict.fromkeys(covers, name))
        return "opened"

    def set_quota(self, name: str, analyst: str, budget: Budget) -> str:
        if name not in self.accounts:
            raise Refused("NoAccountError")
        account = self.accounts[name]
        limit = spend_of(budget, account.limit, account.stated_delta)
        if not limit <= account.limit or not account.spent_by.get(analyst, Zcdp(0)) <= limit:
            raise Refused("UsageError")
        account.quotas[analyst] = limit
        self.write()
        return "set"

    def charge(
        self, name: str, key: str, request: str, event: Event
    ) -> tuple[bool, int, bytes | None]:
        if name not in self.accounts:
            raise Refused("NoAccountError")
        account = self.accounts[name]
        if key in account.charges:
            before, number, results = account.charges[key]
            if before != request:
                raise Refused("KeyReusedError")
            return False, number, results[0] if results else None
        after = account.spent + cost(event)
        mine = account.spent_by.get("me", Zcdp(0)) + cost(event)
        if not after <= account.limit:
            raise Refused("BudgetError")
        if account.quotas and ("me" not in account.quotas or not mine <= account.quotas["me"]):
            raise Refused("BudgetError")
        account.spent, account.spent_by["me"] = after, mine
        number = self.write()
        account.charges[key] = request, number, []
        return True, number, None

    def store(self, name: str, key: str, rows: bytes) -> bytes:
        results = self.accounts[name].charges[key][2]
        if not results:
            self.write()
        results.append(rows)
        return results[0]

    def state(self) -> dict[str, Any]:
        """All that can be asked of a ledger, in the words of ``said``."""
        charges = [
            (number, name, key, bool(results))
            for name, account in self.accounts.items()
            for key, (_, number, results) in account.charges.items()
        ]
        return {
            "length": len(self.journal),
            "covers": self.covers,
            "accounts": {name: (a.limit, a.spent) for name, a in self.accounts.items()},
            "charges": sorted(charges),
            "quotas": {
                name: {
                    who: (limit, a.spent_by.get(who, Zcdp(0))) for who, limit in a.quotas.items()
                }
                for name, a in self.accounts.items()
                if a.quotas
            },
        }


def said(ledger: Any) -> dict[str, Any]:
    """All that a ledger says of itself, in few questions."""
    journal = ledger.journal()
    has_result = {
        json.loads(entry["event"])["charge"] for entry in journal if entry["kind"] == "result"
    }
    with_quotas = {entry["account"] for entry in journal if entry["kind"] == "quota"}
    return {
        "length": len(journal),
        "covers": dict(ledger.covered_from("/s")),
        "accounts": {a.name: (a.limit, a.spent) for a in ledger.accounts()},
        "charges": [
            (entry["sequence"], entry["account"], entry["key"], entry["sequence"] in has_result)
            for entry in journal
            if entry["kind"] == "charge"
        ],
        "quotas": {
            name: {
                "me" if quota.analyst == ledger.analyst else quota.analyst: (
                    quota.limit,
                    quota.spent,
                )
                for quota in ledger.quotas(name)
            }
            for name in with_quotas
        },
    }


def charge(
    ledger: Any, name: str, key: str, request: str, event: Event
) -> tuple[bool, int, bytes | None]:
    made = ledger.charge(
        ledger.opening(name),
        key=key,
        fresh=True,
        request_hash=request,
        verb="count_users",
        event=event,
        neighbours=Neighbours.ADD_REMOVE,
    )
    return made.is_new, made.sequence, made.result


class Files:
    """Copies of a ledger file, put back while programs have it open."""

    def __init__(self, address: str) -> None:
        self._raw = sqlite3.connect(address, isolation_level=None)

    def copy(self) -> sqlite3.Connection:
        made = sqlite3.connect(":memory:")
        self._raw.backup(made)
        return made

    def put_back(self, copy: sqlite3.Connection) -> None:
        copy.backup(self._raw)

    def close(self) -> None:
        self._raw.close()


class Rows:
    """Copies of a ledger's rows on PostgreSQL, put back by someone whom no trigger stops."""

    TABLES = ("entries", "accounts", "quotas", "covers", "results", "pieces", "parts")

    def __init__(self, address: str) -> None:
        self._raw = psycopg.connect(address, autocommit=True)
        self._raw.execute("SET session_replication_role = replica")

    def copy(self) -> dict[str, list[Any]]:
        with self._raw.transaction():
            self._raw.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            return {
                table: self._raw.execute(f"SELECT * FROM {table}").fetchall()
                for table in self.TABLES
            }

    def put_back(self, copy: dict[str, list[Any]]) -> None:
        with self._raw.transaction(), self._raw.cursor() as cursor:
            for table, rows in copy.items():
                cursor.execute(f"DELETE FROM {table}")
                if rows:
                    places = ", ".join(["%s"] * len(rows[0]))
                    cursor.executemany(f"INSERT INTO {table} VALUES ({places})", rows)

    def close(self) -> None:
        self._raw.close()
