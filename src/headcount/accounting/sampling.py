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
from functools import lru_cache

from headcount.accounting.convert import epsilon_at
from headcount.accounting.sampling_composed import composed_delta, one_sample
from headcount.accounting.sampling_profile import SLACK, sup_down, sup_up
from headcount.accounting.sampling_profile import closed_form as chernoff
from headcount.accounting.sampling_zcdp import rho_of
from headcount.errors import UsageError
from headcount.privacy.exact import round_down, round_up
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp

RATE_UNIT = Fraction(1, 1 << 24)
LEAST_RATE = 1e-4
RHO_UNIT = Fraction(1, 10**12)
OBJECTIVES = ("smallest group", "largest sample")
FIRST_FACTOR = 1.1
COARSE, FINE = 4e-3, 5e-5
MAX_THRESHOLD = 2_000
PATIENCE = 3


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
    chance, level = float(rate), float(epsilon)
    if neighbours is Neighbours.ADD_REMOVE:
        worst = max(sup_up(chance, threshold, level), sup_down(chance, threshold, level))
        return worst * (1 + SLACK)
    return min(
        _leaving_apart(chance, threshold, level),
        composed_delta(chance, threshold, level, neighbours, 1),
    )


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
    level = float(epsilon)
    if not level > 0 or not 0 < float(delta) < 1:
        raise UsageError("A sample needs an epsilon above 0 and a delta between 0 and 1.")

    def fits(rate: float, threshold: int) -> bool:
        if n_samples == 1 and neighbours is Neighbours.ADD_REMOVE:
            return delta_of(Fraction(rate), threshold, level, neighbours) <= delta
        return composed_delta(rate, threshold, level, neighbours, n_samples) <= delta

    most = -math.expm1(-level)
    first = math.ceil(0.7 * -math.log(float(delta))) + 2
    return _search(fits, objective, first, most, most_rate)


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
    reach = reach_of(limit)

    def fits(rate: float, threshold: int) -> bool:
        chance, delta = Fraction(rate), limit.delta
        return certified_rho(chance, threshold, n_samples, delta, neighbours, reach) <= limit.rho

    # The smallest groups are shown at about half of this; a search has to end somewhere.
    most = -math.expm1(-math.sqrt(8 * float(limit.rho)) - 2 * float(limit.rho))
    first = math.ceil(0.7 * -math.log(float(limit.delta))) + 2
    return _search(fits, objective, first, most, most_rate)


def reach_of(limit: Zcdp) -> float:
    """The epsilon about which the losses of a release of this cost lie."""
    return min(8.0, float(epsilon_at(limit.rho, limit.delta)))


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
    pair = one_sample(float(rate), threshold, neighbours, reach).times(n_samples)
    rho = rho_of(pair, float(delta))
    return rho if math.isinf(rho) else round_up(Fraction(rho), RHO_UNIT)


Fits = Callable[[float, int], bool]


def _search(
    fits: Fits, objective: str, first: int, most: float, cap: float | Fraction | None
) -> SampledThreshold:
    if objective not in OBJECTIVES:
        raise UsageError(f"objective must be one of {', '.join(OBJECTIVES)}, not {objective!r}.")
    if cap is not None:
        if not 0 < cap < 1:
            raise UsageError(f"The largest rate must be between 0 and 1, not {cap}.")
        most = min(most, float(cap))
    most = float(round_down(Fraction(most), RATE_UNIT))
    if most < LEAST_RATE:
        raise UsageError(f"A sample of fewer than one user in {1 / LEAST_RATE:,.0f} shows nothing.")
    if objective == "largest sample":
        return _certified(fits, most, _least_threshold(fits, most))
    return _climb(fits, first, most)


def _least_threshold(fits: Fits, rate: float) -> int:
    low, high = 1, 2
    while not fits(rate, high):
        low, high = high, 2 * high
        if high > MAX_THRESHOLD:
            raise UsageError("No threshold is safe at so large a rate; lower the largest rate.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(rate, middle) else (middle, high)
    return high


def _climb(fits: Fits, first: int, most: float) -> SampledThreshold:
    """From a first threshold, to where neither a larger nor a smaller one shows smaller groups."""
    rate = _largest_rate(fits, first, most / 2, most, COARSE)
    found = {first: rate}
    for step in (1, -1):
        threshold, worse = first, 0
        while worse < PATIENCE and threshold + step >= 2:
            threshold += step
            if threshold > MAX_THRESHOLD:
                raise UsageError("No threshold below 2,000 is safe; raise epsilon, rho or delta.")
            rate = _largest_rate(
                fits, threshold, found[threshold - step] or LEAST_RATE, most, COARSE
            )
            better = rate > 0 and threshold / rate < min(_sizes(found))
            found[threshold] = rate
            worse = 0 if better or not any(found.values()) else worse + 1
    close = sorted(found, key=lambda t: t / found[t] if found[t] else math.inf)[:2]
    finals = [(_largest_rate(fits, t, found[t], most, FINE), t) for t in close if found[t]]
    rate, threshold = min(finals, key=lambda pair: pair[1] / pair[0])
    return _certified(fits, rate, threshold)


def _sizes(found: dict[int, float]) -> list[float]:
    return [t / rate if rate else math.inf for t, rate in found.items()]


def _largest_rate(fits: Fits, threshold: int, near: float, most: float, tolerance: float) -> float:
    """About the largest rate that fits, found from a rate that is near it; 0 if none does."""
    if fits(most, threshold):
        return most
    low, high, factor = min(near, most), most, FIRST_FACTOR
    if fits(low, threshold):
        while low * factor < most and fits(low * factor, threshold):
            low, factor = low * factor, factor**1.5
        high = min(high, low * factor)
    else:
        while True:
            low, high, factor = low / factor, low, factor**1.5
            if low < LEAST_RATE:
                return 0.0
            if fits(low, threshold):
                break
    while high > low * (1 + tolerance):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fits(middle, threshold) else (low, middle)
    return low


def _certified(fits: Fits, rate: float, threshold: int) -> SampledThreshold:
    """The rate rounded down to whole units, and certified as it will be used."""
    chosen = round_down(Fraction(rate), RATE_UNIT)
    while not fits(float(chosen), threshold):
        chosen = round_down(chosen * Fraction(9999, 10_000), RATE_UNIT)
        if chosen < LEAST_RATE:
            raise UsageError("No rate is safe at this threshold; raise epsilon, rho or delta.")
    return SampledThreshold(chosen, threshold)
