"""Every stage of learning a distribution sees the same numbers on every engine."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headcount.contributions.distribution.found import FoundShares
from headcount.contributions.distribution.rows import listed_counts
from headcount.contributions.distribution.shares import UserShares
from headcount.contributions.groups import group_rows
from headcount.contributions.store import Store
from headcount.privacy.bounds import Bounds
from headcount.privacy.lattice import SHARE_BITS, WEIGHT_BITS, length_edges
from headcount.privacy.query import Query

Integers = npt.NDArray[np.int64]
N_GROUPS = 30


def events() -> pa.Table:
    chooser = random.Random(7)
    users, items = [], []
    for user in range(300):
        for _ in range(1 + int(chooser.paretovariate(0.8)) % 200):
            group = min(int(chooser.expovariate(0.15)), N_GROUPS + 4)
            users.append(user)
            items.append(None if group == 3 else f"straße {group:02d}")
    return pa.table({"user": users, "item": items})


def stages(shares: UserShares) -> list[Any]:
    """What reaches the noise, for fixed public numbers."""
    n = shares.n_groups
    weights = ((1 << WEIGHT_BITS) - 1_111 * np.arange(n)).astype(np.int64)
    centre = ((1 << SHARE_BITS) // (np.arange(n) + 3) // 4).astype(np.int64)
    asked = [shares.n_users(), shares.users_by_samples(np.array([1, 5, 20]))]
    asked += [shares.floored_totals(), shares.counts_by_group(10)]
    found: list[Any] = [query.ask() for query in asked]
    for given in ((None, None), (centre, None), (None, weights), (centre, weights)):
        residuals = shares.around(*given)
        lengths = residuals.users_by_length().ask()
        found.append(lengths)
        middle = length_edges()[int(np.searchsorted(np.cumsum(lengths), lengths.sum() / 2))]
        asked = [residuals.kept(middle), residuals.clipped(middle), residuals.clipped(1 << 45)]
        asked.append(residuals.users_beyond(20, 30, 20))
        found += [query.ask() for query in asked]
    return found


def above_four(query: Query[Integers]) -> tuple[npt.NDArray[np.intp], Integers]:
    true_totals = query.ask()
    return np.flatnonzero(true_totals > 4 << 20), true_totals


def answers(table: Any, key: bytes) -> list[list[int]]:
    listed = [None, *(f"straße {g:02d}" for g in range(N_GROUPS) if g != 3)]
    with Store(table.engine) as store:
        shares = UserShares(listed_counts(group_rows(table, "item", listed)), N_GROUPS, store)
        answered = stages(shares)
        found = FoundShares(table, "item", store, key=key)
        totals = found.discover(Bounds(1 << 20, 1, 20), above_four)
        assert 5 < found.groups.num_rows < N_GROUPS
        answered += [totals[:0], *stages(found.shares())]
    return [np.ravel(part).tolist() for part in answered]


def test_stages_agree(loader: Any, duckdb_loader: Any, key: bytes) -> None:
    got, want = (
        answers(where.open(events(), "distribution", user="user"), key)
        for where in (loader, duckdb_loader)
    )
    assert got == want
    assert all(any(part) for part in got if part)
