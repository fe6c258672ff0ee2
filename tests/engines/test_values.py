"""Every engine puts the same users in the same cells."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headcount.contributions.sample import Coins
from headcount.contributions.sampled_values import Values
from headcount.contributions.values import PER_USER, users_per_cell
from headcount.privacy.cells import Blocks, Edges, Grid, read_grid, read_ranges

EXTREMES = [
    math.nan,
    math.inf,
    -math.inf,
    0.0,
    -0.0,
    1e308,
    -1e308,
    5e-324,
    1e300,
    99.99999999999999,
    100.0,
    None,
]


def values() -> pa.Table:
    rng = np.random.default_rng(11)
    n = 3000
    users = np.sort(rng.zipf(1.7, n) % 400)
    floats = rng.normal(40, 35, n).tolist()
    for at, value in enumerate(EXTREMES * 20):
        floats[7 * at] = value
    return pa.table(
        {
            "user": pa.array([f"u{user}" for user in users]),
            "x": pa.array(floats, pa.float64()),
            "k": pa.array(rng.integers(-50, 500, n), pa.int64()),
            "d": pa.array(
                [Decimal(int(i)) / 100 for i in rng.integers(0, 9999, n)], pa.decimal128(9, 2)
            ),
        }
    )


CELLS: dict[str, Grid | Edges] = {
    "grid": read_grid((0, 100), "0.1", whole=False),
    "integers": read_grid((-10, 300), None, whole=True),
    "wide": read_grid((0, 2**40), 2**26, whole=True),
    "edges": read_ranges([(None, 0), (0, "33.3"), (20, 100), (100, None)])[0],
}


KINDS: dict[str, list[tuple[str | None, str]]] = {
    "grid": [*(("x", name) for name in PER_USER), ("d", "mean")],
    "integers": [("k", "sum"), ("k", "sampled"), (None, "median")],
    "wide": [("x", "min"), ("x", "sum")],
    "edges": [("x", "median"), ("d", "max")],
}


@pytest.mark.parametrize("cells", CELLS)
def test_users_are_in_the_same_cells_everywhere(
    cells: str, loader: Any, duckdb_loader: Any, key: bytes
) -> None:
    for of, per_user in KINDS[cells]:
        got, want = (
            users_per_cell(
                where.open(values(), "values", user="user"), of, per_user, CELLS[cells], key
            ).ask()
            for where in (loader, duckdb_loader)
        )
        assert want.sum() > 100  # Tiny and huge values stop no engine.
        assert got.tolist() == want.tolist(), (of, per_user)


HALF = Coins(1, 1 << 59, 2)
LOOKS = [
    (1, Blocks(311, 20)),
    (2, Blocks(311, 20)),
    (1, Blocks(311, 40)),
    (3, Blocks(311, split=90)),
]


def test_samples_pick_the_same_users_everywhere(
    loader: Any, duckdb_loader: Any, key: bytes
) -> None:
    seen = []
    for number, blocks in LOOKS:
        got, want = (
            Values(
                where.open(values(), "values", user="user"), "k", "median", CELLS["integers"], key
            )
            .sampled(number, blocks, HALF)
            .ask()
            for where in (loader, duckdb_loader)
        )
        assert got.tolist() == want.tolist(), (number, str(blocks))
        seen.append(want)
    first, second, coarser, _ = seen
    # A second look has coins of its own, and so has the same look in other blocks.
    assert first.tolist() != second.tolist()
    assert first.reshape(-1, 2).sum(axis=1).tolist() != coarser.tolist()


def test_a_sample_has_its_rate_and_hides_small_blocks(duckdb_loader: Any, key: bytes) -> None:
    n = 40_000
    own = pa.table({"user": np.arange(n), "x": np.arange(n) % 4 * 10})
    table = duckdb_loader.open(own, "many", user="user")
    read = Values(table, "x", "max", read_grid((0, 40), None, whole=True), key)
    shown = read.sampled(1, Blocks(41, 10), Coins(1, 1 << 57, 2)).ask()
    assert shown[:4] == pytest.approx([n / 32] * 4, abs=6 * math.sqrt(n / 32))
    hidden = read.sampled(1, Blocks(41, 10), Coins(1, 1 << 57, 5_000)).ask()
    assert hidden.tolist() == [0] * 5
