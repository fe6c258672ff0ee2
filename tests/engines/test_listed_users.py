"""What reaches the noise of listed groups without a bound is the same on every engine."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa

from headcount.contributions.listed_users import ListedUsers
from headcount.contributions.store import Store

GROUPS = ["straße 03", "straße 01", None, "nobody's", "straße 17"]


def events() -> pa.Table:
    chooser = random.Random(9)
    rows = [
        (user, chooser.randrange(20)) for user in range(200) for _ in range(chooser.randrange(9))
    ]
    names = [None if group == 5 else f"straße {group:02d}" for _, group in rows]
    return pa.table({"user": [user for user, _ in rows], "item": names})


def test_differences_and_users_agree(loader: Any, duckdb_loader: Any) -> None:
    answers = []
    for where in (loader, duckdb_loader):
        table = where.open(events(), "listed", user="user")
        listed = ListedUsers(table, "item", GROUPS, Store(table.engine))
        named = zip(
            listed.every_name()["item"].to_pylist(), listed.differences.ask().tolist(), strict=True
        )
        answers.append((dict(named), listed.users.ask().tolist()))
    assert answers[0] == answers[1]
    assert answers[0][1][0] > 50
