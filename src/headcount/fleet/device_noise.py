"""Whether a task with noise says that it costs less than its scale and its threshold do.

The price of noise is a formula, so that a device works out all of it: nothing is believed.
"""

from __future__ import annotations

import math
from fractions import Fraction

from headcount.accounting.laplace import laplace_cost
from headcount.fleet.task import Task
from headcount.privacy.neighbours import Neighbours

SLACK = 1e-9
DEAREST = 64
"""The epsilon of one round from which on no price is worked out: none is below it."""


def is_noise_understated(task: Task) -> bool:
    """Whether a task with noise costs a device more than it says."""
    terms, n, asked = task.terms, task.file.rounds.n, task.file.question
    answers = min(asked.answers, len(asked.groups)) if asked.groups else asked.answers
    l1 = Fraction(answers * (2 if terms.neighbours is Neighbours.REPLACE else 1))
    if l1 / terms.scale > DEAREST or n * laplace_cost(l1, terms.scale) > terms.rho:
        return True
    if asked.groups:
        return False
    together = leaves(answers, terms.scale, terms.threshold)
    apart = -math.expm1(answers * math.log1p(-leaves(1, terms.scale, terms.threshold)))
    return max(together, apart) > float(terms.delta / n) * (1 + SLACK)


def leaves(devices: int, scale: Fraction, threshold: int) -> float:
    """The chance that a group of so many devices is shown, at or below its threshold."""
    if threshold < devices:
        return 0.5
    beyond = -(threshold + 1 - devices) / float(scale)
    return math.exp(beyond) / (1 + math.exp(-1 / float(scale)))
