"""Our composition, conversion and calibration beside dp-accounting's, derived independently."""

from __future__ import annotations

import json
import os
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

from headcount.accounting.compose import cost, total
from headcount.accounting.convert import epsilon_at
from headcount.accounting.gaussian import gaussian_noise_multiplier
from headcount.privacy.event import GaussianNoise

ORACLE = os.environ.get("HEADCOUNT_ORACLE_PYTHON")
CASES = [
    {"noise_multiplier": multiplier, "times": times, "delta": delta, "epsilon": epsilon}
    for multiplier, times, epsilon in (
        (4.0, 1, 1.0),
        (10.0, 7, 0.25),
        (0.5, 1, 3.0),
        (2.0, 30, 8.0),
    )
    for delta in (1e-3, 1e-6, 1e-9)
]

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(
        not ORACLE,
        reason="HEADCOUNT_ORACLE_PYTHON is unset: it names a Python with requirements/oracles.lock",
    ),
]


@pytest.fixture(scope="module")
def figures() -> list[dict[str, float]]:
    ran = subprocess.run(
        [str(ORACLE), str(Path(__file__).with_name("dp_accounting_figures.py"))],
        input="\n".join(json.dumps(case) for case in CASES),
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    return [json.loads(line) for line in ran.stdout.splitlines()]


@pytest.mark.parametrize("index", range(len(CASES)))
def test_epsilon_is_never_below_the_truth_and_not_above_the_rdp_accountant(
    index: int, figures: list[dict[str, float]]
) -> None:
    case = CASES[index]
    event = GaussianNoise(Fraction(1), Fraction(str(case["noise_multiplier"])) ** 2)
    spend = total([cost(event)] * int(case["times"]))
    ours = float(epsilon_at(spend.rho, Fraction(str(case["delta"]))))
    assert ours >= figures[index]["pld_epsilon"] - 1e-6
    # Both minimise the same conversion; theirs over a grid of orders, ours over all of them.
    assert figures[index]["rdp_epsilon"] * 0.98 <= ours <= figures[index]["rdp_epsilon"] * 1.001


@pytest.mark.parametrize("index", range(len(CASES)))
def test_the_analytic_gaussian_is_the_same(index: int, figures: list[dict[str, float]]) -> None:
    case = CASES[index]
    ours = gaussian_noise_multiplier(Fraction(str(case["epsilon"])), Fraction(str(case["delta"])))
    assert float(ours) == pytest.approx(figures[index]["sigma"], rel=1e-5)
