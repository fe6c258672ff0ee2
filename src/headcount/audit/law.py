"""An output law with the part of it that was not placed.

``masses[y]`` is at most the probability of ``y``; what all of them leave out is ``residual``, and
may belong anywhere. Both are exact, so every comparison of two laws can be bracketed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Law:
    """At least this much on every output, and a residual that may be anywhere."""

    masses: Mapping[Any, Fraction]
    residual: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if any(mass < 0 for mass in self.masses.values()) or self.residual < 0:
            raise ValueError("a law has no negative mass")
        if abs(sum(self.masses.values()) + self.residual - 1) > Fraction(1, 10**9):
            raise ValueError("masses and residual must add up to one")

    def mapped(self, change: Callable[[Any], Hashable]) -> Law:
        """The law of a function of the output."""
        masses: dict[Hashable, Fraction] = {}
        for output, mass in self.masses.items():
            image = change(output)
            masses[image] = masses.get(image, Fraction(0)) + mass
        return Law(masses, self.residual)

    def shifted(self, by: int) -> Law:
        """The law of an integer output plus a constant."""
        return Law({output + by: mass for output, mass in self.masses.items()}, self.residual)


def independent(laws: list[Law]) -> Law:
    """The law of independent outputs, as tuples."""
    masses: dict[Any, Fraction] = {(): Fraction(1)}
    for law in laws:
        masses = {
            (*before, output): weight * mass
            for before, weight in masses.items()
            for output, mass in law.masses.items()
        }
    return Law(masses, 1 - sum(masses.values(), Fraction(0)))


def aligned(left: Law, right: Law) -> tuple[Floats, Floats]:
    """The masses of two laws over all outputs of either."""
    outputs = list({**left.masses, **right.masses})
    return (
        np.array([float(left.masses.get(output, 0)) for output in outputs]),
        np.array([float(right.masses.get(output, 0)) for output in outputs]),
    )
