"""Plans of samples for any spend: made in less than two seconds, and none that ends in a traceback.

Nothing is released here, so nothing is charged. Times are of the processor, not of the clock.
"""

from __future__ import annotations

import math
import os
import random
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headcount as hc
from headcount.mechanisms.sample_threshold import SampleThreshold
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp

N_PLANS = int(os.environ.get("HEADCOUNT_SAMPLING_PLANS", "60"))
MOST_SECONDS = 2.0
TABLE = pa.table({"user_id": [1, 2, 3], "page": ["a", "b", "b"]})

# Budgets for which masses of a pair of laws once did not add up to 1.
PAIRS = [(16, 1e-6), (20, 1e-9), (12, 1e-4), (10, 1e-3), (12, 1e-3), (8, 1e-2), (10, 1e-2)]


def opened(folder: Path, budget: hc.Budget, neighbours: str = "add-remove") -> Any:
    return hc.open(
        TABLE,
        user="user_id",
        budget=budget,
        neighbours=neighbours,
        ledger=folder / "ledger.db",
        account="web",
    )


def planned(data: Any, bound: int, spend: Any = "1") -> tuple[Any, float]:
    """A plan, and the seconds it took; it is never dearer than what may be spent."""
    started = time.process_time()
    plan = data.count_users(by="page", method="sample", bound=bound, spend=spend)
    seconds = time.process_time() - started
    assert plan.spend <= data.account.limit
    assert "is missed half the time" in plan.explain()
    return plan, seconds


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_s4_no_budget_makes_masses_that_do_not_add_up(
    epsilon: float, delta: float, tmp_path: Path
) -> None:
    for bound in (1, 4):
        planned(opened(tmp_path, hc.Budget(epsilon=epsilon, delta=delta)), bound)


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_s4_a_small_epsilon_takes_no_longer(neighbours: Neighbours, tmp_path: Path) -> None:
    for epsilon in (0.01, 0.02, 0.05):
        data = opened(tmp_path, hc.Budget(epsilon=epsilon, delta=1e-6), neighbours.value)
        assert planned(data, 4)[1] < MOST_SECONDS


def test_s4_a_small_rho_takes_no_longer(tmp_path: Path) -> None:
    data = opened(tmp_path, hc.Budget(epsilon=1, delta=1e-6))
    for rho in (1e-6, 1e-8, 1e-10):
        plan, seconds = planned(data, 4, hc.Budget(rho=rho, delta=1e-6))
        assert seconds < MOST_SECONDS
        assert plan.spend.rho <= Fraction(rho)


@pytest.mark.parametrize("said", [{"rho": 1e6}, {"rho": 8e6}, {"epsilon": 1e4}, {"epsilon": 8e6}])
def test_s4_a_huge_spend_is_a_plan(said: dict[str, Any], tmp_path: Path) -> None:
    data = opened(tmp_path, hc.Budget(**said, delta=1e-6))
    for bound in (1, 64):
        assert planned(data, bound)[1] < MOST_SECONDS
    # Beyond some spend only delta limits a sample, and no more than that is charged.
    assert float(planned(data, 1)[0].spend.rho) < 20
    with pytest.raises(hc.UsageError, match="rho must be below 9e6"):
        opened(tmp_path, hc.Budget(rho=1e7, delta=1e-6))


def test_random_plans_in_the_stated_box(tmp_path: Path) -> None:
    chooser = random.Random(15)
    slowest = (0.0, "")
    for index in range(N_PLANS):
        epsilon = math.exp(chooser.uniform(math.log(0.01), math.log(20)))
        if index % 3 == 0:
            epsilon = chooser.uniform(0.01, 20)
        delta = math.exp(chooser.uniform(math.log(1e-12), math.log(0.1)))
        bound, neighbours = chooser.randint(1, 64), chooser.choice(list(Neighbours))
        case = f"epsilon {epsilon:.5g}, delta {delta:.3g}, bound {bound}, {neighbours}"
        data = opened(tmp_path, hc.Budget(epsilon=epsilon, delta=delta), neighbours.value)
        try:
            _, seconds = planned(data, bound)
        except Exception as error:
            raise AssertionError(case) from error
        slowest = max(slowest, (seconds, case))
        assert seconds < MOST_SECONDS, case
    print(f"{N_PLANS} plans, the slowest {slowest[0]:.2f} s: {slowest[1]}")


@pytest.mark.parametrize("epsilon", [0.01, 20])
@pytest.mark.parametrize("delta", [1e-12, 0.1])
def test_corners_of_the_box(epsilon: float, delta: float, tmp_path: Path) -> None:
    for neighbours in Neighbours:
        data = opened(tmp_path, hc.Budget(epsilon=epsilon, delta=delta), neighbours.value)
        for bound in (1, 64):
            assert planned(data, bound)[1] < MOST_SECONDS


def test_whatever_else_is_asked_is_a_plan_or_says_what_to_do() -> None:
    """Costs from the ledger's least unit to its most, and up to 1,000 answers."""
    chooser = random.Random(16)
    n_planned, refused = 0, []
    for _ in range(30):
        rho = Fraction(round(10 ** chooser.uniform(0, 19)), 10**12)
        delta = Fraction(max(1, round(10 ** chooser.uniform(0, 17.69))), 10**18)
        answers, neighbours = chooser.choice([1, 64, 365, 1000]), chooser.choice(list(Neighbours))
        try:
            made = SampleThreshold.calibrate(
                Zcdp(rho, delta), answers=answers, neighbours=neighbours
            )
        except hc.UsageError as error:
            refused.append(str(error))
            continue
        n_planned += 1
        assert made.spend <= Zcdp(rho, delta)
        assert made.size_missed_with(0.001) >= made.threshold
    assert n_planned >= 20
    assert all("Raise epsilon, rho or delta, or lower the bound" in text for text in refused)
