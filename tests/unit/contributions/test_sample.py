"""The engine's side of a sample: what one user can change, and how often coins fall well."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from headcount.contributions.groups import group_rows
from headcount.contributions.sample import Coins, kept_pairs, sampled_counts
from headcount.errors import UsageError
from headcount.tables import UserTable, open_table

KEY = bytes(range(32))
HALF = 1 << 59


def table_of(rows: set[tuple[int, str]], copies: int = 1) -> UserTable:
    listed = sorted(rows) * copies
    return open_table(
        pa.table({"user": [u for u, _ in listed], "item": [g for _, g in listed]}), user="user"
    )


def pairs(table: UserTable, coins: Coins, key: bytes = KEY) -> set[tuple[Any, ...]]:
    schema = pa.schema({"user": pa.int64(), "item": pa.string()})
    batches = table.engine.stream(kept_pairs(group_rows(table, "item"), coins, key), schema)
    return {tuple(row.values()) for batch in batches for row in batch.to_pylist()}


def test_one_user_changes_only_their_own_pairs() -> None:
    chooser = random.Random(4)
    rows = {(u, f"g{chooser.randrange(9)}") for u in range(60) for _ in range(6)}
    coins = Coins(3, HALF, 2)
    kept = pairs(table_of(rows), coins)
    for user in range(0, 60, 9):
        without = pairs(table_of({row for row in rows if row[0] != user}), coins)
        assert without == {pair for pair in kept if pair[0] != user}
    per_user = [sum(pair[0] == user for pair in kept) for user in range(60)]
    assert max(per_user) <= 3
    assert 0 in per_user


def test_many_rows_of_a_pair_toss_one_coin() -> None:
    rows = {(u, f"g{u % 3}") for u in range(90)}
    assert pairs(table_of(rows), Coins(2, HALF, 2)) == pairs(table_of(rows, 5), Coins(2, HALF, 2))


def test_a_user_in_two_groups_tosses_two_coins() -> None:
    rows = {(u, group) for u in range(400) for group in ("a", "b")}
    kept = pairs(table_of(rows), Coins(2, HALF, 2))
    alike = sum(((u, "a") in kept) == ((u, "b") in kept) for u in range(400))
    assert 130 < alike < 270


def test_only_groups_from_the_threshold_on_come_out() -> None:
    rows = {(u, "large") for u in range(200)} | {(u, "small") for u in range(200, 205)}
    found = sampled_counts(table_of(rows), "item", Coins(1, HALF, 20), key=KEY)
    assert found.every_name().column("item").to_pylist() == ["large"]
    n = sum(pair[1] == "large" for pair in pairs(table_of(rows), Coins(1, HALF, 20)))
    assert found.query.ask().tolist() == [n]


def test_a_key_must_be_secret() -> None:
    with pytest.raises(UsageError):
        sampled_counts(table_of({(1, "a")}), "item", Coins(1, HALF, 2), key=b"short")


@pytest.mark.parametrize("byte", [0, 15, 31])
def test_every_byte_of_the_key_reaches_the_coins(byte: int) -> None:
    rows = {(u, "a") for u in range(200)}
    other = bytes(value ^ (at == byte) for at, value in enumerate(KEY))
    coins = Coins(1, HALF, 2)
    assert pairs(table_of(rows), coins) != pairs(table_of(rows), coins, other)
