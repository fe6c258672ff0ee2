"""One user who comes, goes or is replaced moves no answer about events further than declared."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headcount.contributions import Tally
from headcount.contributions.events import Events
from headcount.contributions.store import Store
from headcount.mechanisms.clip_choice import candidates, ratio_cap
from headcount.privacy.bounds import Bounds
from headcount.privacy.length import Length, Norm
from headcount.privacy.neighbours import Neighbours
from headcount.tables import open_table

GROUPS = ["a", "b", "é", None, "absent", *(f"g{index}" for index in range(12))]
EXAMPLES = max(1, int(os.environ.get("HEADCOUNT_EXAMPLES", "300")) // 20)
UNIT = 1 << 20

# How often a user has each of some groups: heavy users are where bounds bind.
users = st.lists(
    st.tuples(st.sampled_from(GROUPS), st.one_of(st.integers(1, 4), st.integers(1, 3000))),
    max_size=20,
)
lengths = st.one_of(st.sampled_from([1, Fraction(21, 20), 2, 10**9]), st.floats(1, 3000))

Answer = tuple[dict[Any, int], np.ndarray, int, np.ndarray]
FAR = Bounds(len(GROUPS), 1, 20)


def answers(rows: dict[str, list[tuple[Any, int]]], length: Length) -> Answer:
    """Clipped totals, the curve, and what was clipped off."""
    pairs = [(user, group) for user, given in rows.items() for group, n in given for _ in range(n)]
    table = open_table(
        pa.table(
            {
                "user": pa.array([user for user, _ in pairs], pa.string()),
                "item": pa.array([group for _, group in pairs], pa.string()),
            }
        ),
        user="user",
    )
    cap = ratio_cap(length.norm, len(GROUPS))
    with Store(table.engine) as store:
        events = Events(table, "item", GROUPS, store)
        (part,) = Tally(events.clipped(length)).parts()
        (names,) = part.every_name().columns
        totals = dict(zip(names.to_pylist(), part.query.ask().tolist(), strict=True))
        curve = events.weight_curve(candidates(length.norm), cap, 20).ask()
        far = events.far_beyond((2, 8, 100), FAR).ask()
        return totals, curve, int(events.clipped_off(length, 5.0, UNIT).ask()[0]), far


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(one=users, other=users, third=users, norm=st.sampled_from(list(Norm)), bound=lengths)
def test_no_user_moves_an_answer_too_far(
    one: Any, other: Any, third: Any, norm: Norm, bound: Any
) -> None:
    length = Length.of(norm, bound)
    cap = ratio_cap(norm, len(GROUPS))
    without, with_one, with_other = (
        answers({"third": third, **more}, length)
        for more in ({}, {"victim": one}, {"victim": other})
    )
    for left, right, neighbours in (
        (with_one, without, Neighbours.ADD_REMOVE),
        (with_one, with_other, Neighbours.REPLACE),
    ):
        moves = [abs(left[0][group] - right[0][group]) for group in GROUPS]
        limit = length.sensitivity(len(GROUPS), neighbours)
        assert sum(moves) <= limit.l1
        assert sum(move * move for move in moves) <= limit.l2_squared
        assert max(moves) <= limit.linf
        assert abs(left[1] - right[1]).max() <= cap
        assert abs(left[2] - right[2]) <= UNIT
        far = FAR.sensitivity(neighbours, 3 * len(GROUPS))
        assert int(((left[3] - right[3]) ** 2).sum()) <= far.l2_squared
    assert (with_one[1] >= without[1]).all()
    assert (np.diff(with_one[1]) <= 0).all()
