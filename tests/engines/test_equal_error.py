"""Every stage of the equal-error release sees the same numbers on every engine."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headcount.contributions.listed_pairs import ListedPairs
from headcount.contributions.pairs import Pairs
from headcount.contributions.store import Store
from headcount.privacy.bounds import Bounds

N_GROUPS = 60
BOUNDS = Bounds(1 << 20, 1, 20)


def events() -> pa.Table:
    chooser = random.Random(11)
    users, items = [], []
    for user in range(400):
        n = min(N_GROUPS, 1 + int(chooser.paretovariate(0.6)))
        chosen = chooser.sample(range(N_GROUPS), n)
        users += [user] * (n + 1)
        items += [None if g == 7 else f"straße {g:02d}" for g in [*chosen, chosen[0]]]
    return pa.table({"user": users, "item": items})


def everything(query: Any) -> Any:
    true_totals = query.ask()
    return np.arange(len(true_totals)), true_totals


def answers(table: Any, key: bytes, max_value: int = 1) -> list[list[int]]:
    """What reaches the noise, stage by stage, for fixed public numbers."""
    found: list[Any] = []
    with Store(table.engine) as store:
        pairs = Pairs(table, "item", store, key=key, max_value=max_value)
        if max_value > 1:
            found.append(pairs.users_per_rows_cell().ask())
        found += [pairs.users_per_cell().ask(), pairs.largest(N_GROUPS).ask()]
        found.append(pairs.discover(Bounds(5, 1, 20), everything))
        found.append(pairs.discover(BOUNDS, everything))
        assert pairs.groups.num_rows == N_GROUPS
        every_name, pairs.groups = pairs.groups, pairs.groups.slice(0, N_GROUPS // 3)
        found.append(pairs.largest_others(N_GROUPS).ask())
        found.append(pairs.count_of_other(1).ask())
        others = pairs.others()
        found.append(others.discover(BOUNDS, everything))
        pairs.take_in(others)
        assert pairs.groups.equals(every_name)
        known = pairs.known(np.arange(N_GROUPS)[::-1])
        every = np.arange(N_GROUPS)
        weights = 1_234_567 // (every + 3)
        found.append(known.class_totals(weights, every * 4 // N_GROUPS, 700_000).ask())
        clip = int((weights.astype(float) ** 2).sum()) // 5
        caps = np.outer((1, 5), np.arange(1, 9) * 100_003)
        found.append(
            [
                query.ask()
                for query in known.clipped_share(
                    weights=weights,
                    values=weights // (every % 7 + 1),
                    first_level=every // 10,
                    clips=tuple(clip * 10 // part for part in range(10, 18)),
                    caps=caps,
                    unit_bits=20,
                )
            ]
        )
        index = every[:50]
        rounds = [known.clipped(index, weights[index], clip // part) for part in (3, 7)]
        found += [one.totals(7).ask() for one in rounds]
        shares = (weights[index] * 100, weights[index] * 333)
        edges = tuple(2.0 ** (power / 2) for power in range(-8, 8))
        norm = 100 * math.isqrt(clip)
        off = rounds[0].taken_away(rounds[1], shares, index * 8 // 50, norm, edges)
        losing = known.users_by_loss(
            index,
            weights=weights,
            values=weights,
            clip=clip // 9,
            cap=math.isqrt(clip),
            edges=edges,
        )
        found += [query.ask() for query in (*off, losing)]
    return [np.ravel(part).tolist() for part in found]


def weighed(table: Any) -> list[list[int]]:
    """What is asked of a list, some groups of which nobody is in."""
    listed = [*(f"straße {group:02d}" for group in range(0, N_GROUPS, 2)), None, "nobody is here"]
    with Store(table.engine) as store:
        pairs = ListedPairs(table, "item", listed, store)
        asked = (pairs.users_per_cell(), pairs.weighed(BOUNDS), pairs.users)
        return [query.ask().tolist() for query in asked]


def test_weights_of_a_list_agree(loader: Any, duckdb_loader: Any) -> None:
    got, want = (
        weighed(where.open(events(), "equal_error_listed", user="user"))
        for where in (loader, duckdb_loader)
    )
    assert got == want
    assert len(got[1]) == 32
    assert max(got[1]) > 0 == min(got[1])


@pytest.mark.parametrize("max_value", [1, 7])
def test_stages_agree(loader: Any, duckdb_loader: Any, key: bytes, max_value: int) -> None:
    got, want = (
        answers(where.open(events(), "equal_error", user="user"), key, max_value)
        for where in (loader, duckdb_loader)
    )
    assert got == want
    assert all(max(part) > 0 for part in got)
