"""A long ledger, as many charges would have left it, written in one go."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import psycopg

from headcount.accounting.compose import cost
from headcount.ledger.account import units_up
from headcount.ledger.journal import CHARGE, FIELDS, RESULT, Head, hash_of
from headcount.ledger.ledger import Ledger
from headcount.privacy.budget import Budget
from headcount.privacy.event import Event, GaussianNoise, GaussianThreshold, to_record

EVENTS: list[Event] = [
    *(GaussianNoise(Fraction(1), Fraction(50 + n)) for n in range(20)),
    GaussianThreshold(Fraction(1), Fraction(50), Fraction(1, 10**15)),
]
RESULT_ROWS = b"what was shown" * 20
PLENTY = Budget(rho=1_000_000, delta=1e-3)
SPEND = (
    "UPDATE accounts SET rho_spent = rho_spent + {rho}, delta_spent = delta_spent + {delta} "
    "WHERE name = {name}"
)


def write(address: str, n: int, accounts: int) -> None:
    """Open accounts that cover sources, and append charges and results up to ``n`` entries."""
    ledger = Ledger(address)
    names = [f"account {number}" for number in range(accounts)]
    for name in names:
        ledger.open_account(name, PLENTY, covers=[f"/data/{name}/{part}" for part in range(5)])
    head = ledger.verify().head
    ledger._store.engine.dispose()
    spent: dict[str, list[int]] = {name: [0, 0] for name in names}
    rows = entries(head, names, n, spent)
    if "://" in address:
        with psycopg.connect(address) as connection, connection.cursor() as cursor:
            with cursor.copy(f"COPY entries ({', '.join(FIELDS)}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            with cursor.copy("COPY pieces FROM STDIN") as copy:
                for charge in results(head, n):
                    copy.write_row((charge, 0, RESULT_ROWS))
            text = SPEND.format(rho="%s", delta="%s", name="%s")
            cursor.executemany(text, [(*sums, name) for name, sums in spent.items()])
    else:
        raw = sqlite3.connect(address)
        raw.executemany(f"INSERT INTO entries VALUES ({', '.join('?' * len(FIELDS))})", rows)
        pieces = ((charge, 0, RESULT_ROWS) for charge in results(head, n))
        raw.executemany("INSERT INTO pieces VALUES (?, ?, ?)", pieces)
        text = SPEND.format(rho="?", delta="?", name="?")
        raw.executemany(text, [(*sums, name) for name, sums in spent.items()])
        raw.commit()
        raw.close()


def results(head: Head, n: int) -> Iterator[int]:
    """The charges whose result is the entry after them: every other one."""
    return iter(range(head.sequence + 2, n, 3))


def entries(
    head: Head, names: list[str], n: int, spent: dict[str, list[int]]
) -> Iterator[tuple[Any, ...]]:
    """Two charges and a result, again and again."""
    costs = [units_up(cost(event)) for event in EVENTS]
    spelled = [json.dumps(to_record(event), sort_keys=True) for event in EVENTS]
    previous = head.hash
    about = json.dumps({"by": "page", "source": "/data/clicks", "user": "user_id"}, sort_keys=True)
    digest, one = hashlib.sha256(RESULT_ROWS).hexdigest(), json.dumps({"pieces": "1"})
    at = "2026-01-01T00:00:00+00:00"
    for sequence in range(head.sequence + 1, n + 1):
        if (sequence - head.sequence) % 3:
            name = names[sequence % len(names)]
            rho, delta = costs[sequence % len(EVENTS)]
            spent[name][0] += rho
            spent[name][1] += delta
            values = (
                *(sequence, CHARGE, name, f"key-{sequence}", "ann", "add-remove", "count_users"),
                *(f"{sequence:064x}", about, spelled[sequence % len(EVENTS)], rho, delta),
                *(at, previous),
            )
        else:
            charge = sequence - 1
            values = (
                *(sequence, RESULT, names[charge % len(names)], f"key-{charge}", "ann", "", ""),
                *(digest, one, json.dumps({"charge": charge}), 0, 0, at, previous),
            )
        previous = hash_of(values)
        yield *values, previous
