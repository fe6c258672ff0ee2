"""Where the auditor is let in: a chance of its own, which writes down all that is asked of it.

A recorder puts a known number in place of the noise: entry ``i`` of all that was ever drawn becomes
``(i + 1) * STEP``. That is far above any threshold, so every row leaves, and it tells which entry a
row came from, so true values can be put beside their groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from headcount.accounting.filter import Filter
from headcount.audit.greybox import Call, Declared, Settings
from headcount.mechanisms.chance import Law
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
    """Replace an attribute for a while: how a mutant differs from what is shipped."""
    getattr(target, name)
    # As it is kept: a class method that is asked for comes bound to one class.
    own = name in vars(target)
    before = vars(target).get(name)
    setattr(target, name, value)
    try:
        yield
    finally:
        if own:
            setattr(target, name, before)
        else:
            delattr(target, name)


def settings_of(law: object) -> Settings:
    """The law and its parameters, as text."""
    if not is_dataclass(law):
        raise TypeError("a law is a dataclass")
    parameters = {part.name: str(getattr(law, part.name)) for part in fields(law)}
    return {"law": type(law).__name__, **parameters}


def choice_settings(rate: Fraction) -> Settings:
    """The exponential mechanism and the rate of its scores, as text."""
    return {"law": "exponential mechanism", "epsilon_over_range": str(rate)}


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


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise of a law was asked for, on these numbers."""

    law: Any
    true_values: tuple[int, ...]
    first: int
    """Which entry the first of them is, of all that were drawn."""

    @property
    def settings(self) -> Settings:
        """The law and its parameters."""
        return settings_of(self.law)

    @property
    def entries(self) -> range:
        """The entries that were drawn."""
        return range(self.first, self.first + len(self.true_values))


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice among candidates of these scores was asked for."""

    true_values: tuple[int, ...]
    rate: Fraction

    @property
    def settings(self) -> Settings:
        """The exponential mechanism and its rate."""
        return choice_settings(self.rate)


@dataclass(frozen=True, slots=True)
class Limit:
    """A filter of this limit was asked for."""

    limit: Zcdp


@dataclass(frozen=True, slots=True)
class Charge:
    """A filter was charged."""

    spend: Zcdp


Asked = Noise | Choice | Limit | Charge


@dataclass
class Recorder:
    """A chance that keeps all that was asked of it, in order, and answers with known numbers."""

    taken: int = 0
    """Which candidate every choice falls on."""
    asked: list[Asked] = field(default_factory=list)
    n_drawn: int = 0

    def noisy(self, true_counts: Integers, law: Law) -> Integers:
        """Write down a call for noise; the result is above any threshold and names its entry."""
        first = self.n_drawn
        self.asked.append(Noise(law, tuple(int(value) for value in true_counts), first))
        self.n_drawn += len(true_counts)
        return np.arange(first + 1, self.n_drawn + 1, dtype=np.int64) * STEP

    def select(self, scores: Integers, epsilon_over_range: Fraction) -> int:
        """Write down a choice; it falls on the candidate that was named, or else on the last."""
        self.asked.append(Choice(tuple(int(score) for score in scores), epsilon_over_range))
        return min(self.taken, len(scores) - 1)

    def filter(self, limit: Zcdp) -> Filter:
        """A filter that writes down what it is charged."""
        self.asked.append(Limit(limit))
        return WritingFilter(limit, self.asked)

    def entry(self, noisy_total: float) -> int:
        """Which entry a recorded result came from."""
        return round(noisy_total / STEP) - 1

    @property
    def draws(self) -> list[Noise | Choice]:
        """All noise and all choices, in order."""
        return [one for one in self.asked if isinstance(one, Noise | Choice)]

    @property
    def charges(self) -> list[Zcdp]:
        """What filters were charged."""
        return [one.spend for one in self.asked if isinstance(one, Charge)]

    @property
    def true_values(self) -> list[int]:
        """All entries, in the order they were drawn."""
        noises = [one for one in self.asked if isinstance(one, Noise)]
        return [value for one in noises for value in one.true_values]


class WritingFilter(Filter):
    """A filter whose charges are written beside what is drawn."""

    def __init__(self, limit: Zcdp, asked: list[Asked]) -> None:
        super().__init__(limit)
        self._asked = asked

    def charge(self, spend: Zcdp) -> None:
        """Take it, and write it down."""
        super().charge(spend)
        self._asked.append(Charge(spend))


def calls_of(recorder: Recorder, shown: Mapping[int, Any]) -> tuple[Call, ...]:
    """All noise and all choices that were asked for, in order; none is left out.

    shown:  the group that each entry was released for. Noise that is drawn batch by batch, every
            entry of which was released, is one call; noise that nobody sees is one of its own, and
            so are the groups of entries that were never drawn.
    """
    calls: list[Call] = []
    goes_on = False
    for one in recorder.asked:
        if isinstance(one, Noise) and one.true_values:
            is_shown = all(entry in shown for entry in one.entries)
            names = [shown[entry] for entry in one.entries] if is_shown else range(len(one.entries))
            values = dict(zip(names, one.true_values, strict=True))
            if goes_on and is_shown and _is_more_of(calls[-1], one.settings, values):
                calls[-1] = Call(one.settings, {**calls[-1].true_values, **values})
            else:
                calls.append(Call(one.settings, values))
            goes_on = is_shown
        elif isinstance(one, Choice):
            calls.append(Call(one.settings, dict(enumerate(one.true_values))))
            goes_on = False
    bare = [name for entry, name in shown.items() if not 0 <= entry < recorder.n_drawn]
    return (*calls, *([Call({"law": "none"}, dict.fromkeys(bare, 0))] if bare else []))


def _is_more_of(call: Call, settings: Settings, values: Mapping[Any, int]) -> bool:
    return call.settings == settings and not call.true_values.keys() & values.keys()
