"""How many groups have each count is the same on every engine, and so is which groups collide."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headcount.contributions.bound import bound
from headcount.contributions.frequencies import N_DIGITS, SEED, true_frequencies
from headcount.postprocess.frequencies import distance
from headcount.privacy.bounds import Bounds

N_GROUPS = 80
LISTED = [None, "straße 03", "straße 04", "nobody is here"]
Runs = dict[int, int]


def events(n_users: int = 300) -> pa.Table:
    chooser = random.Random(12)
    users, items = [], []
    for user in range(n_users):
        n = min(N_GROUPS, 1 + int(chooser.paretovariate(0.7)))
        chosen = chooser.sample(range(N_GROUPS), n)
        users += [user] * (n + 1)
        items += [None if g == 7 else f"straße {g:02d}" for g in [*chosen, chosen[0]]]
    return pa.table({"user": users, "item": items})


def runs(table: Any, key: bytes, most: int, **settings: Any) -> Runs:
    groups = settings.pop("groups", None)
    bounded = bound(table, "item", Bounds(most, most), key=key, groups=groups)
    frequencies = true_frequencies(bounded, **settings)
    counts, n_groups = frequencies.runs.ask()
    assert (np.diff(counts) > 0).all()
    assert frequencies.n_groups.ask().tolist() == [n_groups[counts > 0].sum()]
    return dict(zip(counts.tolist(), n_groups.tolist(), strict=True))


def by_hand(buckets: int | None = None) -> Runs:
    table = events().to_pydict()
    pairs = set(zip(table["user"], table["item"], strict=True))
    counts = Counter(item for _, item in pairs)
    if buckets is not None:
        loads: Counter[int] = Counter()
        for item, count in counts.items():
            text = SEED + ("n" if item is None else f"v{len(item)}:{item}")
            number = int(hashlib.sha256(text.encode()).hexdigest()[:N_DIGITS], 16)
            loads[number % buckets] += count
        return dict(Counter(loads.values()))
    return dict(Counter(counts.values()))


@pytest.mark.parametrize("buckets", [None, 7, 1_000_003])
def test_without_a_bound_that_binds_it_is_what_python_counts(
    loader: Any, key: bytes, buckets: int | None
) -> None:
    table = loader.open(events(), "frequencies", user="user")
    assert runs(table, key, N_GROUPS, buckets=buckets) == by_hand(buckets)


def test_bounds_and_lists_agree(loader: Any, duckdb_loader: Any, key: bytes) -> None:
    got, want = (
        [
            runs(table, key, 3),
            runs(table, key, 3, buckets=20),
            runs(table, key, 2, groups=LISTED),
        ]
        for table in (
            where.open(events(), "frequencies_too", user="user")
            for where in (loader, duckdb_loader)
        )
    )
    assert got == want
    assert sum(want[2].values()) == len(LISTED)
    assert want[2][0] >= 1


def test_one_user_moves_sorted_counts_by_no_more_than_the_bound(
    duckdb_loader: Any, key: bytes
) -> None:
    full = events()
    for most in (1, 4):
        for user in (0, 17, 41, 299):
            keep = np.asarray(full.column("user")) != user
            sides = []
            for name, part in (("with", full), ("without", full.filter(pa.array(keep)))):
                table = duckdb_loader.open(part, f"{name}_{most}_{user}", user="user")
                found = runs(table, key, most)
                sides.append((np.array(list(found)), np.array(list(found.values()))))
            assert distance(sides[0], sides[1]) <= most
