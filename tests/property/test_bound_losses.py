"""One user moves a loss by its sensitivity at most, and two against each other by the sum."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import combinations
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headcount.contributions.bound_losses import UNIT, CandidateBounds, bound_losses
from headcount.contributions.clip import N_ROWS
from headcount.contributions.groups import group_rows
from headcount.contributions.kept_rows import rows_of_pairs
from headcount.contributions.store import Store
from headcount.privacy.neighbours import Neighbours
from headcount.tables import open_table

SCHEMA = pa.schema({"user": pa.string(), "group": pa.int64()})
CANDIDATES = [
    CandidateBounds((1, 2, 5, 40), (3, 7, 20, 300)),
    CandidateBounds((1, 3, 4, 9), (4, 12, 17, 40), max_ratio=2),
]
EXAMPLES = max(1, int(os.environ.get("HEADCOUNT_EXAMPLES", "300")) // 20)

Rows = list[tuple[str, int]]
some = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 12)), max_size=60)
heavy = st.builds(
    lambda n, times, extra: [("v", g) for g in range(n)] * times + [("v", 0)] * extra,
    st.integers(0, 40),
    st.integers(1, 3),
    st.integers(0, 90),
)


def losses(rows: Rows, candidates: CandidateBounds) -> list[int]:
    given_rows = pa.table(
        {"user": [u for u, _ in rows], "group": [g for _, g in rows]}, schema=SCHEMA
    )
    table = open_table(given_rows, user="user")
    grouped = group_rows(table, "group")
    with Store(table.engine) as store:
        values = store.keep(rows_of_pairs(grouped))
        queries = bound_losses(store, values, grouped.columns, N_ROWS, candidates)
        return [query.ask() for query in queries]


def directly(rows: Rows, candidates: CandidateBounds) -> list[float]:
    """The same in Python, without any rounding."""
    values: dict[str, dict[int, int]] = {}
    for user, group in rows:
        own = values.setdefault(user, {})
        own[group] = own.get(group, 0) + 1
    found = []
    for bound, threshold in zip(candidates.bounds, candidates.thresholds, strict=True):
        kept, left = 0.0, dict.fromkeys(range(60), 0.0)
        for own in values.values():
            n_rows = sum(own.values())
            by_rows = candidates.max_ratio is None
            norm = n_rows if by_rows else sum(n * n for n in own.values()) ** 0.5
            weight = min(1.0, (candidates.max_ratio or 1) * norm / n_rows)
            kept += weight * n_rows / norm * min(norm, bound)
            for group, n in own.items():
                left[group] += weight * n * min(1.0, bound / norm)
        found.append(sum(min(total, threshold) for total in left.values()) - 2 * kept)
    return found


@pytest.mark.parametrize("candidates", CANDIDATES, ids=["rows", "norm"])
def test_losses_move_by_no_more_than_their_sensitivities(candidates: CandidateBounds) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(base=some, added=heavy, other=heavy)
    def check(base: Rows, added: Rows, other: Rows) -> None:
        with_user, with_other, without = (
            losses(base + more, candidates) for more in (added, other, [])
        )
        for right, relation in ((without, Neighbours.ADD_REMOVE), (with_other, Neighbours.REPLACE)):
            moved = [a - b for a, b in zip(with_user, right, strict=True)]
            limit = [one.linf for one in replace(candidates, neighbours=relation).sensitivities]
            for i, j in combinations(range(len(moved)), 2):
                assert abs(moved[i] - moved[j]) <= limit[i] + limit[j]
            assert all(abs(move) <= most for move, most in zip(moved, limit, strict=True))
        wanted: Any = pytest.approx(directly(base + added, candidates), rel=0.02, abs=0.5)
        assert [loss / UNIT for loss in with_user] == wanted

    check()
