"""An audit in one thread, and releases of other threads of the same process meanwhile."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import headcount as hc
from headcount.ledger.ledger import Ledger
from headcount.releases.plan import Plan
from headcount.results.release import Release
from headcount.trials.door import released
from headcount.trials.register import trial_of
from headcount.trials.release_mutants import unbounded
from headcount.trials.seam import Recorder
from headcount.trials.session import hold
from headcount.trials.trial import Effort

N_USERS, N_GROUPS = 100, 100
BOUND = 1
IN_EACH = 10
"""A hundred users in a hundred groups each: with a bound of one they weigh a tenth in each."""
GROUPS = [f"g{j}" for j in range(N_GROUPS)]
AUDITED = {
    "count_users": ("no bound on groups", "an uncharged choice"),
    "count_events": ("users clipped at sixteen times the bound",),
    "pan_private": ("state without first noise",),
}


def plan(folder: Path, number: int) -> Plan:
    rows = [(user, group) for user in range(N_USERS) for group in GROUPS]
    data = hc.open(
        pa.table({"user": [user for user, _ in rows], "place": [group for _, group in rows]}),
        user="user",
        account=f"a{number}",
        budget=hc.Budget(epsilon=20, delta=1e-3),
        ledger=Ledger(folder / f"{number}.db", heads=folder / f"{number}-heads"),
    )
    return data.count_users("place", groups=GROUPS, bound=BOUND, spend="1")


def is_right(counts: list[int]) -> bool:
    """Bounded, and noised a little."""
    return len(counts) == N_GROUPS and all(abs(count - IN_EACH) <= 4 for count in counts)


def counts_of(release: Release) -> list[int]:
    counts: list[int] = release.to_arrow().column("count").to_pylist()
    return counts


def test_other_threads_are_left_alone(tmp_path: Path) -> None:
    trials = [
        replace(trial_of(name), cases=tuple(c for c in trial_of(name).cases if c.name in cases))
        for name, cases in AUDITED.items()
    ]
    assert sum(len(trial.cases) for trial in trials) == sum(map(len, AUDITED.values()))
    ended = threading.Event()
    seen: list[list[int]] = []

    def releases() -> None:
        while not ended.is_set() or len(seen) < 3:
            seen.append(counts_of(plan(tmp_path, len(seen)).release()))

    thread = threading.Thread(target=releases)
    thread.start()
    try:
        outcomes = list(hold(trials, Effort.QUICK))
    finally:
        ended.set()
        thread.join()
    assert [outcome.flagged for outcome in outcomes] == [True] * len(outcomes)
    assert [(o.mechanism, o.case.name) for o in outcomes] == [
        (trial.mechanism, case.name) for trial in trials for case in trial.cases
    ]
    assert all(map(is_right, seen))
    assert len({tuple(counts) for counts in seen}) == len(seen), (
        "noise of the system is never twice"
    )


def test_the_check_can_fail(tmp_path: Path) -> None:
    with unbounded():
        assert not is_right(counts_of(plan(tmp_path, 0).release()))
    assert not is_right(counts_of(released(plan(tmp_path, 1), Recorder())))
    assert is_right(counts_of(plan(tmp_path, 2).release()))


def test_an_error_in_a_case_is_raised_where_it_was_asked_for() -> None:
    trial = trial_of("radius")
    unknown = replace(trial, cases=(replace(trial.cases[0], name="a case that there is not"),))
    with pytest.raises(ValueError, match="not enough values"):
        list(hold([unknown], Effort.QUICK))
