"""What reaches the noise of ``frequencies`` on neighbouring tables, from table to release."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from headcount.audit.greybox import Call, Declared, Recording, compare
from headcount.audit.neighbours import Rows, pairs
from headcount.audit.verdict import any_violated
from headcount.contributions import BoundedContributions, bound
from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.privacy.bounds import Bounds
from headcount.privacy.event import GaussianNoise, LaplaceNoise
from headcount.releases.frequencies import plan as frequencies
from headcount.releases.frequencies.draw import N_AGAIN
from headcount.releases.plan import Plan
from headcount.trials.door import one_key, released
from headcount.trials.seam import Recorder, calls_of, settings_of
from headcount.trials.tables import GROUP, USER, arrow_table

BOUND = 3
DOMAINS = ({"at_most": 60}, {"buckets": 61})
NAMES = (
    "empty, and one user with many new groups",
    "heavy groups, and one user in all of them",
    "users of unequal size, and one in all groups",
    "a million copies of one row",
)
TRIED = [pair for pair in pairs(BOUND) if pair.name in NAMES]


def plans(rows: Rows, domain: dict[str, int], folder: Path, numbers: Iterator[int]) -> Plan:
    name = f"t{next(numbers)}"
    data = hc.open(
        arrow_table(rows),
        user=USER,
        account=name,
        budget=hc.Budget(epsilon=1, delta=1e-6),
        ledger=folder / "l.db",
    )
    return data.frequencies(GROUP, bound=BOUND, **{"spend": "1", **domain})  # type: ignore[arg-type]


def recording(plan: Plan) -> Recording:
    recorder = Recorder()
    released(plan, recorder, one_key)
    calls = tuple(
        Call(call.settings, dict(enumerate(sorted(call.true_values.values(), reverse=True))))
        for call in calls_of(recorder, {})
    )
    return Recording(calls, {"entries": str(len(calls[0].true_values))})


def unmoved(law: object) -> Declared:
    """A draw whose input no user moves at all."""
    return Declared(settings_of(law), l0=0, l1=0, l2_squared=0, linf=0)


def flagged(domain: dict[str, int], folder: Path) -> bool:
    numbers = itertools.count()
    findings: list[Any] = []
    for pair in TRIED:
        asked = [plans(rows, domain, folder, numbers) for rows in (pair.with_user, pair.base)]
        event = asked[0].work.event
        assert isinstance(event, GaussianNoise | LaplaceNoise)
        law = (
            DiscreteGaussian(event.sigma_squared)
            if isinstance(event, GaussianNoise)
            else DiscreteLaplace(event.scale)
        )
        most = event.l2_squared if isinstance(event, GaussianNoise) else event.l1
        declared = Declared(
            settings_of(law), l0=int(most), l1=float(most), l2_squared=float(most), linf=1
        )
        if "buckets" in domain:
            # Groups of one user may meet in a bucket: l1 is what is claimed there.
            declared = Declared(settings_of(law), l1=float(most))
        with_user, without_user = map(recording, asked)
        # The fit is drawn again for its errors: later calls see published numbers alone.
        of_the_fit = [unmoved(law)] * (N_AGAIN if "at_most" in domain else 0)
        findings += compare(with_user, without_user, [declared, *of_the_fit], pair.name)
    return any_violated(findings)


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_no_user_moves_the_input_further_than_was_charged(
    domain: dict[str, int], tmp_path: Path
) -> None:
    assert not flagged(domain, tmp_path)


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_a_bound_that_is_not_applied_is_flagged(
    domain: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = Bounds(1000, 1000)

    def unbounded(table: Any, by: Any, bounds: Bounds, **rest: Any) -> BoundedContributions:
        claimed = bound(table, by, bounds, **rest).sensitivity
        return replace(bound(table, by, wide, **rest), sensitivity=claimed)

    monkeypatch.setattr(frequencies, "bound_contributions", unbounded)
    assert flagged(domain, tmp_path)


def test_ranks_from_the_data_are_flagged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from headcount.mechanisms.sorted_counts import SortedCounts

    original = SortedCounts.draw
    monkeypatch.setattr(
        SortedCounts,
        "draw",
        lambda self, query, _n, chance: original(
            self, query, max(1, int(query.ask()[1].sum())), chance
        ),
    )
    assert flagged({"at_most": 60}, tmp_path)
