"""Our draws and OpenDP's come from one law: a two-sample chi-square at 2e5 draws each."""

from __future__ import annotations

import json
import os
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.noise.entropy import OsEntropy

ORACLE = os.environ.get("HEADCOUNT_ORACLE_PYTHON")
N = 200_000
PASS = 1e-6

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(
        not ORACLE,
        reason="HEADCOUNT_ORACLE_PYTHON is unset: it names a Python with requirements/oracles.lock",
    ),
]


def opendp_draws(kind: str, scale: float) -> npt.NDArray[np.int64]:
    order = json.dumps({"kind": kind, "scale": scale, "n": N})
    done = subprocess.run(
        [str(ORACLE), str(Path(__file__).with_name("opendp_draws.py"))],
        input=order,
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert answer["version"] == "0.16.0"
    return np.array(answer["draws"], dtype=np.int64)


def our_draws(kind: str, scale: Fraction) -> npt.NDArray[np.int64]:
    law = DiscreteLaplace(scale) if kind == "laplace" else DiscreteGaussian(scale**2)
    return law.draw(N, OsEntropy())


def same_law_p_value(ours: npt.NDArray[np.int64], theirs: npt.NDArray[np.int64]) -> float:
    both = np.concatenate([ours, theirs])
    # Cells by quantiles of the pooled draws: known without knowing whose is whose.
    edges = np.unique(np.quantile(both, np.linspace(0, 1, 61)[1:-1], method="lower"))
    cells = [
        np.bincount(np.searchsorted(edges, x), minlength=len(edges) + 1) for x in (ours, theirs)
    ]
    table = np.array(cells)
    table = table[:, table.sum(axis=0) > 10]
    return float(stats.chi2_contingency(table).pvalue)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", ["3/4", "20", "5000"])
def test_same_law_as_opendp(kind: str, scale: str) -> None:
    named = Fraction(scale)
    theirs = opendp_draws(kind, float(named))
    assert same_law_p_value(our_draws(kind, named), theirs) > PASS
    for factor in (Fraction(9, 10), Fraction(11, 10)):
        assert same_law_p_value(our_draws(kind, named * factor), theirs) < PASS
