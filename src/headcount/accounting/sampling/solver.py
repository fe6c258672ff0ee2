"""Rate and threshold of a sample whose counts are shown exactly: certified, and the best there is.

Every answer of the searches below is certified at the end as it will be used: the rate is a
dyadic rational, rounded down, and the bound is computed again at it. A search that goes astray
can so cost accuracy, and never privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

from headcount.accounting.convert import epsilon_at
from headcount.accounting.sampling.composed import TOP, composed_delta, one_sample
from headcount.accounting.sampling.profile import SLACK, sup_down, sup_up
from headcount.accounting.sampling.profile import closed_form as chernoff
from headcount.accounting.sampling.search import (
    LEAST_RATE,
    MAX_THRESHOLD,
    Cost,
    least_threshold,
    smallest_group,
)
from headcount.accounting.sampling.zcdp import rho_of
from headcount.errors import UsageError
from headcount.privacy.exact import round_down, round_up
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp

RATE_UNIT = Fraction(1, 1 << 40)
RHO_UNIT = Fraction(1, 10**12)
OBJECTIVES = ("smallest group", "largest sample")
MOST_EPSILON = 50.0
MOST_RHO = 1_000
MOST_REACH = 8.0
"""No better sample costs more than this rho, and no loss that matters is far above this one."""

CRUMB_OF_DELTA = 1e-7
"""What of delta may pay for arrays that stay short, for each of the samples."""

Fits = Callable[[Fraction, int], bool]
FIX = "Raise epsilon, rho or delta, or lower the bound. Nothing was charged."


@dataclass(frozen=True, slots=True)
class SampledThreshold:
    """Keep users with chance ``rate``; show a group from ``threshold`` kept users on."""

    rate: Fraction
    threshold: int

    @property
    def smallest_group(self) -> float:
        """The size of group that is shown about half the time."""
        return self.threshold / float(self.rate)


def delta_of(
    rate: Fraction, threshold: int, epsilon: float | Fraction, neighbours: Neighbours
) -> float:
    """A delta that one sample does not exceed at ``epsilon``, rounded up.

    For add and remove it is the exact one. For replacement it is the smaller of two bounds: a
    user's leaving costs at most ``-log(1 - rate)`` of epsilon, or the composed pair of both.
    """
    chance, level = float(rate), _level(epsilon)
    if neighbours is Neighbours.ADD_REMOVE:
        worst = max(sup_up(chance, threshold, level), sup_down(chance, threshold, level))
        return worst * (1 + SLACK)
    return min(
        _leaving_apart(chance, threshold, level),
        composed_delta(chance, threshold, level, neighbours, 1),
    )


def _level(epsilon: float | Fraction) -> float:
    """Beyond some epsilon a smaller one is as good: a delta falls as epsilon grows."""
    return float(min(epsilon, MOST_EPSILON))


def _leaving_apart(rate: float, threshold: int, epsilon: float) -> float:
    left = epsilon + math.log1p(-rate)
    return sup_up(rate, threshold, left) * (1 + SLACK) if left > 0 else 1.0


def closed_form(
    rate: Fraction, threshold: int, epsilon: float | Fraction, neighbours: Neighbours
) -> float:
    """A bound on ``delta_of`` by a formula, derived on its own; several times too large."""
    level = float(epsilon)
    if neighbours is Neighbours.REPLACE:
        level += math.log1p(-float(rate))
    if level <= 0 or float(rate) > -math.expm1(-level):
        return 1.0
    return chernoff(float(rate), threshold, level)


def best(
    epsilon: float | Fraction,
    delta: float | Fraction,
    neighbours: Neighbours,
    *,
    objective: str = "smallest group",
    n_samples: int = 1,
    most_rate: float | Fraction | None = None,
) -> SampledThreshold:
    """The best rate and threshold for ``n_samples`` fresh samples within (epsilon, delta).

    ``"smallest group"`` shows groups as small as possible; ``"largest sample"`` takes the largest
    rate there is and then the least threshold. ``most_rate`` caps the rate, for instance by what
    may be sent.
    """
    level, share = _level(epsilon), float(delta)
    if not level > 0 or not 0 < share < 1:
        raise UsageError("A sample needs an epsilon above 0 and a delta between 0 and 1.")

    def cost(rate: float, threshold: int) -> float:
        if n_samples == 1 and neighbours is Neighbours.ADD_REMOVE:
            return delta_of(Fraction(rate), threshold, level, neighbours) / share
        return composed_delta(rate, threshold, level, neighbours, n_samples) / share

    free = -math.expm1(-level)

    def most(threshold: int) -> float:
        return min(free, _edge(share, n_samples, threshold))

    def fits(rate: Fraction, threshold: int) -> bool:
        return cost(float(rate), threshold) <= 1

    return _search(cost, fits, objective, _first(share), free / 2, most, most_rate)


@lru_cache(maxsize=32)
def best_within(
    limit: Zcdp,
    neighbours: Neighbours,
    *,
    objective: str = "smallest group",
    n_samples: int = 1,
    most_rate: Fraction | None = None,
) -> SampledThreshold:
    """The best rate and threshold for ``n_samples`` fresh samples within a cost."""
    if limit.delta <= 0 or limit.rho <= 0:
        raise UsageError("A sample needs a rho and a delta greater than 0.")
    rho, reach = float(min(limit.rho, Fraction(MOST_RHO))), reach_of(limit)

    def cost(rate: float, threshold: int) -> float:
        return _rho(rate, threshold, n_samples, float(limit.delta), neighbours, reach) / rho

    def fits(rate: Fraction, threshold: int) -> bool:
        found = certified_rho(rate, threshold, n_samples, limit.delta, neighbours, reach)
        return found <= limit.rho

    def most(threshold: int) -> float:
        # The grid of losses is about as long on both sides.
        return min(-math.expm1(-TOP * reach), _edge(float(limit.delta), n_samples, threshold))

    near = min(0.3, 2 * math.sqrt(rho / n_samples))
    return _search(cost, fits, objective, _first(float(limit.delta)), near, most, most_rate)


def _first(delta: float) -> int:
    return math.ceil(0.7 * -math.log(delta)) + 2


def _edge(delta: float, n_samples: int, threshold: int) -> float:
    """A rate that is too large: a user completes a group that shows everybody in it."""
    if n_samples < 1:
        raise UsageError(f"There must be at least one sample, not {n_samples}.")
    one = -math.expm1(math.log1p(-delta) / n_samples)
    return math.pow(one, 1 / threshold)


def reach_of(limit: Zcdp) -> float:
    """The epsilon about which the losses of a release of this cost lie."""
    rho = min(limit.rho, Fraction(MOST_RHO))
    # Next to a large delta the conversion says nothing; losses are then of its size.
    least = max(math.sqrt(8 * float(rho)) + 2 * float(rho), 4 * float(limit.delta))
    return min(MOST_REACH, max(least, float(epsilon_at(rho, limit.delta))))


def certified_rho(
    rate: Fraction,
    threshold: int,
    n_samples: int,
    delta: Fraction,
    neighbours: Neighbours,
    reach: float,
) -> Fraction | float:
    """The rho of ``n_samples`` fresh samples at ``delta``, rounded up to whole units.

    ``reach`` says where the grid of losses is; any value is safe.
    """
    rho = _rho(float(rate), threshold, n_samples, float(delta), neighbours, reach)
    return rho if math.isinf(rho) else round_up(Fraction(rho), RHO_UNIT)


def _rho(
    rate: float, threshold: int, n_samples: int, delta: float, neighbours: Neighbours, reach: float
) -> float:
    pair = one_sample(rate, threshold, neighbours, reach)
    return rho_of(pair.times(n_samples, CRUMB_OF_DELTA * delta / n_samples), delta)


def _search(
    cost: Cost,
    fits: Fits,
    objective: str,
    first: int,
    near: float,
    most: Callable[[int], float],
    cap: float | Fraction | None,
) -> SampledThreshold:
    if objective not in OBJECTIVES:
        raise UsageError(f"objective must be one of {', '.join(OBJECTIVES)}, not {objective!r}.")
    if cap is not None and not 0 < cap < 1:
        raise UsageError(f"The largest rate must be between 0 and 1, not {cap}.")
    limit = 1.0 if cap is None else float(cap)
    cost = cache(cost)
    if objective == "largest sample":
        rate = min(limit, most(MAX_THRESHOLD))
        rate = float(round_down(Fraction(rate), RATE_UNIT))
        threshold = least_threshold(cost, rate) if rate >= LEAST_RATE else None
        found = None if threshold is None else (rate, threshold)
    else:
        found = smallest_group(cost, first, near, lambda t: min(limit, most(t)))
    if found is None:
        raise UsageError(f"No sample is safe for so little. {FIX}")
    return _certified(fits, *found)


def _certified(fits: Fits, rate: float, threshold: int) -> SampledThreshold:
    """The rate rounded down to whole units, and certified as it will be used."""
    chosen, less = round_down(Fraction(rate), RATE_UNIT), Fraction(1, 10_000)
    while chosen >= LEAST_RATE and less < 1:
        if fits(chosen, threshold):
            return SampledThreshold(chosen, threshold)
        chosen, less = round_down(chosen * (1 - less), RATE_UNIT), 2 * less
    raise UsageError(f"No rate is safe at this threshold. {FIX}")
