"""What is expected of a plan is the same for all tables of the same columns, to the byte.

One user more or less, or altogether other people: nothing of it may be seen before it is paid for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headcount as hc
from headcount.trials import ways
from headcount.trials.tables import GROUP, USER

N_EXAMPLES = int(os.environ.get("HEADCOUNT_EXAMPLES", "3"))
BUDGETS = [0.5, hc.Budget(epsilon=20)]
# Each plan of a sample searches for its rate.
SLOW = "sample"
WAYS = {
    **ways.VERBS,
    "count_users, auto, top": {"by": GROUP, "top": 200},
    "count_events, listed": {"by": GROUP, "groups": ways.GROUPS},
    "count_events, found, gaussian": {"by": GROUP, "method": "gaussian"},
    "count_events, found, laplace": {"by": GROUP, "method": "laplace"},
    "quantiles": {"of": None, "bounds": (0, 32)},
}
rows = st.lists(
    st.tuples(
        st.sampled_from(["u", "v", "w", "x"]), st.sampled_from(ways.GROUPS), st.integers(1, 3)
    ),
    max_size=12,
)


TABLES = (ways.ONE, ways.ONE + ways.VICTIM, ways.OTHER, ())


def opened(table: pa.Table, folder: Path) -> Any:
    ledger = folder / "ledger.db"
    budget = hc.Budget(epsilon=4)
    return hc.open(table, user=USER, account="web", budget=budget, ledger=ledger)


@pytest.fixture(scope="module")
def datasets() -> Iterator[list[Any]]:
    """A table, one user more, other people, and nobody."""
    with TemporaryDirectory() as folder:
        yield [opened(ways.table_of(table, ""), Path(folder)) for table in TABLES]
        # Nothing was charged: there is not even a ledger.
        assert list(Path(folder).iterdir()) == []


def told(data: Any, way: str, budgets: Sequence[Any] | None) -> bytes:
    """All that is said of what to expect."""
    plan = getattr(data, way.split(",")[0])(**{"spend": "1/4", **WAYS[way]})
    expected = plan.expected(budgets)
    assert len(expected) >= len(budgets or [0])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, expected.to_arrow().schema) as stream:
        stream.write_table(expected.to_arrow())
    return str(expected).encode() + bytes(sink.getvalue())


@pytest.mark.parametrize("way", WAYS)
def test_neighbours_and_other_people_have_the_same_to_expect(way: str, datasets: list[Any]) -> None:
    budgets = None if SLOW in way else BUDGETS
    (only,) = {told(data, way, budgets) for data in datasets}
    assert only


@settings(max_examples=N_EXAMPLES, deadline=None)
@given(given_rows=rows)
def test_random_tables_have_the_same_to_expect(given_rows: list[Any]) -> None:
    with TemporaryDirectory() as folder:
        some, none = (opened(ways.table_of(tuple(t), ""), Path(folder)) for t in (given_rows, ()))
        for way in WAYS:
            if SLOW not in way:
                assert told(some, way, None) == told(none, way, None)
        assert list(Path(folder).iterdir()) == []
