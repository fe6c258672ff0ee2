"""What an equal-error release will come to, from what was published before.

Sizes of groups and a profile of users are enough to follow the choice of how many rows the budget
carries: a user is taken for one whose groups are drawn by size. Nothing here sees private data.
Floating point is free: it decides what people are told to expect, never how private it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.tail import upper_point
from headcount.mechanisms.equal_error import tuning
from headcount.mechanisms.equal_error.candidates import lower_steps, sizes_up_to

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from headcount.mechanisms.equal_error.plan import EqualErrorPlan
    from headcount.mechanisms.equal_error.reading import Crowd

    Floats = NDArray[np.float64]

NINE_IN_TEN = upper_point(0.05)
"""Nine in ten normal draws are within so many sds."""
UNEVEN = 0.6  # of what clipping takes from a row, what is not put back rightly, as for one pass
SEVERAL = 4  # groups of a user, where nothing is known of users but that they are in several
MISREAD = 0.2  # of the target, what noise on the measured loss adds to every row; measured


@dataclass(frozen=True, slots=True)
class Forecast:
    """How many rows, and the relative error within which nine in ten of them are expected."""

    n_rows: int
    error: float | None


def usual_error(plan: EqualErrorPlan) -> float:
    """The noise of the smallest row, where nothing is known of sizes: larger rows get less."""
    return NINE_IN_TEN * tuning.NOISE_SHARE * plan.within


def least_usual(plan: EqualErrorPlan) -> float:
    """How many users a group has, about, that is found and measured: users in several groups."""
    measured = 1 / (_aim(plan) * math.sqrt(2 * plan.shares.measure))
    return math.sqrt(SEVERAL) * max(plan.least_weight, measured)


def least_single(plan: EqualErrorPlan) -> float:
    """The same where users are in one group each; rows that miss a target may be withheld."""
    one_pass = plan.threshold(plan.shares.after_profile)
    kept = NINE_IN_TEN * one_pass.sd / plan.within if plan.withholds else 0.0
    return max(kept, float(one_pass.threshold)) / one_pass.bounds.scale


def most_few(plan: EqualErrorPlan) -> float:
    """How many users there are, about, for whom groups are measured one by one."""
    return math.sqrt(SEVERAL) * tuning.PEEL_RATIO * plan.least_weight


def least_found(plan: EqualErrorPlan, crowd: Crowd) -> float:
    """How many users a group has, about, that is found half of the time."""
    pairs = max(1.0, float((crowd.users * crowd.groups).sum()))
    weight = max(1.0, float((crowd.users * np.sqrt(crowd.groups)).sum()))
    return plan.least_weight * pairs / weight


def forecast(plan: EqualErrorPlan, crowd: Crowd, sizes: Floats) -> Forecast:
    """The last candidate whose users would lose no more than is allowed, and its noise."""
    ranked = -np.sort(-sizes)
    found = ranked[ranked >= least_found(plan, crowd)][: plan.top]
    if not len(found):
        return Forecast(0, None)
    best = None
    for n_rows, tau in _candidates(plan, found):
        lost = _lost(plan, crowd, found[:n_rows], tau)
        allowed = plan.tuning.lost_share * plan.within * (tau / _aim(plan)) ** 2
        if best is None or lost <= allowed:
            best = n_rows, tau, lost
    assert best is not None  # noqa: S101  sizes have a first
    n_rows, tau, lost = best
    noise = tau / tuning.taper(found[:n_rows], float(found[n_rows - 1]), plan.tuning)
    mean_noise = math.sqrt(float((noise**2).mean()))
    sd = math.hypot(mean_noise, UNEVEN * lost, MISREAD * plan.within)
    return Forecast(n_rows, NINE_IN_TEN * sd)


def _aim(plan: EqualErrorPlan) -> float:
    return tuning.NOISE_SHARE * plan.within


def _candidates(plan: EqualErrorPlan, found: Floats) -> Iterator[tuple[int, float]]:
    """More rows at the target's noise, then all rows at less: those that shorten nobody of one."""
    norm = math.sqrt(2 * plan.shares.measure)
    sized = [(int(n_rows), _aim(plan)) for n_rows in sizes_up_to(len(found))]
    lower = [(len(found), _aim(plan) * float(step)) for step in lower_steps(len(found))]
    for index, (n_rows, tau) in enumerate([*sized, *lower]):
        if index == 0 or tau * norm * found[n_rows - 1] >= 1:
            yield n_rows, tau


def _lost(plan: EqualErrorPlan, crowd: Crowd, sizes: Floats, tau: float) -> float:
    """The share of all pairs that shortening users takes, if their groups are drawn by size."""
    pairs = np.maximum(1e-9, crowd.users * crowd.groups)
    weights = tuning.taper(sizes, float(sizes[-1]), plan.tuning) / (tau * sizes)
    square = float((sizes * weights**2).sum()) / float(pairs.sum())
    norms = np.sqrt(crowd.groups * square)
    kept = np.minimum(1.0, math.sqrt(2 * plan.shares.measure) / norms)
    return float((pairs * (1 - kept)).sum() / pairs.sum())
