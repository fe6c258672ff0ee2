"""The eyes of the end-to-end audit: what it records and overhears is what is there."""

from __future__ import annotations

import logging
import sys
import warnings

import pytest

from headcount.audit.neighbours import MARK, VICTIM, Rows, heavy
from headcount.trials import count_users
from headcount.trials.caller import Seen, n_out_of_order, overheard, release, told
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
    assert seen.texts["file beyond its rows"] == "False"
    assert n_out_of_order(seen.release.to_arrow()) == 0
    backwards = seen.release.to_arrow().take([1, 0])
    assert n_out_of_order(backwards) == 1


def test_copies_are_apart() -> None:
    rows: Rows = (("u", "g", 1), (VICTIM, f"{MARK}-0", 1))
    table = copied(rows, 3)
    assert table.num_rows == 6
    assert len(set(table.column(0).to_pylist())) == 6
    found = by_copy(["0|g", "2|g", f"2|{MARK}-0"], 3)
    assert found == [{"g": 0}, {}, {"g": 1, f"{MARK}-0": 2}]
