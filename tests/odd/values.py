"""Values that nobody should write, and some that one may: whatever a program may hand over."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import headcount as hc


class Stubborn:
    """Answers no question about itself."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("asked for " + name)

    def __repr__(self) -> str:
        raise RuntimeError("asked for its text")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    def __bool__(self) -> bool:
        raise RuntimeError("asked if it is true")

    def __index__(self) -> int:
        raise RuntimeError("asked for a number")

    __hash__ = None  # type: ignore[assignment]


class Lying(int):
    """A number that compares like no other."""

    def __le__(self, other: object) -> bool:
        raise ArithmeticError

    __lt__ = __ge__ = __gt__ = __le__


ODD: list[Callable[[], Any]] = [
    lambda: None, lambda: True, lambda: False, lambda: 0, lambda: -1, lambda: 1, lambda: 2,
    lambda: 3.7, lambda: 0.1, lambda: 1.0, lambda: -0.0, lambda: float("nan"),
    lambda: float("inf"), lambda: -float("inf"), lambda: 1e-300, lambda: 1e300, lambda: 5e-324,
    lambda: 10**6, lambda: 2**31, lambda: 2**63, lambda: 10**30, lambda: 10**5000,
    lambda: -(10**5000), lambda: 1j, lambda: "", lambda: "1", lambda: "x", lambda: "group",
    lambda: "1/10", lambda: "0.5", lambda: "1e999999999", lambda: "nan", lambda: "-1",
    lambda: "0e-999999999", lambda: "1/0", lambda: "9" * 5000, lambda: "a\x00b", lambda: "\ud800",
    lambda: "é" * 100_000, lambda: "[/foo]", lambda: "auto", lambda: "sample", lambda: "count",
    lambda: b"a", lambda: bytearray(b"x"), lambda: np.int64(3), lambda: np.float64(0.2),
    lambda: np.float32(0.1), lambda: np.bool_(True), lambda: np.nan, lambda: np.array([1, 2]),
    lambda: np.array(3), lambda: np.array([["a", "b"]]), lambda: np.array(["g1", "g2"]),
    lambda: np.datetime64("2026-01-01"), lambda: Decimal("0.2"), lambda: Decimal("nan"),
    lambda: Decimal("sNaN"), lambda: Decimal("Infinity"), lambda: Decimal("1e999999"),
    lambda: Decimal("1e-999999"), lambda: Fraction(1, 5), lambda: Fraction(10**5000, 3),
    lambda: Fraction(1, 10**5000), lambda: Fraction(-1, 3), list, tuple, dict,
    set, lambda: [1], lambda: (1,), lambda: [None], lambda: [[]], lambda: [[1, 2]],
    lambda: [(0, 5)], lambda: [(5, 0)], lambda: [(None, None)], lambda: ["g1", "g1"],
    lambda: ["g1", 2, None], lambda: ["g1", "g2"], lambda: ["group", "x"], lambda: {"a": 1},
    lambda: {"g1", "g2"}, lambda: (n for n in "ab"), lambda: iter([1]), lambda: range(3),
    lambda: range(10**12), lambda: [float("nan")], lambda: [Stubborn()], lambda: Stubborn(),
    lambda: [Lying(3)], lambda: Lying(3), lambda: object(), lambda: int, lambda: print,
    lambda: Path("x"), lambda: datetime.date(2026, 1, 1), lambda: datetime.datetime(2026, 1, 1),
    lambda: datetime.timedelta(1), lambda: pd.Series(["g1", "g2"]), lambda: pd.Series([0.5, 0.9]),
    lambda: pd.NA, lambda: pd.NaT, lambda: pd.Timestamp("2026-01-01"), lambda: pd.DataFrame(),
    lambda: pd.DataFrame({"a": [1]}), lambda: pa.array(["g1"]), lambda: pa.table({"a": [1]}),
    lambda: pa.scalar(3), lambda: hc.Budget(rho=1), lambda: hc.Budget(epsilon=1, delta=0.9),
    lambda: hc.Budget(rho="1e-11"), lambda: hc.Budget(epsilon=10**7), lambda: hc.Csv(),
    lambda: hc.truncate("group", "day"), lambda: hc.bins("x", 3), lambda: [hc.bins("x", 3), "x"],
    lambda: hc.bins("no", 3), lambda: NotImplemented, lambda: ..., lambda: Exception("x"),
]  # fmt: skip


def odd(chooser: random.Random) -> Any:
    """One of them; now and then inside a list, a tuple or a dictionary."""
    value = chooser.choice(ODD)()
    shape = chooser.random()
    if shape < 0.06:
        return [value]
    if shape < 0.10:
        return (value, chooser.choice(ODD)())
    if shape < 0.12:
        return {"a": value}
    return value


WORDS = [
    "", " ", "0", "-1", "1", "2", "1.5", "nan", "inf", "1e400", "1e999999999", "1/10", "1/0", "x",
    "group", "user", "x:0", "x:nan", "x:10", "group:10", "group:day", ":", "count", "true_total",
    "x" * 5000, "\udc80", "é", "[/b]", "'", '"; drop table t; --', "0:5", "5:0", ":", "a:b", "0.5",
    "2", "10000000000000000000000000", ".", "/", "/proc/x.csv", "nowhere/x.csv", "x.gif", "x.csv",
    "x.svg", "x.parquet", "/dev/null", "auto", "sample", "-", "--", "=", "a=b", "a=", "postgres://",
    "duckdb://", "duckdb://no.db?table=t", "postgresql://u:p@h:x/d", "mysql://a/b", "text",
    "x=text", "group = 'g1'", "x = 1; drop table t", "x > 3", "length(x) > 1", "(" * 500, "2GB",
]  # fmt: skip
"""What a shell may hand over."""
