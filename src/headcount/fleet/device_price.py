"""Whether a task says that it costs less than its rate and its threshold imply.

A device believes the price that a task states, unless one of three lower bounds on the true price
is above it. Each is a plain sum, without the solver that made the price, and none of them ever
refuses a price that the solver certifies: they are what one device costs *at least*.

* In one sample, the exact delta at an epsilon: that of the worst size of a group
  (``mechanisms/sample_threshold.md``, step 2).
* In all samples, the chance that a group of ``threshold`` devices is sampled whole. It shows all of
  them, so that no rho covers it, and delta must.
* In all samples, the mean loss, which adds up: rho is never below it.

A price that is too low by less than they see is believed: by a fifth for one sample, and by a
factor of at most 3 for several.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from headcount.accounting.convert import DELTA_UNIT, RHO_UNIT, epsilon_at
from headcount.fleet.device_noise import is_noise_understated
from headcount.fleet.task import Task
from headcount.privacy.neighbours import Neighbours

CRUMB = 1e-17
SLACK = 1e-9
"""For the doubles below, which are sums of products near 1."""
SIZES = (0.8, 1.0)
"""Of groups whose mean loss is looked at, in units of the threshold over the rate."""


def is_understated(task: Task) -> bool:
    """Whether the task certainly costs a device more than it says."""
    terms, n = task.terms, task.n_samples
    if terms.scale:
        return is_noise_understated(task)
    rate, delta = float(terms.rate), float(terms.delta)
    if terms.rho < RHO_UNIT or terms.delta < DELTA_UNIT:
        # Less than a ledger can be charged.
        return True
    if -math.expm1(n * math.log1p(-(rate**terms.threshold))) > delta * (1 + SLACK):
        return True
    # What the price promises at this epsilon is twice its delta: its own, and that of turning rho.
    epsilon = float(epsilon_at(terms.rho, min(terms.delta, Fraction(1, 2))))
    if delta_of_one(rate, terms.threshold, epsilon) > 2 * delta * (1 + SLACK):
        return True
    return n * mean_loss(rate, terms.threshold, terms.neighbours) > float(terms.rho) + SLACK


def delta_of_one(rate: float, threshold: int, epsilon: float) -> float:
    """The exact delta of one sample for one more device in a group, of the worst size there is."""
    q = -math.expm1(math.log1p(-rate) - epsilon)
    size = math.floor((threshold - 1) / q) + 1
    least = max(threshold, math.floor(q * size) + 1)
    total = 0.0
    for count, chance in _binomial(size, rate, least):
        total += chance * -math.expm1(epsilon - math.log1p(-rate) + _log_share(size, count))
        if chance <= CRUMB * total:
            break
    return total


def mean_loss(rate: float, threshold: int, neighbours: Neighbours) -> float:
    """The mean loss of one sample for one device, in a group where it is large."""
    found = (_both_ways(rate, threshold, max(threshold, int(c * threshold / rate))) for c in SIZES)
    is_replace = neighbours is Neighbours.REPLACE
    return max(up + down if is_replace else max(up, down) for up, down in found)


def _both_ways(rate: float, threshold: int, size: int) -> tuple[float, float]:
    """The mean losses of one more device in a group of this size, and of one less."""
    up = down = larger = smaller = 0.0
    rest = math.log1p(-rate)
    most = int(rate * (size + 1) + 10 * math.sqrt(rate * (size + 1))) + 20
    for count, chance in _binomial(size + 1, rate, threshold):
        # Beyond the larger group nothing is left, and at its end the loss has no bound.
        if count > min(size, most):
            break
        loss = rest - _log_share(size + 1, count)
        other = chance * math.exp(-loss)
        up, down = up + chance * loss, down - other * loss
        larger, smaller = larger + chance, smaller + other
    if min(1 - larger, 1 - smaller) > SLACK:
        loss = math.log((1 - larger) / (1 - smaller))
        up, down = up + (1 - larger) * loss, down - (1 - smaller) * loss
    return up, down


def _log_share(size: int, count: int) -> float:
    """The logarithm of the share of a group that is not among ``count``."""
    return -math.inf if count >= size else math.log1p(-count / size)


def _binomial(size: int, rate: float, least: int) -> Iterator[tuple[int, float]]:
    """Counts of a sample from ``least`` on, and the chance of each."""
    if least > size:
        return
    # Not by the logarithm of factorials, which has no digits left for sizes above 1e12.
    ways = math.fsum(math.log(rate * (size - i) / (i + 1)) for i in range(least))
    chance = math.exp(ways + (size - least) * math.log1p(-rate))
    for count in range(least, size + 1):
        yield count, chance
        chance *= (size - count) / (count + 1) * rate / (1 - rate)
