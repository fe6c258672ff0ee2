"""Every odd value that an engine can store has one rule, and gives the same tally to the byte.

A value that an engine cannot store is missing there, as the rule makes it everywhere else.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headcount as hc
from headcount.contributions import bound
from headcount.privacy.bounds import Bounds
from headcount.tables import UserTable, bins, open_table, truncate

MILLION = 1_000_000
LONG = b"y" * (1 << 20)
TEXTS: list[tuple[bytes | None, str | None]] = [
    (b"plain", "plain"),
    (b"", ""),
    ("e\u0301".encode(), "\u00e9"),
    (LONG, LONG.decode()),
    (LONG + b"y", None),
    (b"z" * 20_000_000, None),
    (b"\xff\xfe", None),
    (b"\xed\xa0\x80", None),
    (None, None),
]
# Microseconds since 1970, how PostgreSQL writes them, and the day that counts.
TIMES: list[tuple[int | None, str | None, date | None]] = [
    (0, "1970-01-01", date(1970, 1, 1)),
    (-1, "1969-12-31 23:59:59.999999", date(1969, 12, 31)),
    (-62_135_596_800 * MILLION, "0001-01-01", date(1, 1, 1)),
    (-62_135_596_800 * MILLION - 1, "0001-12-31 23:59:59.999999 BC", None),
    (253_402_300_800 * MILLION - 1, "9999-12-31 23:59:59.999999", date(9999, 12, 31)),
    (253_402_300_800 * MILLION, "10000-01-01", None),
    (2**62, "294276-12-31 23:59:59.999999", None),
    (-(2**62), "4713-01-01 BC", None),
    (2**63 - 1, "infinity", None),
    (-(2**63) + 1, "-infinity", None),
    (-(2**63), None, None),
    (None, None, None),
]
DAYS: list[tuple[int | None, str | None, date | None]] = [
    (0, "1970-01-01", date(1970, 1, 1)),
    (-719_162, "0001-01-01", date(1, 1, 1)),
    (-719_163, "0001-12-31 BC", None),
    (2_932_896, "9999-12-31", date(9999, 12, 31)),
    (2_932_897, "10000-01-01", None),
    (2**31 - 1, "infinity", None),
    (-(2**31) + 1, "-infinity", None),
    (-(2**31), None, None),
]
DOUBLES = [0.0, -0.0, 5e-324, -5e-324, 1e-310, 1e308, -1e308, math.inf, -math.inf, math.nan, 9.5,
           -10.0, 2.0**53 * 10, -(2.0**60), None]  # fmt: skip
# Decimals of 38 digits, 10 of them after the point, and numerics that only PostgreSQL has.
EXACT = [Decimal(text) for text in (
    "9999999999999999999999999999.9999999999", "-9999999999999999999999999999.9999999999",
    "0.0000000001", "-0.0000000001", "9.9999999999", "10", "0.1", "123456789012345678.1234567891",
    "90071992547409919", "90071992547409921",
)]  # fmt: skip
NUMERICS = ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "-1e-400", "1e300"]


@dataclass(frozen=True)
class Case:
    by: Any
    expected: Counter[Any]


def binned(value: float | None, width: float) -> int | None:
    if value is None or not math.isfinite(value) or abs(value) >= 2**53 * width:
        return None
    # A quotient may underflow to 0, a value does not.
    return -(value < 0) if -width <= value < width else math.floor(value / width)


CASES = {
    "text": Case("text", Counter(g for _, g in TEXTS)),
    "local": Case(truncate("local", "day"), Counter(g for *_, g in TIMES)),
    "zoned": Case(truncate("zoned", "day"), Counter(g for *_, g in TIMES)),
    "day": Case("day", Counter(g for *_, g in DAYS)),
    "month": Case(
        truncate("day", "month"),
        Counter(None if g is None else g.replace(day=1) for *_, g in DAYS),
    ),
    "double": Case(bins("double", 10), Counter(binned(x, 10.0) for x in DOUBLES)),
    "exact": Case(
        bins("exact", 10),
        Counter(binned(float(x), 10.0) for x in EXACT),
    ),
}
N = max(len(TEXTS), len(TIMES), len(DAYS), len(DOUBLES), len(EXACT))


def padded(values: list[Any]) -> list[Any]:
    return [*values, *[None] * (N - len(values))]


def as_arrow() -> pa.Table:
    times = pa.array(padded([t for t, *_ in TIMES]), pa.int64())
    n = range(N)
    return pa.table(
        {
            "person": [f"u{i}" for i in n],
            "text": pa.array(padded([t for t, _ in TEXTS]), pa.binary()).view(pa.string()),
            "local": times.view(pa.timestamp("us")),
            "zoned": times.view(pa.timestamp("us", "UTC")),
            "day": pa.array(padded([d for d, *_ in DAYS]), pa.int32()).view(pa.date32()),
            "double": pa.array(padded(DOUBLES), pa.float64()),
            "exact": pa.array(padded(EXACT), pa.decimal128(38, 10)),
            "nested": pa.array([[{"a": "x"}] for _ in n]),
            "blob": pa.array([b"\xff" for _ in n]),
        }
    )


def in_postgres(address: str) -> str:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("drop table if exists odd")
        connection.execute(
            "create table odd (person text, text text, local timestamp, zoned timestamptz, "
            "day date, double float8, exact numeric, nested json[], blob bytea, range int4range)"
        )
        connection.execute("set timezone = 'UTC'")
        texts = padded([None if g is None else t for t, g in TEXTS])
        texts[4], texts[5] = TEXTS[4][0], TEXTS[5][0]
        times, days = padded([t for _, t, _ in TIMES]), padded([d for _, d, _ in DAYS])
        numbers = [*padded(EXACT)[:N]]
        for i in range(N):
            text = None if texts[i] is None else texts[i].decode()
            connection.execute(
                "insert into odd values (%s, %s, %s, %s, %s, %s, %s, null, '\\xff', '[1,2)')",
                [f"u{i}", text, times[i], times[i], days[i], padded(DOUBLES)[i], numbers[i]],
            )
    return f"{address}?table=odd"


@pytest.fixture(scope="module")
def odd(loader: Any) -> UserTable:
    return open_table(source_of(loader), user="person")


def source_of(loader: Any) -> Any:
    """The table on an engine: from Arrow, or as its own types have it."""
    if loader.name == "postgres" and "odd" not in loader.loaded:
        loader.loaded["odd"] = in_postgres(loader.server_at)
    return loader.source(as_arrow, "odd")


@pytest.mark.parametrize("name", CASES)
def test_a_value_has_one_rule_everywhere(
    name: str, odd: UserTable, key: bytes, tally_of: Any
) -> None:
    case = CASES[name]
    table = tally_of(bound(odd, case.by, Bounds(5, 5), key=key))
    got = dict(zip(*(column.to_pylist() for column in table.columns), strict=True))
    want = case.expected.copy()
    want[None] += N - want.total()
    assert got == {group: n for group, n in want.items() if n}


@pytest.mark.parametrize("name", CASES)
def test_tallies_are_equal_to_the_byte(
    name: str, odd: UserTable, duckdb_loader: Any, key: bytes, tally_of: Any, digest_of: Any
) -> None:
    tables = (odd, open_table(source_of(duckdb_loader), user="person"))
    here, there = (
        tally_of(bound(table, CASES[name].by, Bounds(5, 5), key=key)) for table in tables
    )
    assert digest_of(here) == digest_of(there)


@pytest.mark.postgres
def test_numerics_that_are_no_double(postgres_address: str, key: bytes, tally_of: Any) -> None:
    import psycopg

    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("create table beyond (person text, exact numeric)")
        for i, number in enumerate(NUMERICS):
            connection.execute("insert into beyond values (%s, %s)", [f"n{i}", number])
    table = open_table(f"{postgres_address}?table=beyond", user="person")
    tally = tally_of(bound(table, bins("exact", 10), Bounds(5, 5), key=key))
    assert tally.to_pydict() == {"exact": [0, None], "true_total": [2, 6]}


def test_every_verb_gets_through(odd: UserTable, loader: Any, tmp_path: Path) -> None:
    """The table of odd values once through each verb's own queries, as a person calls them."""
    data = hc.open(
        source_of(loader), user="person", account="odd", budget=hc.Budget(rho=1000, delta=1e-2),
        ledger=tmp_path / "l.db", where="double is null or double < 1e15",
    )  # fmt: skip
    spend = hc.Budget(rho=1, delta=1e-3)
    for plan in (
        data.count_users(by="text", spend=spend),
        data.count_users(by="text", within=0.1, spend=spend),
        data.count_events(by="text", groups=["plain", None], spend=spend),
        data.quantiles("exact", bounds=(0, 100), spend=spend),
        data.quantiles("double", bounds=(0, 100), per_user="sum", spend=spend),
        data.frequencies(by=hc.truncate("zoned", "hour"), bound=2, spend=spend),
        data.distribution(by="text", spend=spend),
    ):
        assert plan.release().guarantee
