"""Adding noise to counts without ever wrapping around.

**Contract.** ``clamp(clamp(true) + noise)`` to ``[-LIMIT, LIMIT]``, as if in unbounded integers.
Clamping the true count moves two counts no farther apart (it is 1-Lipschitz), so no sensitivity
grows; clamping the noisy sum is post-processing [N8]. The noise itself is never clamped.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headcount.noise.table import Integers

LIMIT = 1 << 62


def add_saturating(true_counts: npt.NDArray[np.integer], noise: Integers) -> Integers:
    """Add noise to integer counts; a sum that would not fit stays at the limit [N8]."""
    true_array, noise_array = np.asarray(true_counts), np.asarray(noise)
    if true_array.dtype.kind not in "iu" or noise_array.dtype.kind != "i":
        raise TypeError("counts and noise must be integer arrays")
    if true_array.shape != noise_array.shape:
        # Broadcasting would give several counts the same noise.
        raise ValueError("every count needs noise of its own: the shapes differ")
    true_clamped = np.atleast_1d(_clamp(true_array))
    with np.errstate(over="ignore"):
        noisy = true_clamped + noise_array
    # A wrapped sum has the sign that neither of its parts has.
    wrapped = ((true_clamped < 0) == (noise_array < 0)) & ((noisy < 0) != (noise_array < 0))
    noisy = np.where(wrapped, np.where(noise_array < 0, -LIMIT, LIMIT), _clamp(noisy))
    return noisy.reshape(true_array.shape)


def _clamp(values: npt.NDArray[np.integer]) -> Integers:
    if values.dtype.kind == "u":
        return np.minimum(values.astype(np.uint64), np.uint64(LIMIT)).astype(np.int64)
    return values.astype(np.int64).clip(-LIMIT, LIMIT)
