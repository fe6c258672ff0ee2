"""Several samples beside dp-accounting, which composes groups of one size by its own ways.

What it finds for any one size, rounded down, must not be above our delta for all sizes; and for one
sample at the worst size the two are one number.
"""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from headcount.accounting.sampling.composed import composed_delta
from headcount.accounting.sampling.profile import q_of
from headcount.privacy.neighbours import Neighbours

ORACLE = os.environ.get("HEADCOUNT_ORACLE_PYTHON")

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(
        not ORACLE,
        reason="HEADCOUNT_ORACLE_PYTHON is unset: it names a Python with requirements/oracles.lock",
    ),
]


def made() -> list[dict[str, Any]]:
    """Random samples, each with sizes of group about the worst one."""
    chooser = random.Random(21)
    cases = []
    for i in range(12):
        epsilon, threshold = chooser.uniform(0.3, 4), chooser.randint(2, 10)
        n = 1 if i % 4 == 0 else chooser.randint(2, 12)
        rate = chooser.uniform(0.2, 0.8) * -math.expm1(-epsilon) / math.sqrt(n)
        for share in (1.0,) if n == 1 else (1.0, 0.5, 0.1):
            size = math.floor((threshold - 1) / q_of(rate, share * epsilon))
            case = {"rate": rate, "threshold": threshold, "n": n, "size": size, "epsilon": epsilon}
            cases.append(case)
    return cases


def test_no_size_of_group_is_above_our_delta() -> None:
    cases = made()
    ran = subprocess.run(
        [str(ORACLE), str(Path(__file__).with_name("sampling_figures.py"))],
        input="\n".join(json.dumps(case) for case in cases),
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    figures = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(figures) == len(cases)
    for case, figure in zip(cases, figures, strict=True):
        ours = composed_delta(
            case["rate"], case["threshold"], case["epsilon"], Neighbours.ADD_REMOVE, case["n"]
        )
        # Its Fourier transforms are good to about 1e-14.
        assert figure["least"] <= ours + 1e-13, case
        if case["n"] == 1:
            assert ours == pytest.approx(figure["most"], rel=1e-2, abs=1e-13)
