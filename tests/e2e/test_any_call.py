"""Random calls on random tables: refused with a reason before a charge, or rows that make sense.

An error after the charge loses budget, so nothing but a broken engine may cause one.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import headcount as hc
from headcount.releases.plan import Plan

N_CALLS = 12
KINDS: dict[str, Callable[[int], Any]] = {
    "text": lambda number: f"g{number}",
    "integer": int,
    "truth": lambda number: number % 2 == 1,
    "day": lambda number: datetime.date(2024, 1, 1) + datetime.timedelta(days=number),
}
TARGETS = (None, None, 0.01, 0.1, 0.4)
TOPS = (None, None, 1, 3, 100)


def some_table(chooser: random.Random) -> pa.Table:
    """From no row at all to some thousand, some without a user, a group or a value."""
    dice = np.random.default_rng(chooser.randrange(2**32))
    n_users = chooser.choice([0, 1, 2, 3, 10, 100, 1000, 3000])
    n_rows = n_users * chooser.choice([1, 1, 2, 5, 20])
    kind = KINDS[chooser.choice(list(KINDS))]
    n_groups = chooser.choice([1, 2, 5, 50, 1000])
    numbers = np.minimum(dice.geometric(chooser.choice([0.02, 0.1, 0.5]), n_rows), n_groups)
    share_absent = chooser.choice([0, 0, 0.1])
    columns = {
        "user": pa.array(dice.integers(0, max(n_users, 1), n_rows).tolist(), pa.int64()),
        "group": pa.array([kind(int(n)) for n in numbers], type=pa.scalar(kind(1)).type),
        "value": pa.array(dice.lognormal(2, 1.5, n_rows).tolist(), pa.float64()),
    }
    for name, column in columns.items():
        is_there = pa.array(dice.random(n_rows) >= share_absent)
        columns[name] = pc.if_else(is_there, column, pa.scalar(None, column.type))
    return pa.table(columns)


def some_spend(chooser: random.Random) -> hc.Budget:
    if chooser.random() < 0.5:
        return hc.Budget(epsilon=chooser.choice(["0.01", "0.1", "1", "5", "20"]), delta="1e-7")
    return hc.Budget(rho=chooser.choice(["0.00001", "0.001", "0.1", "1", "10"]), delta="1e-7")


def some_plan(verb: str, data: Any, groups: Any, chooser: random.Random) -> Plan:
    pick = chooser.choice
    spend = some_spend(chooser)
    match verb:
        case "count_users":
            method = pick(["auto", "threshold", "laplace", "equal", "peel", "sample"])
            has_target = method in ("auto", "equal", "peel")
            return data.count_users(
                "group", groups=None if method == "laplace" else groups, top=pick(TOPS),
                within=pick(TARGETS) if has_target else None, method=method,
                bound=None if has_target else pick([None, 1, 3]), spend=spend,
            )  # fmt: skip
        case "count_events":
            method = pick(["auto", "auto", "gaussian", "laplace", "equal"])
            return data.count_events(
                "group", groups=groups, top=pick(TOPS), within=pick(TARGETS), method=method,
                spend=spend,
            )  # fmt: skip
        case "distribution":
            method = pick(["auto", "coarse-fine", "clip", "gaussian", "laplace", "dense", "sparse"])
            return data.distribution(
                "group", groups=groups, method=method, users=pick([None, 100]),
                samples=pick([None, 5, 100_000]), spend=spend,
            )  # fmt: skip
        case "frequencies":
            method = pick(["auto", "central", "laplace"])
            buckets = None if groups else pick([None, 100, 5000])
            return data.frequencies(
                "group", groups=groups, buckets=buckets, bound=pick([None, 1, 3]), method=method,
                spend=spend,
            )  # fmt: skip
        case "quantiles":
            names = ["auto", "hierarchy", "exponential", "sample", "sample-levels", "sample-search"]
            return data.quantiles(
                pick(["value", None]), bounds=pick([(0, 100), (-10, 1000), (0, 1), (0.5, 3.25)]),
                at=pick([0.5, [0.1, 0.5, 0.9], [0.001, 0.999]]), method=pick(names),
                per_user=pick(["median", "mean", "sum", "min", "max", "sampled"]),
                step=pick([None, 0.5, 10]), spend=spend,
            )  # fmt: skip
        case "count_ranges":
            ranges = pick([[0, 10, 100], [(0, 10), (5, None)], [(None, 3)]])
            method = pick(["auto", "sample", "sample-levels"])
            return data.count_ranges(pick(["value", None]), ranges, method=method, spend=spend)
        case _:
            return data.profile("group", spend=spend)


def make_sense(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        numbers = [value for value in row.values() if isinstance(value, float)]
        assert np.isfinite(numbers).all()
        assert row["low"] <= row["high"]


VERBS = ["count_users", "count_events", "distribution", "frequencies", "quantiles", "count_ranges",
         "profile"]  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_a_call_is_refused_before_its_charge_or_gives_rows(verb: str, tmp_path: Path) -> None:
    n_released = 0
    for number in range(N_CALLS):
        chooser = random.Random(f"{verb} {number}")
        table = some_table(chooser)
        listed = table["group"].unique().to_pylist()[: chooser.choice([1, 5, 100])]
        groups = listed if listed and chooser.random() < 0.4 else None
        neighbours = chooser.choice(["add-remove", "add-remove", "replace"])
        data = hc.open(
            table, user="user", account=f"a{number}", budget=hc.Budget(rho=1000, delta="0.1"),
            ledger=tmp_path / "l.db", neighbours=neighbours,
        )  # fmt: skip
        try:
            plan = some_plan(verb, data, groups, chooser)
        except hc.HeadcountError:
            assert data.account.spent.rho == 0
            continue
        release = plan.release()
        make_sense(release.to_arrow().to_pylist())
        release.plot(tmp_path / "p.svg")
        n_released += 1
    assert n_released >= N_CALLS // 4, "most calls were refused, and little was tried"
