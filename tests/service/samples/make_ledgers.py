"""Makes one ledger in a file and one on PostgreSQL, and writes down what each of them says.

Run it once, with the code of the version that the folder is named after, and never again:

    PYTHONPATH=<that version>/src python tests/service/samples/make_ledgers.py \\
        tests/service/samples/0.1.0 postgresql://postgres@127.0.0.1:5432/an_empty_database

It speaks to the ledger as 0.1.0 lets it. A later version that speaks differently gets a script of
its own. Both ledgers hold the same: accounts of both relations, quotas, sources, a charge of every
kind of event, results for some of them, and names that a careless hand would break.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from fractions import Fraction as F
from pathlib import Path
from typing import Any

from headcount.ledger.ledger import Ledger
from headcount.privacy.budget import Budget
from headcount.privacy.event import (
    Composed,
    Event,
    Filtered,
    GaussianNoise,
    GaussianThreshold,
    LaplaceNoise,
    LaplaceThreshold,
    SampleThreshold,
    Selection,
    to_record,
)
from headcount.privacy.neighbours import Neighbours

PG_DUMP = "/usr/lib/postgresql/15/bin/pg_dump"
BOTH, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
DELTA = F(1, 10**9)
PLENTY = Budget(rho=50, delta=1e-5)
ONE = GaussianNoise(F(1), F(50))

WITHOUT_DELTA: list[Event] = [
    ONE,
    GaussianNoise(F(20), F(10_000, 3)),
    LaplaceNoise(F(1), F(7, 2)),
    Selection(F(1, 3)),
    Filtered(F(1, 7), F(0)),
    Composed((Selection(F(1, 10)), Composed((ONE, LaplaceNoise(F(1), F(30)))))),
]
WITH_DELTA: list[Event] = [
    GaussianThreshold(F(20), F(400), DELTA),
    LaplaceThreshold(F(4), F(40), DELTA / 3),
    Filtered(F(1, 90), DELTA),
    SampleThreshold(F(1, 16), F(12), F(1), F(1, 8), DELTA),
    Composed((ONE, Composed((LaplaceThreshold(F(1), F(10), DELTA), Composed((ONE,)))))),
]

SHARED, SPENT = "shared by a team", "all spent"
QUOTED = """Zoë's "web"; DROP TABLE entries; -- \\ %s %(name)s {0} $1 ?"""
UNSEEN = " \t人口 👥 \u202eodd\nname "
ACCENTS = ("Caf\u00e9", "Cafe\u0301")
ADDRESS = "mail:ann@example.org"
ACCOUNTS: dict[str, tuple[Budget, Neighbours, list[str]]] = {
    "web": (PLENTY, BOTH, ["web.parquet", "events/year=2024/*.csv"]),
    "panel": (PLENTY, REPLACE, ["panel.csv"]),
    SHARED: (Budget(epsilon=3, delta=1e-6), BOTH, []),
    SPENT: (Budget(rho="0.03", delta=1e-6), BOTH, ["spent.csv"]),
    QUOTED: (PLENTY, BOTH, [QUOTED, f"{QUOTED}.csv"]),
    UNSEEN: (PLENTY, REPLACE, [UNSEEN]),
    ACCENTS[0]: (Budget(rho=1, delta=1e-6), BOTH, [f"{ACCENTS[0]}.csv"]),
    ACCENTS[1]: (Budget(rho=2, delta=1e-7), BOTH, [f"{ACCENTS[1]}.csv"]),
    ADDRESS: (PLENTY, BOTH, [f"{ADDRESS}/list"]),
    "never used": (Budget(rho=1_000_000, delta=1e-6), BOTH, []),
}
RESULTS = [b"", bytes(range(256)), b'{"rows": [["a", 12]]}', "größer".encode(), None]


class Book:
    """A ledger, and a way to fill it; every fifth charge is left without a result."""

    # Any: the version that runs this knows what may be said to it, and others need not.
    def __init__(self, ledger: Any) -> None:
        self.ledger = ledger
        self.n_charges = 0
        self.late: list[tuple[int, bytes]] = []

    def charge(
        self,
        account: str,
        event: Event = ONE,
        neighbours: Neighbours = BOTH,
        *,
        analyst: str = "ann",
        key: str | None = None,
        question: str | None = None,
    ) -> None:
        self.ledger.analyst = analyst
        number, self.n_charges = self.n_charges, self.n_charges + 1
        key = f"key-{number}" if key is None else key
        digest = hashlib.sha256((question or f"{account} {key}").encode()).hexdigest()
        charge = self.ledger.charge(
            account,
            key=key,
            request_hash=digest,
            verb=("count_users", "count_events", "frequencies")[number % 3],
            event=event,
            neighbours=neighbours,
            about={"source": account, "user": "user_id", "by": "ländcode", "where": "a = 'b'"},
        )
        result = RESULTS[number % len(RESULTS)]
        if result and number % 4 == 3:
            self.late.append((charge.sequence, result))
        elif result is not None:
            self.ledger.store_result(charge.sequence, result)


def fill(ledger: Any) -> None:
    """All there is in a sample."""
    ledger.analyst = "owner"
    for name, (budget, neighbours, covers) in ACCOUNTS.items():
        ledger.open_account(name, budget, neighbours, covers)
    book = Book(ledger)
    for event in WITHOUT_DELTA + WITH_DELTA:
        book.charge("web", event)
    for event in WITHOUT_DELTA:
        # Stated for add-remove in an account of the other relation: four times the rho.
        book.charge("panel", event)
    for event in WITHOUT_DELTA[:2] + WITH_DELTA:
        book.charge("panel", event, REPLACE)
    for name in (QUOTED, UNSEEN, *ACCENTS, ADDRESS):
        book.charge(name, key="the same key everywhere")
        book.charge(name, analyst=name)
    book.charge(QUOTED, key=QUOTED)
    book.charge(UNSEEN, key=UNSEEN)
    book.charge("web", key="k" * 2000)
    for key in ("asked first", "asked again"):
        book.charge("web", key=key, question="the same question")
    for _ in range(3):
        book.charge(SPENT)
    book.charge(SHARED, analyst="carol, before there were quotas")
    for analyst, share in (("ann", 1), (QUOTED, 1), ("never came", "0.5"), ("ann", 2)):
        ledger.analyst = "owner"
        ledger.set_quota(SHARED, analyst, Budget(epsilon=share))
    book.charge(SHARED, Selection(F(1, 10)))
    book.charge(SHARED, Selection(F(1, 10)), analyst=QUOTED)
    for sequence, result in book.late:
        ledger.store_result(sequence, result)
    ledger.verify()


def said(ledger: Any) -> dict[str, Any]:
    """What a ledger says, as plain JSON values."""
    rows = {row["sequence"]: row for row in ledger.journal()}

    def numbers(spend: Any) -> list[str]:
        return [str(spend.rho), str(spend.delta)]

    def charge(entry: Any) -> dict[str, Any]:
        result = ledger.stored_result(entry.sequence)
        return {
            "sequence": entry.sequence,
            "key": entry.key,
            "request_hash": rows[entry.sequence]["digest"],
            "verb": entry.verb,
            "spend": numbers(entry.spend),
            "charged_at": entry.charged_at,
            "analyst": entry.analyst,
            "about": dict(entry.about),
            "event": to_record(entry.event),
            "neighbours": entry.neighbours.value,
            "result": None if result is None else result.hex(),
        }

    return {
        "accounts": {
            account.name: {
                "neighbours": account.neighbours.value,
                "limit": numbers(account.limit),
                "spent": numbers(account.spent),
                "stated_delta": str(account.stated_delta),
                "covers": sorted(ledger.covered_by(account.name)),
                "quotas": {
                    quota.analyst: {"limit": numbers(quota.limit), "spent": numbers(quota.spent)}
                    for quota in ledger.quotas(account.name)
                },
                "entries": [charge(entry) for entry in ledger.entries(account.name)],
            }
            for account in ledger.accounts()
        },
        "journal": [[row["sequence"], row["kind"], row["hash"]] for row in rows.values()],
    }


def make(address: str, expectation: Path) -> None:
    """One ledger, closed when this returns, and beside it what it said."""
    with tempfile.TemporaryDirectory() as heads:
        ledger = Ledger(address, heads=heads)
        fill(ledger)
        text = json.dumps(said(ledger), indent=1, sort_keys=True)
        expectation.write_text(text + "\n", encoding="utf-8")


def dump(address: str) -> str:
    """A database as SQL alone, without what only psql understands."""
    options = ["--inserts", "--no-owner", "--no-privileges", "--no-comments"]
    ran = subprocess.run([PG_DUMP, *options, address], capture_output=True, text=True, check=True)
    lines = ran.stdout.split("\n")
    return "\n".join(line for line in lines if not line.startswith(("\\restrict", "\\unrestrict")))


if __name__ == "__main__":
    folder, server = Path(sys.argv[1]), sys.argv[2]
    folder.mkdir(parents=True)
    make(str(folder / "sqlite.db"), folder / "sqlite.json")
    (folder / "sqlite.db.queue").unlink(missing_ok=True)
    make(server, folder / "postgres.json")
    (folder / "postgres.sql").write_text(dump(server), encoding="utf-8")
