"""The same key samples the same users on every engine, at its rate; two keys are independent."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import headcount as hc
from headcount.contributions.encoding import encoded_group
from headcount.contributions.groups import group_rows
from headcount.contributions.keep import keyed
from headcount.contributions.sample import COIN, Coins, sampled_counts
from headcount.ledger.ledger import Ledger
from headcount.tables import UserTable
from headcount.tables.engine import cast_always
from headcount.tables.kinds import Kind

RATE_BITS = 24
LIMIT = 3_000_001 << (60 - RATE_BITS)
RATE = LIMIT / 2**60
N = 1_000_000
OTHER_KEY = bytes(range(1, 33))


def events() -> pa.Table:
    users = [f"straße {i}" if i % 7 else f"用户{i}" for i in range(300) for _ in range(5)]
    groups = [
        None if (i + j) % 11 == 0 else f"g{(i * (j + 1)) % 13}"
        for i in range(300)
        for j in range(5)
    ]
    return pa.table({"user": users, "item": groups})


def by_hand(table: pa.Table, coins: Coins, key: bytes) -> dict[Any, int]:
    """The sample in plain Python; every user is in fewer groups than may be kept."""
    counts: dict[Any, int] = {}
    for user, item in set(
        zip(*(table.column(c).to_pylist() for c in ("user", "item")), strict=True)
    ):
        user_text = encoded_group([user], [Kind.TEXT])
        message = f"{key.hex()}|coin|{user_text}{encoded_group([item], [Kind.TEXT])}"
        if int(hashlib.sha256(message.encode()).hexdigest()[:15], 16) < coins.limit:
            counts[item] = counts.get(item, 0) + 1
    return {item: n for item, n in counts.items() if n >= coins.threshold}


def shown(
    table: UserTable, coins: Coins, key: bytes, groups: list[Any] | None = None
) -> dict[Any, int]:
    found = sampled_counts(table, "item", coins, key=key, groups=groups)
    names = found.every_name()
    assert names.column_names == ["item"]
    return dict(zip(names.column("item").to_pylist(), found.query.ask().tolist(), strict=True))


def test_the_same_users_on_every_engine(loader: Any, key: bytes) -> None:
    table = loader.open(events(), "sampled", user="user")
    coins = Coins(20, LIMIT, 3)
    expected = by_hand(events(), coins, key)
    assert len(expected) >= 5
    assert shown(table, coins, key) == expected
    listed = [None, "g1", "g2", "nobody"]
    assert shown(table, coins, key, listed) == {g: expected[g] for g in listed if g in expected}
    assert shown(table, coins, OTHER_KEY) != expected
    few = shown(table, Coins(2, LIMIT, 2), key)
    assert sum(few.values()) < sum(expected.values())


@pytest.fixture(scope="session")
def million(loader: Any) -> UserTable:
    """A million users in two groups."""
    people = np.arange(N)
    table = pa.table({"person": people, "item": (people % 2).astype(np.int32)})
    return loader.open(table, "many", user="person")


MILLION_COUNTS: dict[bytes, dict[Any, int]] = {}


def test_the_rate_on_a_million_users(million: UserTable, key: bytes) -> None:
    """Each of two groups has half a million: both counts are binomial, on every engine the same."""
    counts = shown(million, Coins(2, LIMIT, 2), key, [0, 1])
    for n in counts.values():
        assert abs(n - N / 2 * RATE) < 4 * math.sqrt(N / 2 * RATE * (1 - RATE))
    assert MILLION_COUNTS.setdefault(key, counts) == counts


def test_two_keys_are_independent(million: UserTable, key: bytes) -> None:
    """Who is kept under one key and under the other, as a table of four cells."""
    engine, grouped = million.engine, group_rows(million, "item")
    tossed = grouped.pairs()
    for name, each in (("one", key), ("other", OTHER_KEY)):
        tossed, message = keyed(grouped, tossed, each, COIN)
        is_kept = engine.hash_order(message) < engine.hash_limit(LIMIT)
        tossed = tossed.mutate(**{name: is_kept.ifelse(1, 0)})
    sums = {"both": tossed["one"] * tossed["other"], "one": tossed["one"], "other": tossed["other"]}
    query = tossed.aggregate(**{name: cast_always(x.sum(), "int64") for name, x in sums.items()})
    schema = pa.schema({name: pa.int64() for name in sums})
    (row,) = pa.Table.from_batches(engine.stream(query, schema)).to_pylist()
    both, one, other = row.values()
    cells = [both, one - both, other - both, N - one - other + both]
    rows, columns = [one, N - one], [other, N - other]
    expected = [r * c / N for r in rows for c in columns]
    chi_square = sum((o - e) ** 2 / e for o, e in zip(cells, expected, strict=True))
    assert chi_square < 16  # 4 sd; one degree of freedom


def test_a_whole_release(loader: Any, tmp_path: Any) -> None:
    table = pa.table(
        {
            "user": list(range(4000)),
            "item": [f"g{i % 4}" for i in range(3990)] + [f"rare {i}" for i in range(10)],
        }
    )
    loader.open(table, "released", user="user")
    data = hc.open(
        loader.loaded["released"],
        user="user",
        account="shop",
        budget=hc.Budget(epsilon=2, delta=1e-5),
        ledger=Ledger(tmp_path / "ledger.db", heads=tmp_path / "heads"),
    )
    release = data.count_users("item", method="sample", bound=1, spend="1").release()
    rows = release.to_arrow().to_pylist()
    assert [row["item"] for row in rows] == ["g0", "g1", "g2", "g3"]
    assert sum(row["low"] <= row["count"] <= row["high"] for row in rows) == 4
    assert all(abs(row["count"] - 998) < 6 * row["sd"] for row in rows)
