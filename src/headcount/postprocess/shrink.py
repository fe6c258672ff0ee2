"""Noisy values near zero, each moved to what values like it are likely to be.

The distribution of the true values is learned from the noisy ones (a nonparametric maximum
likelihood estimate on a grid), and each value becomes its expectation given what was seen. Where
thousands of small shares lie below the noise that is worth more than cutting them at zero; where
values stand clear of the noise, or are few, nothing is moved.

**Reference** Robbins 1956; Kiefer and Wolfowitz 1956; Koenker and Mizera 2014.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NEAR = 6.0
"""Values this many sds or more above zero are left as they are."""
FEWEST = 50
POINTS_PER_SD = 4
N_STEPS = 150
AT_ONCE = 20_000


def shrunk(values: Floats, sds: Floats) -> Floats:
    """The values, those near zero moved to their expectations; normal noise of these sds."""
    near = np.flatnonzero(values < NEAR * sds)
    if len(near) < FEWEST:
        return values
    seen, noise = values[near], sds[near]
    step = float(noise.min()) / POINTS_PER_SD
    grid = np.arange(0, (NEAR + 2) * float(noise.max()) + step, step)
    every = -(-len(near) // AT_ONCE)
    sample = np.argsort(seen / noise, kind="stable")[::every]
    prior = _prior(_likelihood(seen[sample], noise[sample], grid))
    result = values.copy()
    for start in range(0, len(near), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        chances = _likelihood(seen[part], noise[part], grid) * prior
        result[near[part]] = chances @ grid / chances.sum(axis=1)
    return result


def _likelihood(values: Floats, sds: Floats, grid: Floats) -> Floats:
    exponent = -((values[:, None] - grid) ** 2) / (2 * sds[:, None] ** 2)
    likelihood: Floats = np.exp(exponent - exponent.max(axis=1, keepdims=True))
    return likelihood


def _prior(likelihood: Floats) -> Floats:
    """Expectation and maximisation from a flat start; a short run smooths, and that is wanted."""
    prior = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(N_STEPS):
        mixture = likelihood @ prior
        prior *= likelihood.T @ (1 / mixture) / len(likelihood)
    return prior
