"""Private Count Release broken by the smallest edit that breaks its promise."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from headcount.accounting.filter import Filter
from headcount.mechanisms import private_count_release as module
from headcount.mechanisms.chance import Chance
from headcount.mechanisms.private_count_release import Measured, PrivateCountRelease
from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.privacy.query import Query
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp
from headcount.trials.seam import Integers, swapped


class BoundaryLost(PrivateCountRelease):
    """Reads the row beyond the table as 0, as a table of k rows would have it."""

    __slots__ = ()

    def _select(
        self, true_left: Any, true_boundary: int, epsilon: Fraction, chance: Chance
    ) -> int | None:
        return PrivateCountRelease._select(self, true_left, 0, epsilon, chance)


class MarginForOneRow(PrivateCountRelease):
    """A margin that forgets how many rows one user may bring in at once."""

    __slots__ = ()

    @property
    def margin(self) -> Fraction:
        """``log(1 / delta_per_call)``."""
        return Fraction(round(-math.log(float(self.delta_per_call)) * (1 << 20)), 1 << 20)


class NoiseFromTheTarget(PrivateCountRelease):
    """Measures with the noise that the target allows, whatever was reserved for it."""

    __slots__ = ()

    def _measure(
        self, position: int, true_count: int, epsilon: Fraction, budget: Filter, chance: Chance
    ) -> Measured:
        sigma = self.within / module.Z * (1 + float(self.margin / epsilon))
        budget.charge(Zcdp(epsilon**2 / 8))
        variance = Fraction(sigma**2)
        noisy = chance.noisy(np.array([true_count]), DiscreteGaussian(variance))
        return Measured(position, float(noisy[0]), sigma)


class StopsWithTheTable(PrivateCountRelease):
    """Looks for no more rows than there are, as printed: what is left then tells how many."""

    __slots__ = ()

    def draw(self, query: Query[Integers], chance: Chance) -> list[Measured]:
        """Ends when no row is left."""
        most = min(len(query.ask()), self.most)
        with swapped(PrivateCountRelease, "most", most):
            return PrivateCountRelease.draw(self, query, chance)


class RestForOneRow(PrivateCountRelease):
    """Spends what is left on all rows with noise for one of them."""

    __slots__ = ()

    def _sharpened(
        self, released: list[Measured], true_scores: Any, budget: Filter, chance: Chance
    ) -> list[Measured]:
        with swapped(Sensitivity, "of_entries", staticmethod(lambda *_: Sensitivity.of_sum(1))):
            return PrivateCountRelease._sharpened(self, released, true_scores, budget, chance)


class RestNotCharged(PrivateCountRelease):
    """Measures all rows once more, and charges nothing for that."""

    __slots__ = ()

    def _sharpened(
        self, released: list[Measured], true_scores: Any, budget: Filter, chance: Chance
    ) -> list[Measured]:
        spare = Filter(self.limit)
        return PrivateCountRelease._sharpened(self, released, true_scores, spare, chance)
