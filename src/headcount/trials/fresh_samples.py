"""Trial of ``FreshSamples``: two looks at the same users, by law and by what is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from headcount.accounting.convert import zcdp_of
from headcount.audit.blackbox import Rows, audit_epsilon
from headcount.audit.divergence import delta_at
from headcount.audit.law import Law, independent
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.fresh_samples.mechanism import FreshSamples, Looks
from headcount.mechanisms.sample_threshold import COIN_BITS
from headcount.privacy.budget import Budget
from headcount.privacy.cells import Blocks
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.sensitivity import Sensitivity
from headcount.trials.given import given
from headcount.trials.sample_threshold import group_law
from headcount.trials.trial import Case, Effort, Trial

Integers = npt.NDArray[np.int64]
POINTS = ((1.0, 1e-2), (3.0, 1e-3))
N_CELLS = 4
PARENTS, CELLS = Blocks(N_CELLS, 2), Blocks(N_CELLS, 1)
ABSENT = -(1 << 20)
ONE_CELL = Sensitivity.of_cell()


@dataclass(frozen=True, slots=True)
class Variant:
    """What is done with the looks: fresh coins and a threshold each, unless it is a mutant."""

    samples: FreshSamples
    one_sample: bool = False
    all_shown: bool = False

    def shown(self, cells: Integers) -> tuple[Integers, Integers]:
        """One release: what a look at parents and a look at cells show."""
        coins = [self._coins(len(cells)) for _ in range(2)]
        if self.one_sample:
            coins[1] = coins[0]

        def ask(number: int, blocks: Blocks) -> Integers:
            kept = cells[coins[number - 1]] // blocks.size
            return np.bincount(kept, minlength=blocks.n_blocks)

        if self.all_shown:
            return ask(1, PARENTS), ask(2, CELLS)
        looks = self.samples.looks(lambda *which: given(ONE_CELL, ask(*which)))
        return looks.look(PARENTS), looks.look(CELLS)

    def _coins(self, n: int) -> npt.NDArray[np.bool_]:
        limit = np.uint64(self.samples.sample.coin_limit)
        return Drawn().entropy.words(n) >> np.uint64(64 - COIN_BITS) < limit

    def law_of_look(self, size: int) -> Law:
        """What one look shows of a block of so many users."""
        if self.all_shown:
            return _counts(self.samples, size)

        def shown(count: int | None) -> int:
            if count is None:
                return 0
            block = given(ONE_CELL, np.array([count, 0]))
            looks = Looks(self.samples.sample, lambda _number, _blocks: block)
            return int(looks.look(PARENTS)[0])

        return _counts(self.samples, size).mapped(shown)


def _counts(samples: FreshSamples, size: int) -> Law:
    """Sampled users of a block, before anything is hidden."""
    return group_law(replace(samples.sample, threshold=1), size)


def calibrated(epsilon: float, delta: float) -> FreshSamples:
    """Two looks at an epsilon and delta."""
    limit = zcdp_of(Budget(epsilon=epsilon, delta=delta))
    return FreshSamples.calibrate(limit, 2, Neighbours.ADD_REMOVE)


def _exact(variant: Variant, epsilon: float, delta: float) -> Finding:
    """A user who is with others in both looks, at sizes around those that are shown."""
    sample = variant.samples.sample
    middle = sample.threshold / float(sample.rate)
    found = 0.0
    for size in (sample.threshold - 1, round(middle / 2), round(middle)):
        large, small = (independent([variant.law_of_look(size + more)] * 2) for more in (1, 0))
        found = max(found, delta_at(large, small, epsilon).low)
    return Finding(Tier.EXACT, f"epsilon {epsilon:g}, two looks", "delta", delta, found)


def _features(variant: Variant, cells: Integers, n: int) -> Rows:
    features = np.zeros((n, 3), np.int64)
    for i in range(n):
        parents, children = variant.shown(cells)
        both = parents[0] > 0 and children[0] > 0
        features[i] = (
            parents[0],
            children[1],
            parents[0] - children[0] if both else ABSENT,
        )
    return features


def _examined(
    make: Callable[[FreshSamples], Variant], n: int
) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        findings = []
        for epsilon, delta in POINTS if effort is Effort.FULL else POINTS[:1]:
            variant = make(calibrated(epsilon, delta))
            findings.append(_exact(variant, epsilon, delta))
            sample = variant.samples.sample
            others = np.zeros(round(3 * sample.threshold / float(sample.rate)), np.int64)
            # The last user is in a cell alone, and in a block with all the others.
            sides = [_features(variant, cells, n) for cells in (np.append(others, 1), others)]
            subject = f"epsilon {epsilon:g}, a user alone in a cell"
            found = audit_epsilon(*sides, epsilon=epsilon, delta=delta, subject=subject)
            findings.append(found)
        return findings

    return examined


TRIAL = Trial(
    "fresh_samples",
    (
        Case("as shipped", _examined(Variant, 3_000), is_mutant=False),
        Case(
            "one sample for all levels",
            _examined(lambda samples: Variant(samples, one_sample=True), 1_000),
        ),
        Case(
            "small blocks shown too",
            _examined(lambda samples: Variant(samples, all_shown=True), 1_000),
        ),
    ),
)
