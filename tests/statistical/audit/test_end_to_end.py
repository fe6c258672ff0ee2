"""The eyes of the end-to-end audit: what it records and overhears is what is there."""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path

import pyarrow as pa
import pytest

from headcount.audit.neighbours import MARK, VICTIM, Rows, heavy
from headcount.trials import count_users
from headcount.trials.caller import Seen, overheard, release, told
from headcount.trials.leaving import is_more_than_rows, n_out_of_order
from headcount.trials.statements import WITHOUT_ROWS
from headcount.trials.tables import arrow_table, by_copy, copied
from headcount.trials.trial import Effort, examine

ONE = 1 << 12
"""One user in the units that counts are added up in."""


@pytest.mark.parametrize("groups", [None, [f"g{j}" for j in range(6)]], ids=["found", "known"])
def test_recording_holds_the_true_totals(groups: list[str] | None) -> None:
    rows: Rows = (*heavy(3, 2), ("u9", "g0", 5), ("u9", "g5", 1))
    recording, _ = count_users.recording(rows, groups)
    (call,) = recording.calls
    true = {"g0": 4 * ONE, "g1": 3 * ONE, "g5": ONE}
    zeros = {} if groups is None else dict.fromkeys(groups, 0)
    assert call.true_values == {**zeros, **true}


def test_recording_of_an_empty_table() -> None:
    recording, _ = count_users.recording((), None)
    assert [call.true_values for call in recording.calls] == [{}]


def test_at_least_five_pairs_and_the_bound_is_reached() -> None:
    shipped = next(case for case in count_users.TRIAL.cases if not case.is_mutant)
    outcome = examine("count_users", shipped, Effort.QUICK)
    reached = [f.found / f.claimed for f in outcome.findings if f.measure == "l2 squared"]
    assert max(reached) > 0.99, "the pairs do not reach the sensitivity; a bug could hide below it"
    assert len({pair.name for pair in count_users.ALL_PAIRS}) >= 5
    assert len({pair.name for pair, _, _ in count_users.sampled_pairs()}) >= 5


def test_everything_is_overheard() -> None:
    seen = Seen()
    with overheard(seen):
        print("out")
        print("err", file=sys.stderr)
        logging.getLogger("anything").debug("logged")
        warnings.warn("warned", stacklevel=1)
    assert seen.texts["standard output"] == "out\n"
    assert seen.texts["standard error"] == "err\n"
    assert "logged" in seen.texts["log"]
    assert "warned" in seen.texts["warnings"]


def test_an_error_is_told_with_all_it_is_linked_to() -> None:
    outer = KeyError("outer")
    outer.__cause__ = ValueError("inner")
    outer.__cause__.__context__ = OSError("innermost")
    for word in ("outer", "inner", "innermost"):
        assert word in told(outer)


def test_channels_of_a_release_are_kept() -> None:
    seen = release(arrow_table(heavy(300, 2)), epsilon=3, delta=1e-2, bound=5)
    assert seen.release is not None
    assert len(seen.release) == 2
    assert {"plan", "repr", "facts", "schema", "file metadata", "csv header", "log"} <= set(
        seen.texts
    )
    assert {"journal", "receipt", "plan afterwards"} <= set(seen.texts)
    assert seen.early == []
    assert not seen.is_more_than_rows
    assert seen.n_out_of_order == 0
    backwards = seen.release.to_arrow().take([1, 0])
    assert n_out_of_order(backwards) == 1


def test_a_file_that_holds_more_than_its_rows_is_seen(tmp_path: Path) -> None:
    seen = release(arrow_table(heavy(300, 2)), epsilon=3, delta=1e-2, bound=5)
    assert seen.release is not None
    assert not is_more_than_rows(seen.release, tmp_path)
    seen.release._table = seen.release.to_arrow().set_column(
        0, "place", pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", "b", "c"]))
    )
    assert is_more_than_rows(seen.release, tmp_path)


@pytest.mark.parametrize(
    ("statement", "reads"),
    [
        ("set memory_limit = '2GB'", False),
        ("describe select * from headcount_rows", False),
        ("create temporary table t as select * from (select 1) limit 0", False),
        ("create temporary table t as select * from (select 1)", True),
        ("create temporary table t as select * from (select 1) limit 1", True),
        ("select count(*) from headcount_rows", True),
        ("select current_setting('x'), count(*) from headcount_rows", True),
        ("set threads = 1; select count(*) from headcount_rows", True),
        ("from headcount_rows", True),
        ("copy headcount_rows to 'x'", True),
        ("summarize headcount_rows", True),
    ],
)
def test_what_reads_rows_is_told_apart(statement: str, reads: bool) -> None:
    assert (WITHOUT_ROWS.fullmatch(statement) is None) == reads


def test_copies_are_apart() -> None:
    rows: Rows = (("u", "g", 1), (VICTIM, f"{MARK}-0", 1))
    table = copied(rows, 3)
    assert table.num_rows == 6
    assert len(set(table.column(0).to_pylist())) == 6
    found = by_copy(["0|g", "2|g", f"2|{MARK}-0"], 3)
    assert found == [{"g": 0}, {}, {"g": 1, f"{MARK}-0": 2}]
