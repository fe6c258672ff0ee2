"""Public lists, encodings, exact roundings and the refusals around them."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import ibis
import pyarrow as pa
import pytest

from headcount.contributions import (
    BoundedContributions,
    Limits,
    Tally,
    bound,
    clip_l2,
)
from headcount.contributions.arithmetic import exact_weight, floor_ratio
from headcount.contributions.encoding import encoded_group
from headcount.contributions.listed import group_list, starts_unit
from headcount.errors import UsageError
from headcount.privacy.bounds import Bounds
from headcount.tables import Kind, UserTable, bins, open_table, truncate

KEY = bytes(32)


@pytest.fixture
def table() -> UserTable:
    return open_table(
        pa.table(
            {
                "user": ["u", "u", "u", "v", None],
                "word": ["b", "e\u0301", "\u00e9", None, "b"],
                "n": [1, 1, 2, 1, 1],
            }
        ),
        user="user",
    )


def rows(contributions: BoundedContributions) -> list[tuple[Any, ...]]:
    return [
        (*name.values(), total)
        for part in Tally(contributions).parts(ordered=True)
        for name, total in zip(part.every_name().to_pylist(), part.query.ask(), strict=True)
    ]


def test_order_is_by_bytes_and_missing_last(table: UserTable) -> None:
    assert rows(bound(table, "word", Bounds(5, 5), key=KEY)) == [("b", 1), ("\u00e9", 1), (None, 1)]


def test_the_key_decides_and_only_the_key(table: UserTable) -> None:
    wide = open_table(
        pa.table({"user": [1] * 50, "word": [str(i) for i in range(50)]}), user="user"
    )
    first = rows(bound(wide, "word", Bounds(5, 5), key=b"k" * 32))
    assert len(first) == 5
    assert first == rows(bound(wide, "word", Bounds(5, 5), key=b"k" * 32))
    assert first != rows(bound(wide, "word", Bounds(5, 5), key=b"l" * 32))


def test_a_list_lowers_the_sensitivity(table: UserTable) -> None:
    contributions = bound(table, "word", Bounds(100, 100), key=KEY, groups=["b", "c"])
    assert contributions.sensitivity.l0 == 2
    assert rows(contributions) == [("b", 1), ("c", 0)]


def test_bounded_contributions_cannot_be_made_by_hand(table: UserTable) -> None:
    made = bound(table, "word", Bounds(5, 5), key=KEY)
    with pytest.raises(TypeError):
        BoundedContributions(made.grouped, made.expr, made.sensitivity, 0)


def test_a_short_key_is_refused(table: UserTable) -> None:
    with pytest.raises(UsageError, match="16"):
        bound(table, "word", Bounds(5, 5), key=b"short")


@pytest.mark.parametrize(
    ("groups", "by", "kind", "said"),
    [
        ([], "word", Kind.TEXT, "empty"),
        (["e\u0301", "\u00e9"], "word", Kind.TEXT, "twice"),
        ([1], "word", Kind.TEXT, "kind text"),
        (["\ud800"], "word", Kind.TEXT, "kind text"),
        ([True], "n", Kind.INTEGER, "kind integer"),
        ([1 << 63], "n", Kind.INTEGER, "kind integer"),
        ([1.0], "n", Kind.INTEGER, "kind integer"),
        ([datetime(2024, 1, 1)], "day", Kind.DATE, "kind date"),
        ([date(2024, 1, 2)], truncate("day", "month"), Kind.DATE, "start of a month"),
        ([datetime(2024, 1, 1, 1, 30)], truncate("t", "hour"), Kind.TIME, "start of a hour"),
        ([0.5], bins("x", 10), Kind.INTEGER, "number of a bin"),
        ([("a", "b")], "word", Kind.TEXT, "one value for each"),
    ],
)
def test_a_list_that_could_not_match_is_refused(
    groups: list[Any], by: Any, kind: Kind, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        group_list(groups, (by,), (kind,))


def test_starts_of_units() -> None:
    assert starts_unit(date(2024, 1, 1), "week")
    assert not starts_unit(date(2024, 1, 2), "week")
    assert starts_unit(date(2024, 4, 1), "quarter")
    assert not starts_unit(date(2024, 5, 1), "quarter")


def test_encodings_are_unambiguous() -> None:
    texts = ["", "null", None, "n", "v4:null", "a", "v1:a", "1:a"]
    pairs = [(a, b) for a in texts for b in texts]
    encoded = {encoded_group(pair, (Kind.TEXT, Kind.TEXT)) for pair in pairs}
    assert len(encoded) == len(pairs)


@pytest.mark.parametrize(
    "bounds", [Bounds(1 << 20, 1, 20), Bounds(1 << 20, 777, 10), Bounds(1 << 20, (1 << 20) - 5, 20)]
)
def test_weights_are_exact_up_to_the_limits(bounds: Bounds) -> None:
    n_groups = sorted(
        {*range(1, 3000), *(1 << p for p in range(21)), *range((1 << 20) - 500, 1 << 20)}
    )
    numbers = [m for m in n_groups if m > bounds.full_groups]
    column = ibis.memtable(pa.table({"m": pa.array(numbers, pa.int64())}))
    backend = ibis.duckdb.connect()
    found = backend.to_pyarrow(column.select(w=exact_weight(column.m, bounds)))["w"].to_pylist()
    assert found == [bounds.weight(m) for m in numbers]


def test_ratios_are_exact_at_the_edge() -> None:
    quotients, divisors = (0, 1, 7, (1 << 31) - 1), (1, 3, 1 << 20, (1 << 21) - 1)
    pairs = [(q * d + r, d) for q in quotients for d in divisors for r in {0, 1 % d, d - 1}]
    column = ibis.memtable(pa.table({"n": [n for n, _ in pairs], "d": [d for _, d in pairs]}))
    backend = ibis.duckdb.connect()
    found = backend.to_pyarrow(column.select(q=floor_ratio(column.n, column.d)))["q"].to_pylist()
    assert found == [n // d for n, d in pairs]


def test_limits_that_could_overflow_are_refused(table: UserTable) -> None:
    with pytest.raises(UsageError, match="overflow"):
        clip_l2(table, "word", Limits(1 << 20, 1 << 20), max_l2_squared=5, key=KEY)
    with pytest.raises(UsageError, match="at least 1"):
        clip_l2(table, "word", Limits(5, 5), max_l2_squared=0, key=KEY)
    with pytest.raises(UsageError, match="max_rows"):
        Limits(0, 5)
