"""A release is its rows: nothing that an Arrow table can carry beside them is in its bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.results.test_shown import facts

from headcount.results.release import Release

SECRET = "nobody was told of this"


def _under_a_missing_value() -> pa.Array:
    letters = f"a{SECRET}".encode()
    offsets = np.array([0, 1, len(letters)], np.int32).tobytes()
    buffers = [pa.py_buffer(one) for one in (bytes([0b01]), offsets, letters)]
    return pa.Array.from_buffers(pa.string(), 2, buffers)


def _of_a_dictionary() -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(["a", SECRET]))


CARRIED = {
    "a dictionary of all labels": pa.table({"page": _of_a_dictionary()}),
    "under a missing value": pa.table({"page": _under_a_missing_value()}),
    "beside the table": pa.table({"page": ["a", "b"]}).replace_schema_metadata({"n": SECRET}),
    "beside a column": pa.table(
        [pa.array(["a", "b"])],
        schema=pa.schema([pa.field("page", pa.string(), metadata={"n": SECRET})]),
    ),
    "a view of letters": pa.table({"page": pa.array(["a", "b"], pa.string_view())}),
    "before and after a part": pa.table({"page": [SECRET, "a", "b", SECRET]}).slice(1, 2),
}


@pytest.mark.parametrize("how", CARRIED)
def test_what_a_table_carries_beside_its_rows_stays_behind(how: str) -> None:
    table = CARRIED[how]
    bare = pa.table({"page": pa.array(table.column("page").to_pylist(), pa.string())})
    for of in (Release(table, facts()), Release(bare, facts(), withheld=table)):
        assert SECRET.encode() not in of.to_bytes()
    assert (
        Release(table, facts(), withheld=table).to_bytes()
        == Release(bare, facts(), bare).to_bytes()
    )
    assert Release(table, facts()).to_arrow().column("page").to_pylist() == bare["page"].to_pylist()


def test_how_many_rows_came_in_which_part_stays_behind() -> None:
    whole = pa.table({"page": ["a", "b", "c"]})
    parts = pa.concat_tables([whole.slice(0, 1), whole.slice(1, 2)])
    assert Release(parts, facts(), parts).to_bytes() == Release(whole, facts(), whole).to_bytes()


@pytest.mark.parametrize(
    "column",
    [
        pa.array([{"a": SECRET}, None]),
        pa.array([[SECRET], []]),
        pa.StructArray.from_arrays([_of_a_dictionary()], ["a"]),
        pa.ListArray.from_arrays(pa.array([0, 1, 1], pa.int32()), _of_a_dictionary()),
    ],
    ids=["a record", "a list", "a record of labels", "a list of labels"],
)
def test_a_column_of_columns_is_no_column_of_a_release(column: pa.Array) -> None:
    """What is inside could carry more than its rows do; no verb shows one."""
    with pytest.raises(TypeError, match="no column of"):
        Release(pa.table({"page": column}), facts())
