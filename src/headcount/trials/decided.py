"""Trial of every mechanism at once: what was drawn decides what comes out, and nothing else does.

A mechanism has the true numbers in its hands. It may compute anything from them, as long as all
that it does with that is to draw. So it draws on one answer, without noise, and what came of it is
played to others: none at all, all alike, one alone, many. The same laws are then asked for, as
often, and the same comes out, to the last digit. A draw that is left out where it seems needless,
and an estimate that is taken by true numbers where two were drawn, show here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms.binomial_selection.mechanism import BinomialSelection
from headcount.mechanisms.bound_choice import BoundChoice
from headcount.mechanisms.centred_gaussian import CentredGaussian
from headcount.mechanisms.chance import Chance
from headcount.mechanisms.clip_choice import ClipChoice
from headcount.mechanisms.equal_error.overlooked import Overlooked
from headcount.mechanisms.equal_error.tuning import OVERLOOKED_ROWS
from headcount.mechanisms.exponential_quantile import ExponentialQuantile
from headcount.mechanisms.gaussian import Gaussian
from headcount.mechanisms.gaussian_threshold import GaussianThreshold
from headcount.mechanisms.hierarchical_histogram import HierarchicalHistogram
from headcount.mechanisms.hierarchy import Hierarchy
from headcount.mechanisms.laplace import Laplace
from headcount.mechanisms.laplace_histogram import LaplaceHistogram
from headcount.mechanisms.laplace_threshold import LaplaceThreshold
from headcount.mechanisms.pan_private import PanPrivate, one_event
from headcount.mechanisms.private_count_release import PrivateCountRelease
from headcount.mechanisms.radius import Radius
from headcount.mechanisms.size_choice import SizeChoice
from headcount.mechanisms.sorted_counts import SortedCounts
from headcount.privacy.bounds import Bounds
from headcount.privacy.length import Norm, unit_sensitivity
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.query import Query
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp
from headcount.trials.given import given
from headcount.trials.seam import Integers
from headcount.trials.tape import Tape, told
from headcount.trials.trial import Case, Effort, Trial

Draw = Callable[[Integers, Chance], object]
N, N_USERS, SAMPLES = 7, 400, 4
ADD = Neighbours.ADD_REMOVE
HALF, ONE = Fraction(1, 2), Zcdp(1, "1e-3")

ANSWERS: dict[str, tuple[int, ...]] = {
    "falling": (400, 60, 25, 12, 3, 1, 0),
    "none": (0,) * N,
    "all alike": (57,) * N,
    "one alone": (1, 0, 0, 0, 0, 0, 0),
    "the last alone": (0, 0, 0, 0, 0, 0, 1),
    "rising": (0, 1, 2, 20, 21, 300, 3000),
    "one of millions": (0, 0, 5_000_000, 0, 0, 0, 0),
}
"""What a table may answer. The first two are drawn from, and played to all of the others."""


def _asked(mechanism: Any, *public: Any) -> Draw:
    """A mechanism of one question, about as many numbers as there are."""
    return lambda answer, chance: mechanism.draw(
        given(mechanism.sensitivity, answer), *public, chance
    )


def _runs(mechanism: Any) -> Draw:
    """A mechanism of counts and how many groups have each."""

    def draw(answer: Integers, chance: Chance) -> object:
        runs = np.unique(answer, return_counts=True)
        return mechanism.draw(given(mechanism.sensitivity, runs), N, chance)

    return draw


def _falling(mechanism: Any) -> Draw:
    """A mechanism of counts that fall."""
    return lambda answer, chance: _asked(mechanism)(np.sort(answer)[::-1], chance)


def _bounds(answer: Integers, chance: Chance) -> object:
    queries = [given(Sensitivity.of_sum(1 << i), int(loss)) for i, loss in enumerate(answer)]
    return BoundChoice(HALF).draw(queries, chance)


def _clips(answer: Integers, chance: Chance) -> object:
    choice = ClipChoice.calibrate(Norm.L2, 6, 5.0, ONE)
    weights = np.resize(np.sort(answer)[::-1], len(choice.candidates) + 1)
    return _asked(choice)(np.sort(weights)[::-1], chance)


def _overlooked(answer: Integers, chance: Chance) -> object:
    looks = Overlooked.calibrate(ONE)
    counts = np.resize(np.sort(answer)[::-1], OVERLOOKED_ROWS + 1)
    return looks.look(given(looks.sensitivity, np.sort(counts)[::-1]), [], chance)


def _centred(answer: Integers, chance: Chance) -> object:
    mechanism = CentredGaussian.calibrate(N, ONE)
    users = given(mechanism.users.sensitivity, answer[:1])
    return mechanism.draw(given(mechanism.differences.sensitivity, answer), users, chance)


def binomial(kind: type[BinomialSelection], method: str) -> Draw:
    """Shares of groups, from users by their number of samples."""
    mechanism = kind(Fraction(1), method, N, SAMPLES, N_USERS, ADD, 0.4)

    def draw(answer: Integers, chance: Chance) -> object:
        present = np.minimum(answer, N_USERS)
        true_users = np.zeros((N, SAMPLES + 1), np.int64)
        true_users[np.arange(N), 1 + np.arange(N) % SAMPLES] = present
        return mechanism.draw(given(mechanism.sensitivity, true_users), chance)

    return draw


CELLS = Sensitivity.of_cell(ADD)
DRAWS: dict[str, Sequence[Draw]] = {
    "gaussian": [_asked(Gaussian.calibrate(CELLS, ONE))],
    "laplace": [_asked(Laplace.calibrate(unit_sensitivity(Norm.L1, N, ADD), ONE))],
    "gaussian_threshold": [_asked(GaussianThreshold.calibrate(Bounds(5, 5), ONE))],
    "laplace_threshold": [_asked(LaplaceThreshold.calibrate(3, ONE))],
    "centred_gaussian": [_centred],
    "hierarchical_histogram": [_asked(HierarchicalHistogram.calibrate(Hierarchy(N, 2, 3), ONE))],
    "exponential_quantile": [_asked(ExponentialQuantile(HALF, HALF))],
    "radius": [_asked(Radius(HALF, ADD))],
    "size_choice": [_asked(SizeChoice(HALF, 0.3), np.full(N, 9))],
    "bound_choice": [_bounds],
    "equal_error": [_overlooked],
    "clip_choice": [_clips],
    "binomial_selection": [binomial(BinomialSelection, method) for method in ("dense", "sparse")],
    "private_count_release": [
        _falling(PrivateCountRelease(ONE, 0.1, max_rows=5, max_calls=60, top=top))
        for top in (None, 2)
    ],
    "sorted_counts": [_runs(SortedCounts.calibrate(Bounds(3, 3).sensitivity(), ONE))],
    "laplace_histogram": [_runs(LaplaceHistogram.calibrate(Bounds(3, 3).sensitivity(), ONE))],
    "pan_private": [_asked(PanPrivate.calibrate(one_event(ADD), HALF))],
}
"""Each mechanism that takes an answer whole. Those that put many questions to a table are played
through their verbs, in the trial of verbs, and a sample is drawn by the engine."""


def played(draw: Draw, answer: Integers, tape: Tape | None) -> tuple[str, list[Any], Tape]:
    """What comes out, and the laws that were asked for with how many numbers each was for."""
    chance = Tape(played=tape)
    output = told(draw(answer, chance))
    return output, [(one.settings, len(one.true_values)) for one in chance.draws], chance


def findings_of(name: str, draws: Sequence[Draw]) -> Iterator[Finding]:
    """A mechanism on all answers, played what came of two of them."""
    answers = {said: np.array(answer, np.int64) for said, answer in ANSWERS.items()}
    for draw in draws:
        for first in list(answers)[:2]:
            output, laws, tape = played(draw, answers[first], None)
            for said, answer in answers.items():
                subject = f"{name}, {first} played to {said}"
                again, same_laws, _ = played(draw, answer, tape)
                yield Finding(
                    Tier.GREY_BOX, subject, "draws that depend on the table", 0, laws != same_laws
                )
                yield Finding(
                    Tier.GREY_BOX, subject, "outputs that were not drawn", 0, output != again
                )


def _examined(draws: Mapping[str, Sequence[Draw]]) -> Callable[[Effort], Sequence[Finding]]:
    return lambda _: [one for name, some in draws.items() for one in findings_of(name, some)]


class ByTrueCounts(BinomialSelection):
    """Of two estimates, takes the one that suits how many users there are."""

    def draw(self, query: Query[Integers], chance: Chance) -> Any:
        """Both are drawn and paid for; which of them leaves is not."""
        rare = query.ask()[:, 1:].sum(axis=1) < N_USERS // SAMPLES
        shares, sds = BinomialSelection.draw(self, query, chance)
        return np.where(rare, 0.0, shares), sds


class Clamped(Gaussian):
    """Keeps noisy counts near the true ones."""

    __slots__ = ()

    def draw(self, query: Query[Integers], chance: Chance) -> Integers:
        """A bound that the true numbers set."""
        true_counts = query.ask()
        noisy: Integers = np.minimum(Gaussian.draw(self, query, chance), 2 * true_counts + 9)
        return noisy


class NoneOfNone(GaussianThreshold):
    """Draws nothing where there is nothing."""

    __slots__ = ()

    def draw(self, query: Query[Integers], chance: Chance) -> Any:
        """A table of zeros is told by a draw that is not made."""
        if not query.ask().any():
            return np.zeros(0, np.intp), np.zeros(0, np.int64)
        return GaussianThreshold.draw(self, query, chance)


TRIAL = Trial(
    "decided",
    (
        Case("as shipped", _examined(DRAWS), is_mutant=False),
        Case(
            "one of two estimates, by true counts",
            _examined({"binomial_selection": [binomial(ByTrueCounts, "sparse")]}),
        ),
        Case(
            "noisy counts kept near the true ones",
            _examined({"gaussian": [_asked(Clamped.calibrate(CELLS, ONE))]}),
        ),
        Case(
            "no draw where nobody is",
            _examined({"gaussian_threshold": [_asked(NoneOfNone.calibrate(Bounds(5, 5), ONE))]}),
        ),
    ),
)
