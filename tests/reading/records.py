"""Random records for the law of reading, and what is read with and without one of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from headcount.audit.reading import Read, compare_readings
from headcount.tables import open_table
from headcount.trials.reading import rows_read

EXAMPLES = int(os.environ.get("HEADCOUNT_RECORDS", "60"))
USER = "person"

Record = tuple[bytes, bytes, int, float]

texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4).map(
        str.encode
    ),
    st.sampled_from([b"", b"null", b"01", b"1", b"2.5", b"NaN", b"it's", b'"', b"%", b"\\", b"*"]),
)
wild_texts = st.one_of(texts, st.binary(max_size=4))
whole = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([0, -1, 2**62, -(2**62), 2**63 - 1, -(2**63)]),
)
numbers = st.floats(allow_nan=True, allow_infinity=True)
records = st.tuples(texts, texts, whole, numbers)
wild_records = st.tuples(wild_texts, wild_texts, whole, numbers)


def arrow_records(rows: Sequence[Record], unit: str = "ms") -> pa.Table:
    """Records as Arrow keeps them: any bytes as text, any integer as a time."""
    persons, places = (
        pa.array([row[place] for row in rows], pa.binary()).view(pa.string()) for place in (0, 1)
    )
    times = pa.array([row[2] for row in rows], pa.int64())
    return pa.table(
        {
            USER: persons,
            "place": places,
            "local": times.view(pa.timestamp(unit)),
            "zoned": times.view(pa.timestamp(unit, "UTC")),
            "number": pa.array([row[3] for row in rows], pa.float64()),
        }
    )


def read(source: Any) -> Read:
    table = open_table(source, user=USER)
    return Read({name: str(kind) for name, kind in table.columns.items()}, rows_read(table))


def law_holds(make: Callable[[Sequence[Any]], Any], some_records: Any, examples: int = 0) -> None:
    """A record, put anywhere, changes what is read by its own rows and no other's."""

    @settings(
        max_examples=examples or EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )
    @given(st.lists(some_records, min_size=1, max_size=6), some_records, st.data())
    def check(others: list[Any], record: Any, data: Any) -> None:
        place = data.draw(st.integers(0, len(others)))
        without = read(make(others))
        alone = read(make([record]))
        with_record = read(make([*others[:place], record, *others[place:]]))
        findings = compare_readings(with_record, without, alone, "random")
        assert not [str(finding) for finding in findings if finding.violated]

    check()
