"""What the mutants share: saying what was found, and laws of textbook noise cut into cells.

Cutting an output into cells is post-processing, so a violation found on cells is one of the
mechanism, and a fine cut loses next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from headcount.audit.law import Law
from headcount.audit.verdict import Finding

Found = Callable[..., Finding]
Cells = Callable[..., Law]


@pytest.fixture
def found(record_property: Callable[[str, object], None]) -> Found:
    """Assert that a claim is refuted, and by how much where our errata give a number."""

    def check(finding: Finding, reference: float | None = None, within: float = 0.02) -> Finding:
        record_property("finding", str(finding))
        record_property("reference", reference)
        print(f"{finding}   errata: {'-' if reference is None else f'{reference:g}'}")
        assert finding.violated, finding
        if reference is not None:
            assert finding.found == pytest.approx(reference, rel=within)
        return finding

    return check


def _law(cdf: Callable[[np.ndarray], np.ndarray], edges: np.ndarray) -> Law:
    masses = np.diff(np.concatenate([[0.0], cdf(edges), [1.0]]))
    return Law({cell: Fraction(float(mass)) for cell, mass in enumerate(masses)})


@pytest.fixture
def laplace_cells() -> Cells:
    """The law of a centre plus Laplace noise, cut at the given edges."""
    return lambda centre, scale, edges: _law(
        lambda x: stats.laplace.cdf(x, loc=centre, scale=scale), np.asarray(edges)
    )


@pytest.fixture
def gaussian_cells() -> Cells:
    """The law of a centre plus Gaussian noise, cut at the given edges."""

    def cells(centre: float, sigma: float, edges: np.ndarray) -> Law:
        # Far out both tails matter at their own precision, so each cell takes the smaller side.
        low = np.concatenate([[-np.inf], edges])
        high = np.concatenate([edges, [np.inf]])
        right = low > centre
        below = stats.norm.cdf(high, centre, sigma) - stats.norm.cdf(low, centre, sigma)
        above = stats.norm.sf(low, centre, sigma) - stats.norm.sf(high, centre, sigma)
        masses = np.where(right, above, below)
        return Law({cell: Fraction(float(mass)) for cell, mass in enumerate(masses)})

    return cells
