"""What reaches the noise of ``frequencies`` on neighbouring tables, from table to release."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from headcount.audit.greybox import Call, Declared, Recording, compare
from headcount.audit.neighbours import Rows, pairs
from headcount.audit.verdict import any_violated
from headcount.contributions import bound
from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.privacy.bounds import Bounds
from headcount.privacy.event import GaussianNoise, LaplaceNoise
from headcount.releases import frequencies
from headcount.releases.plan import Plan
from headcount.trials.seam import recorded, settings_of
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


@pytest.fixture(autouse=True)
def one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The choice among a user's groups is under a secret key: neighbours are compared under one."""
    monkeypatch.setattr("headcount.releases.run.secrets.token_bytes", lambda n: b"k" * n)


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
    with recorded() as recorder:
        plan.release()
    # The fit is drawn again for its errors: later calls see published numbers alone.
    settings, values = recorder.noise[0]
    ranked = dict(enumerate(sorted(values, reverse=True)))
    return Recording((Call(settings, ranked),), {"entries": str(len(values))})


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
        findings += compare(with_user, without_user, [declared], pair.name)
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
    original = bound
    monkeypatch.setattr(
        frequencies,
        "bound_contributions",
        lambda table, by, _bounds, **rest: original(table, by, wide, **rest),
    )
    assert flagged(domain, tmp_path)


def test_ranks_from_the_data_are_flagged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from headcount.mechanisms.sorted_counts import SortedCounts

    original = SortedCounts.draw
    monkeypatch.setattr(
        SortedCounts,
        "draw",
        lambda self, counts, groups, _n: original(self, counts, groups, max(1, int(groups.sum()))),
    )
    assert flagged({"at_most": 60}, tmp_path)
