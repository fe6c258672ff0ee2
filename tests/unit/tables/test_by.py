"""What to count by, as it is written in Python and in a shell."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from headcount.contributions import bound
from headcount.errors import SchemaError, UsageError
from headcount.privacy.bounds import Bounds
from headcount.tables import Bins, Truncate, bins, open_table, parse_group, truncate
from headcount.tables.by import as_groups


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("word", "word"),
        ("time:month", Truncate("time", "month")),
        ("price:10", Bins("price", Decimal(10))),
        ("price:0.25", Bins("price", Decimal("0.25"))),
        ("a:b", "a:b"),
        ("a:b:week", Truncate("a:b", "week")),
        (":month", ":month"),
    ],
)
def test_the_shell_spelling(text: str, group: object) -> None:
    assert parse_group(text) == group
    assert str(parse_group(text)) == text


@pytest.mark.parametrize(
    "width",
    [0, -1, "nan", "inf", "x", True, 1e10, "1e-10", "1.2345678901234567", Fraction(1, 3)],
)
def test_a_width_must_be_a_plain_number(width: Any) -> None:
    with pytest.raises(UsageError, match="width of a bin"):
        bins("price", width)


def test_widths_are_exact() -> None:
    assert bins("p", 0.1).width == Decimal("0.1")
    assert bins("p", Fraction(1, 4)).width == Decimal("0.25")


def test_units_are_listed_when_one_is_wrong() -> None:
    with pytest.raises(UsageError, match="year, quarter, month, week, day, hour"):
        truncate("time", "minute")


@pytest.mark.parametrize("by", [[], ["a", "a"], ["a", truncate("a", "day")], [3]])
def test_groups_must_be_columns_of_different_names(by: Any) -> None:
    with pytest.raises(UsageError):
        as_groups(by)


TABLE = pa.table(
    {
        "user": [1],
        "price": [1.5],
        "time": pa.array([0], pa.timestamp("us")),
        "exact": pa.array([1], pa.decimal128(30, 2)),
        "small": pa.array([1], pa.decimal128(10, 2)),
        "word": ["x"],
        "list": [[1]],
        "true_total": [1],
    }
)


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("price", r'headcount.bins\("price", width=10\)'),
        ("small", r'headcount.bins\("small", width=10\)'),
        ("time", r'headcount.truncate\("time", "day"\)'),
        ("list", "must be text, an integer, a boolean or a date"),
        ("exact", "bins"),
        ("user", "would list them"),
        ("true_total", "rename it"),
        ("nothing", "no column 'nothing'"),
        (truncate("word", "day"), "needs a time"),
        (bins("word", 10), "needs a number"),
    ],
)
def test_a_refusal_says_how_to_count_instead(by: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said) as raised:
        bound(open_table(TABLE, user="user"), by, Bounds(5, 5), key=bytes(32))
    assert isinstance(raised.value, SchemaError | UsageError)
    assert "charged" in str(raised.value)


@pytest.mark.parametrize("by", [bins("price", 10), bins("small", "0.5"), truncate("time", "hour")])
def test_cuts_are_accepted(by: Any) -> None:
    made = bound(open_table(TABLE, user="user"), by, Bounds(5, 5), key=bytes(32))
    assert made.group_names == (by.column,)
