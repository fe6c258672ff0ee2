"""How many true counts are at least ``r``, estimated without bias from noisy ones.

The noise is a sum of ``n_noises`` independent discrete Laplace draws of mass proportional to
``ratio**abs(z)``. Its generating function has a polynomial as its inverse, so the estimate looks
at the noisy counts within ``n_noises`` of ``r`` and counts all above.

**Reference** Anonymized histograms in intermediate privacy models (2022), equation 1, for one
noise; powers of the same polynomial for more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.signal import fftconvolve

if TYPE_CHECKING:
    from numpy.typing import NDArray


MAX_DIRECT = 4096


def inverse_kernel(ratio: float, n_noises: int) -> NDArray[np.float64]:
    """Weights of noisy counts ``r - n_noises .. r + n_noises`` in an estimate of those at ``r``."""
    one = np.array([-ratio, 1 + ratio**2, -ratio]) / (1 - ratio) ** 2
    kernel = np.ones(1)
    for _ in range(n_noises):
        kernel = np.convolve(kernel, one)
    return kernel


def noise_masses(ratio: float, n_noises: int, reach: int) -> NDArray[np.float64]:
    """The masses of the noise at ``-reach .. reach``."""
    one = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-reach, reach + 1))
    masses = one
    for _ in range(n_noises - 1):
        if reach > MAX_DIRECT:
            masses = np.maximum(fftconvolve(masses, one, "same"), 0.0)
        else:
            masses = np.convolve(masses, one, "same")
    return masses


def reach_of(ratio: float, n_noises: int, beyond: float) -> int:
    """How far the noise reaches but for a chance of about ``beyond``."""
    return int(np.ceil((np.log(n_noises / beyond) + n_noises - 1) / -np.log(ratio))) + n_noises


def at_least(
    noisy_counts: NDArray[np.int64],
    noisy_groups: NDArray[np.int64],
    ratio: float,
    n_noises: int,
    largest: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The estimate for ``r = 1 .. largest`` as a step function: where it changes, and to what.

    ``noisy_counts`` are distinct and rising, ``noisy_groups`` says how many there are of each.
    """
    reach = n_noises
    around = [np.clip(noisy_counts + d, 1, largest + 1) for d in range(1 - reach, reach + 2)]
    starts = np.unique(np.concatenate([np.array([1, largest + 1]), *around]))[:-1]
    above = np.concatenate([np.cumsum(noisy_groups[::-1])[::-1], np.zeros(1, np.int64)])
    values = above[np.searchsorted(noisy_counts, starts + reach)].astype(np.float64)
    steps = np.cumsum(inverse_kernel(ratio, n_noises))[: 2 * reach]
    last = len(noisy_counts) - 1
    for step, offset in zip(steps, range(-reach, reach), strict=True):
        place = np.minimum(np.searchsorted(noisy_counts, starts + offset), last)
        here = noisy_counts[place] == starts + offset
        values[here] += step * noisy_groups[place[here]]
    changed = np.concatenate([np.ones(1, bool), np.diff(values) != 0])
    return starts[changed], values[changed]
