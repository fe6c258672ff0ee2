"""The public side of learning a distribution: splits, weights, and how rounds are put together.

Nothing here sees private data: inputs are public or already noisy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from headcount.postprocess.shrink import shrunk
from headcount.postprocess.simplex import onto_simplex
from headcount.privacy.lattice import SHARE_BITS, WEIGHT_BITS
from headcount.privacy.neighbours import Neighbours

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

USERS = Fraction(1, 100)
KEPT = Fraction(1, 100)
DISCOVER = Fraction(1, 5)
FIRST_ROUND = Fraction(1, 5)
LEANING = 0.15
"""What clipping a user takes from them is taken to lean one way to this extent: none of it when all
users draw alike, all of it when the long ones differ from the rest in the same way."""
RADIUS_PRIOR = 1.0
WIDER = 1.1
"""The clip over the median, where there are too few users to choose it better."""
SEEN = 12.0
LONGEST = 64
"""How far above the median the length may be, in steps of the ladder: sixteen times as long."""
COARSE, COARSE_RADIUS = Fraction(8, 100), Fraction(2, 100)
COARSE_WIDER = 1.15
WEIGHT_POWER = -1 / 3
LEAST_OF_EVEN = 0.1
"""No group is taken to be smaller than this share of an even split, when it is weighed."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Noisy shares, and the sd of the noise on each."""

    shares: Floats
    sds: Floats


def radius_share(n_users: float, rho: Fraction) -> Fraction:
    """What part of rho the choice of a length needs: users few, a larger one."""
    wanted = 220 / (max(n_users, 1.0) ** 2 * float(rho))
    return Fraction(min(max(wanted, 0.01), 0.1)).limit_denominator(10_000)


def noise_per_length(rho: Fraction) -> float:
    """The expected absolute noise on one group, for a clip of length one."""
    return 1 / math.sqrt(math.pi * float(rho))


def can_see(n_users: float, epsilon: Fraction) -> bool:
    """Whether a choice of this epsilon can tell an eighth of the users from none."""
    return n_users / 8 > SEEN / float(epsilon)


def users_to_clip(
    norms_squared: Floats, noise: float, n_users: float, epsilon: Fraction
) -> Integers:
    """How many users may be longer than each candidate, before clipping them costs too much.

    A shorter clip saves noise in proportion to its length, and takes from everyone longer what is
    beyond it. The two are even where this many users are longer. Fewer than a choice of this
    epsilon can see are not worth avoiding, and more than half never need to be clipped.
    """
    even = np.maximum(noise * np.sqrt(norms_squared) / LEANING, SEEN / float(epsilon))
    users: Integers = np.minimum(even, n_users / 2).astype(np.int64)
    return users


def from_shares(sums: Floats, sd: float, n_users: float) -> Estimate:
    """Shares from a sum of clipped shares, whose total tells how many whole users it is of.

    At most about half of the users were to be clipped. What is missing from one then was lost to
    a length chosen badly, as with very few users, and may belong to any group.
    """
    n_whole = max(float(sums.sum()), n_users / 2)
    shares = sums / n_whole
    missing = max(0.0, 1 - float(shares.sum()))
    return Estimate(shares, np.full(len(sums), math.hypot(sd / n_whole, missing)))


def from_residuals(
    centre: Estimate, sums: Floats, sds: Floats, kept: tuple[float, float], n_users: float
) -> Estimate:
    """Shares from a centre and a sum of residuals, of as many whole users as were ``kept``.

    As far as that number is unsure, so is how much of the centre's own error was put right.
    """
    n_whole = min(max(kept[0], n_users / 2), n_users)
    unsure = min(max(kept[1] / n_whole, 1 - kept[0] / n_whole), 1.0)
    return Estimate(centre.shares + sums / n_whole, np.hypot(sds / n_whole, unsure * centre.sds))


def settled(estimate: Estimate) -> Floats:
    """Shares that may be published: small ones shrunk, none negative, one in all."""
    return onto_simplex(shrunk(estimate.shares, estimate.sds))


def combined(first: Estimate, second: Estimate) -> Estimate:
    """The mean by inverse variance; both have noise of their own."""
    precision = first.sds**-2 + second.sds**-2
    mean = (first.shares * first.sds**-2 + second.shares * second.sds**-2) / precision
    return Estimate(mean, precision**-0.5)


def centre_helps(centre: Floats, sds: Floats, norm_squared: float, neighbours: Neighbours) -> bool:
    """Whether residuals around the centre cost less noise than the shares themselves.

    A residual is shorter by the length of the centre, as far as that is known. Under replacement
    it may have both signs, and costs two clips where shares cost the root of two.
    """
    length = float((centre**2).sum())
    unsure = float(np.minimum(sds**2, centre**2).sum())
    if unsure > length / 2:
        return False
    if neighbours is Neighbours.ADD_REMOVE:
        return True
    return 4 * max(norm_squared - length + unsure, 0.0) < 2 * norm_squared


def weights_for(centre: Floats) -> Integers:
    """Weights by falling size of the group, in units of ``2**-WEIGHT_BITS``.

    Noise on a group is in proportion to one over its weight ``w``, and clips to the length of
    ``w x``. With shares that vary by the root of their size, the sum of the noise is least where
    ``w`` goes as the size to the power of minus a third.
    """
    size = np.maximum(centre, LEAST_OF_EVEN / len(centre))
    weights = (size / size.min()) ** WEIGHT_POWER
    integers: Integers = np.maximum(np.rint(weights * (1 << WEIGHT_BITS)), 1).astype(np.int64)
    return integers


def weighted_centre(centre: Floats, weights: Integers | None) -> Integers:
    """The centre in the units of weighted shares, rounded down."""
    scaled = centre * (1 << SHARE_BITS)
    if weights is not None:
        scaled = scaled * weights / (1 << WEIGHT_BITS)
    return np.floor(scaled).astype(np.int64)
