"""Where the auditor is let in: the primitives that mechanisms draw from, replaced or recorded.

Recording puts a known number in place of the noise: entry ``i`` of all that was ever drawn becomes
``(i + 1) * STEP``. That is far above any threshold, so every row leaves, and it tells which entry a
row came from, so true values can be put beside their groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headcount.accounting.filter import Filter
from headcount.audit.greybox import Declared, Settings
from headcount.mechanisms import (
    draw,
    gaussian,
    gaussian_threshold,
    laplace_histogram,
    sorted_counts,
)
from headcount.noise import selection
from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.privacy.event import GaussianNoise, GaussianThreshold, LaplaceNoise
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp

STEP = 1 << 40
Integers = npt.NDArray[np.int64]
Noised = GaussianNoise | GaussianThreshold | LaplaceNoise


@contextmanager
def swapped(target: Any, name: str, value: Any) -> Iterator[None]:
    """Replace an attribute for a while."""
    before = getattr(target, name)
    setattr(target, name, value)
    try:
        yield
    finally:
        setattr(target, name, before)


def writing_filter(charges: list[Zcdp]) -> type[Filter]:
    """A filter that writes down what it is charged."""

    class Written(Filter):
        def charge(self, spend: Zcdp) -> None:
            super().charge(spend)
            charges.append(spend)

    return Written


def settings_of(law: object) -> Settings:
    """The law and its parameters, as text."""
    if not is_dataclass(law):
        raise TypeError("a law is a dataclass")
    parameters = {part.name: str(getattr(law, part.name)) for part in fields(law)}
    return {"law": type(law).__name__, **parameters}


def declared_of(event: Noised, sensitivity: Sensitivity, **more: str) -> Declared:
    """What a call for noise claims: by its event, and by its sensitivity where that is silent."""
    law: object
    l1, l2_squared = sensitivity.l1, sensitivity.l2_squared
    if isinstance(event, LaplaceNoise):
        law, l1 = DiscreteLaplace(event.scale), event.l1
    else:
        law, l2_squared = DiscreteGaussian(event.sigma_squared), event.l2_squared
    return Declared(
        {**settings_of(law), **more},
        l0=sensitivity.l0,
        l1=float(l1),
        l2_squared=float(l2_squared),
        linf=float(sensitivity.linf),
    )


@dataclass
class Recorder:
    """Takes the place of the primitives and keeps what reached them."""

    noise: list[tuple[Settings, list[int]]] = field(default_factory=list)
    selections: list[tuple[Settings, list[int]]] = field(default_factory=list)
    n_drawn: int = 0

    def noisy(self, true_counts: Integers, law: object, _entropy: object = None) -> Integers:
        """Record a call for noise; the result is far above any threshold and names its entry."""
        self.noise.append((settings_of(law), [int(value) for value in true_counts]))
        first = self.n_drawn + 1
        self.n_drawn += len(true_counts)
        return np.arange(first, self.n_drawn + 1, dtype=np.int64) * STEP

    def select(self, scores: Integers, epsilon_over_range: object, _entropy: object) -> int:
        """Record a selection; the first candidate is chosen."""
        settings = {"law": "exponential mechanism", "epsilon_over_range": str(epsilon_over_range)}
        self.selections.append((settings, [int(score) for score in scores]))
        return 0

    def entry(self, noisy_total: float) -> int:
        """Which entry a recorded result came from."""
        return round(noisy_total / STEP) - 1

    @property
    def true_values(self) -> list[int]:
        """All entries, in the order they were drawn."""
        return [value for _, values in self.noise for value in values]


@contextmanager
def recorded() -> Iterator[Recorder]:
    """Record instead of drawing."""
    recorder = Recorder()
    with ExitStack() as stack:
        for module in (draw, gaussian, gaussian_threshold, laplace_histogram, sorted_counts):
            stack.enter_context(swapped(module, "noisy", recorder.noisy))
        stack.enter_context(swapped(selection, "select", recorder.select))
        yield recorder
