"""Every engine against thirty lines of plain Python, on a table made to be nasty."""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from headcount.contributions import Limits, bound, clip_l2, clip_rows
from headcount.privacy.bounds import Bounds
from headcount.tables import bins, truncate

TEXTS = [
    "plain", "", "null", "NULL", None, "e\u0301", "\u00e9",
    "\U0001f926\U0001f3fc\u200d\u2642\ufe0f",
    "it's", 'say "x"', "back\\slash", "a|b", "a:b", "v4:null", " lead", "trail ", "Z", "a", "ä",
    "%", "\u212b", "\u00c5", "-- x", "line\nbreak", "{}", "\uffff", "\U0001f600", "$$",
]  # fmt: skip
FLOATS = [math.nan, -0.0, 0.0, math.inf, -math.inf, 1e308, -1e308, 5e-324, -5e-324, 9.999, 10.0,
          -10.0, -10.000001, 0.1, 0.3, 2.0**53, -(2.0**53), 2.0**56, 1e-300, None]  # fmt: skip
TIMES = [
    datetime(2024, 3, 10, 2, 30, tzinfo=UTC),
    datetime(2024, 3, 9, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(2024, 3, 10, 0, 0, tzinfo=UTC),
    datetime(2024, 11, 3, 5, 30, tzinfo=UTC),
    datetime(2024, 11, 3, 6, 30, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 500000, tzinfo=UTC),
    datetime(1, 1, 1, 0, 0, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
    None,
]


def nasty_rows() -> list[dict[str, Any]]:
    rows = []
    for index in range(1200):
        time = TIMES[(index * 7) % len(TIMES)]
        rows.append(
            {
                "user": None if index % 41 == 0 else f"user {index % 37}'\u00e9",
                "word": TEXTS[(index * index + index // 37) % len(TEXTS)],
                "small": [None, -3, 0, 7, 2**62][(index // 3) % 5],
                "flag": [True, False, None][(index // 5) % 3],
                "day": [date(2024, 1, 31), date(2023, 12, 31), None, date(1, 1, 1)][index % 4],
                "price": FLOATS[(index * 3) % len(FLOATS)],
                "zoned": time,
                "naive": None if time is None else time.replace(tzinfo=None),
            }
        )
    return rows


ROWS = nasty_rows()
SCHEMA = pa.schema(
    {
        "user": pa.string(),
        "word": pa.string(),
        "small": pa.int64(),
        "flag": pa.bool_(),
        "day": pa.date32(),
        "price": pa.float64(),
        "zoned": pa.timestamp("us", "UTC"),
        "naive": pa.timestamp("us"),
    }
)


def field(value: Any) -> str:
    if value is None:
        return "n"
    if isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, datetime):
        text = value.strftime("%Y%m%d%H").lstrip("0")
    elif isinstance(value, date):
        text = str(value.year * 10000 + value.month * 100 + value.day)
    else:
        text = str(value)
    return f"v{len(text)}:{text}"


def hashed(key: bytes, user: str, group: tuple[Any, ...]) -> str:
    message = key.hex() + "|" + field(user) + "".join(map(field, group))
    return hashlib.sha256(message.encode()).hexdigest()[:15]


def kept_values(
    rows: Any, groups_of: Any, key: Any, max_groups: Any, max_rows: Any = None, listed: Any = None
) -> Any:
    """{user: {group: rows}}, at most max_groups each by keyed hash."""
    users: dict[str, dict[tuple[Any, ...], int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        group = groups_of(row)
        if row["user"] is not None and (listed is None or group in listed):
            users[row["user"]][group] += 1
    kept = {}
    for user, groups in users.items():
        order = sorted(groups, key=partial(hashed, key, user))
        chosen = order if len(order) <= max_groups else order[:max_groups]
        kept[user] = {g: min(groups[g], max_rows or groups[g]) for g in chosen}
    return kept


def summed(values: Any, listed: Any = None) -> Any:
    totals = dict.fromkeys(listed or (), 0)
    for groups in values.values():
        for group, value in groups.items():
            totals[group] = totals.get(group, 0) + value

    def order(item: Any) -> Any:
        return [(v is None, v.encode() if isinstance(v, str) else v or 0) for v in item[0]]

    return [(*group, total) for group, total in sorted(totals.items(), key=order)]


def nfc(value: str | None) -> str | None:
    return None if value is None else unicodedata.normalize("NFC", value)


def binned(value: float | None, width: float) -> int | None:
    if value is None or not math.isfinite(value) or abs(value) >= 2**53 * width:
        return None
    return 0 if 0 <= value < width else math.floor(value / width)


def cut(value: Any, to: str) -> Any:
    if value is None:
        return None
    if to == "hour":
        return value.replace(minute=0, second=0, microsecond=0, tzinfo=None)
    day = value.date() if isinstance(value, datetime) else value
    if to == "week":
        return day - timedelta(days=day.weekday())
    month = {"year": 1, "quarter": (day.month - 1) // 3 * 3 + 1}.get(to, day.month)
    return day if to == "day" else day.replace(month=month, day=1)


GROUPINGS: dict[str, Any] = {
    "word": ("word", lambda r: (nfc(r["word"]),)),
    "integer": ("small", lambda r: (r["small"],)),
    "flag": ("flag", lambda r: (r["flag"],)),
    "date": ("day", lambda r: (r["day"],)),
    "several": (["word", "small", "flag"], lambda r: (nfc(r["word"]), r["small"], r["flag"])),
    "bins": (bins("price", 10), lambda r: (binned(r["price"], 10.0),)),
    "thin bins": (bins("price", "0.1"), lambda r: (binned(r["price"], 0.1),)),
    **{
        f"{column} {to}": (
            truncate(column, to),
            lambda r, column=column, to=to: (cut(r[column], to),),
        )
        for column, units in {
            "zoned": ("year", "quarter", "month", "week", "day", "hour"),
            "naive": ("week", "day", "hour"),
            "day": ("quarter", "week"),
        }.items()
        for to in units
    },
}


@pytest.fixture(scope="module")
def nasty(loader: Any) -> Any:
    return lambda where=None: loader.open(
        pa.Table.from_pylist(ROWS, schema=SCHEMA), "nasty", user="user", where=where
    )


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize(
    ("name", "bounds"),
    [*((name, Bounds(3, 2, 10)) for name in GROUPINGS), ("several", Bounds(2, 2, 0))],
)
def test_counts_of_users_are_those_of_plain_python(
    name: Any, bounds: Any, nasty: Any, key: Any, tally_of: Any
) -> None:
    by, groups_of = GROUPINGS[name]
    kept = kept_values(ROWS, groups_of, key, bounds.max_groups)
    values = {u: {g: bounds.weight(len(gs)) for g in gs} for u, gs in kept.items()}
    assert rows_of(tally_of(bound(nasty(), by, bounds, key=key))) == summed(values)


@pytest.mark.parametrize("max_groups", [2, 100])
def test_listed_groups_are_all_there_and_no_other(
    max_groups: Any, nasty: Any, key: Any, tally_of: Any
) -> None:
    by, groups_of = GROUPINGS["several"]
    listed = [("e\u0301", 0, True), ("null", None, None), (None, None, None), ("none", 1, True),
              ("", 7, False), ("a", -3, True), ("Z", 2**62, None)]  # fmt: skip
    normal = {(nfc(w), s, f) for w, s, f in listed}
    bounds = Bounds(max_groups, 1, 8)
    kept = kept_values(ROWS, groups_of, key, max_groups, listed=normal)
    values = {u: {g: bounds.weight(len(gs)) for g in gs} for u, gs in kept.items()}
    table = tally_of(bound(nasty(), by, bounds, key=key, groups=listed))
    assert rows_of(table) == summed(values, normal)


@pytest.mark.parametrize("bits", [0, 10])
def test_clipped_rows_are_those_of_plain_python(
    bits: Any, nasty: Any, key: Any, tally_of: Any
) -> None:
    by, groups_of = GROUPINGS["word"]
    limits, scale = Limits(max_rows=3, max_groups=8, lattice_bits=bits), 1 << bits
    kept = kept_values(ROWS, groups_of, key, 8, max_rows=3)

    def l2(groups: Any) -> Any:
        norm = sum(n * n for n in groups.values())
        return {
            g: math.isqrt(n * n * 7 * scale**2 // norm) if norm > 7 else n * scale
            for g, n in groups.items()
        }

    whole = {u: {g: n * scale for g, n in gs.items()} for u, gs in kept.items()}
    assert rows_of(tally_of(clip_rows(nasty(), by, limits, key=key))) == summed(whole)
    by_l2 = summed({u: l2(gs) for u, gs in kept.items()})
    clipped = rows_of(tally_of(clip_l2(nasty(), by, limits, max_l2_squared=7, key=key)))
    # The margin of the clip may cost one unit per user where the exact value is an integer.
    assert all(0 <= exact[-1] - got[-1] <= 37 for exact, got in zip(by_l2, clipped, strict=True))
    assert [row[:-1] for row in clipped] == [row[:-1] for row in by_l2]


WHERES: dict[str, Any] = {
    "flag = true and not small in (7, 0)": lambda r: r["flag"] and r["small"] not in (7, 0, None),
    "word <> 'it''s' and word is not null": lambda r: r["word"] not in ("it's", None),
    "price between -10 and 10": lambda r: r["price"] is not None and -10 <= r["price"] <= 10,
    "price > 0.3 or day < '2024-01-01'": lambda r: (
        (r["price"] is not None and (r["price"] > 0.3 or math.isnan(r["price"])))
        or (r["day"] is not None and r["day"] < date(2024, 1, 1))
    ),
    "zoned >= '2024-03-10 02:30:00+00:00' and zoned < '2024-11-03T06:30:00'": lambda r: (
        r["zoned"] is not None and TIMES[0] <= r["zoned"] < TIMES[4]
    ),
    "naive = '1969-12-31 23:59:59.500000' or '2024-03-10' = naive": lambda r: (
        r["naive"] in (datetime(1969, 12, 31, 23, 59, 59, 500000), datetime(2024, 3, 10))
    ),
    "zoned is null and (small is null or small = -3)": lambda r: (
        r["zoned"] is None and r["small"] in (None, -3)
    ),
}


@pytest.mark.parametrize("where", WHERES)
def test_where_chooses_the_rows_of_plain_python(
    where: Any, nasty: Any, key: Any, tally_of: Any
) -> None:
    by, groups_of = GROUPINGS["word"]
    kept = kept_values([r for r in ROWS if WHERES[where](r)], groups_of, key, 100)
    assert kept
    values = {u: dict.fromkeys(gs, 1) for u, gs in kept.items()}
    assert rows_of(tally_of(bound(nasty(where), by, Bounds(100, 100), key=key))) == summed(values)
