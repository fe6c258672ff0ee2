"""Trial of ``HierarchicalHistogram``: a user is in one block of every level."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headcount.accounting.compose import cost
from headcount.accounting.convert import rho_at
from headcount.audit.blackbox import Rows, audit_epsilon
from headcount.audit.divergence import rho
from headcount.audit.greybox import Recording, compare
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms.chance import Chance, Drawn
from headcount.mechanisms.gaussian import Gaussian
from headcount.mechanisms.hierarchical_histogram import HierarchicalHistogram
from headcount.mechanisms.hierarchy import Hierarchy
from headcount.privacy.exact import exact
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp
from headcount.trials.gaussian import law_of_count
from headcount.trials.given import given
from headcount.trials.seam import Integers, Recorder, calls_of, declared_of
from headcount.trials.trial import POINTS, Case, Effort, Trial

SHAPE = Hierarchy(7, 2, 3)
BASES = ((0,) * 7, (3, 0, 0, 1, 5, 0, 2), (0, 0, 0, 0, 0, 0, 1))
VICTIM_CELL = 2
ONE_WAY = (Neighbours.ADD_REMOVE,)


@dataclass(frozen=True, slots=True)
class Variant:
    """What is declared, and what is done: the same mechanism unless it is a mutant."""

    declared: HierarchicalHistogram
    done: HierarchicalHistogram
    only_occupied: bool = False
    one_draw_for_all: bool = False

    def draw(self, true_cells: Integers, chance: Chance) -> npt.NDArray[np.float64]:
        """The cells as they are published."""
        noise, shape = self.done.noise, self.done.shape
        true_counts = shape.counts(true_cells)
        if self.only_occupied:
            noisy_counts = noise.draw(given(noise.sensitivity, true_counts), chance) * (
                true_counts > 0
            )
            return shape.estimate(noisy_counts)
        if self.one_draw_for_all:
            one = noise.draw(given(noise.sensitivity, np.zeros(1, np.int64)), chance)
            return shape.estimate(true_counts + np.repeat(one, len(true_counts)))
        return self.done.draw(given(self.done.sensitivity, true_cells), chance).noisy_cells


Make = Callable[[HierarchicalHistogram], Variant]


def as_shipped(mechanism: HierarchicalHistogram) -> Variant:
    """The mechanism itself."""
    return Variant(mechanism, mechanism)


def half_noise(mechanism: HierarchicalHistogram) -> Variant:
    """Half the standard deviation that is declared."""
    noise = Gaussian(mechanism.noise.sensitivity, mechanism.noise.sigma_squared / 4)
    return Variant(mechanism, HierarchicalHistogram(SHAPE, noise))


def noise_for_one_level(mechanism: HierarchicalHistogram) -> Variant:
    """Noise as if a user were in one block altogether."""
    spread = mechanism.noise.sigma_squared / SHAPE.n_levels
    noise = Gaussian(mechanism.noise.sensitivity, spread)
    return Variant(mechanism, HierarchicalHistogram(SHAPE, noise))


def only_occupied(mechanism: HierarchicalHistogram) -> Variant:
    """No noise on blocks that nobody is in."""
    return Variant(mechanism, mechanism, only_occupied=True)


def one_draw_for_all(mechanism: HierarchicalHistogram) -> Variant:
    """One draw for all blocks: differences of blocks come out bare."""
    return Variant(mechanism, mechanism, one_draw_for_all=True)


def replaced_as_removed(mechanism: HierarchicalHistogram) -> Variant:
    """Noise for a user who goes, where one comes instead."""
    noise = Gaussian(mechanism.noise.sensitivity, mechanism.noise.sigma_squared / 2)
    return Variant(mechanism, HierarchicalHistogram(SHAPE, noise))


def calibrated(
    epsilon: float, delta: float, relation: Neighbours = Neighbours.ADD_REMOVE
) -> HierarchicalHistogram:
    """The mechanism at an epsilon and delta."""
    spend = Zcdp(rho_at(exact(epsilon), exact(delta)))
    return HierarchicalHistogram.calibrate(SHAPE, spend, relation)


def _with_user(base: tuple[int, ...], cell: int) -> Integers:
    true_cells = np.array(base, np.int64)
    true_cells[cell] += 1
    return true_cells


def _exact(variant: Variant, subject: str) -> Finding:
    noise, n_users = variant.done.noise, len(_moved(variant.declared.neighbours, 0))
    return Finding(
        Tier.EXACT,
        f"{subject}, one block of each level",
        "rho",
        float(cost(variant.declared.event).rho),
        n_users * SHAPE.n_levels * rho(law_of_count(noise, 41), law_of_count(noise, 40)),
    )


def _moved(relation: Neighbours, cell: int) -> tuple[int, ...]:
    """The cells that one change moves: that of a user, and that of who comes instead."""
    return (cell,) if relation is Neighbours.ADD_REMOVE else (cell, SHAPE.n_cells - 1 - cell)


def _recorded(variant: Variant, true_cells: Integers) -> Recording:
    recorder = Recorder()
    variant.draw(true_cells, recorder)
    calls = calls_of(recorder, {})
    return Recording(calls, {"blocks": str(len(calls[0].true_values))})


def _grey(variant: Variant) -> list[Finding]:
    event, sensitivity = variant.declared.event, variant.declared.noise.sensitivity
    claim = declared_of(event, sensitivity)
    findings = []
    for base in BASES:
        for cell in range(SHAPE.n_cells):
            left, right = (_recorded(variant, cells) for cells in _sides(variant, base, cell))
            findings += compare(left, right, [claim], f"{base}, and a user in cell {cell}")
    return findings


def _sides(variant: Variant, base: tuple[int, ...], cell: int) -> tuple[Integers, Integers]:
    """Somebody in a cell, and nobody, or somebody in another cell."""
    _, *instead = _moved(variant.declared.neighbours, cell)
    without = _with_user(base, instead[0]) if instead else np.array(base, np.int64)
    return _with_user(base, cell), without


def _features(variant: Variant, true_cells: Integers, n: int) -> Rows:
    """Of the victim's cell: its blocks of all levels together, itself, and what its parent adds."""
    features = np.zeros((n, 3), np.int64)
    for i in range(n):
        noisy_cells = variant.draw(true_cells, Drawn())
        blocks = [
            noisy_cells[VICTIM_CELL // size * size :][:size].sum()
            for size in variant.done.shape.sizes
        ]
        features[i] = np.rint([sum(blocks), 4 * blocks[-1], 4 * (blocks[-2] - 2 * blocks[-1])])
    return features


def _examined(make: Make, n: int, *relations: Neighbours) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        each = (_under(relation, make, n, effort) for relation in relations or ONE_WAY)
        return list(itertools.chain.from_iterable(each))

    return examined


def _under(relation: Neighbours, make: Make, n: int, effort: Effort) -> Sequence[Finding]:
    findings = _grey(make(calibrated(1.0, 1e-2, relation)))
    for epsilon, delta in POINTS[::2] if effort is Effort.FULL else POINTS[2::2]:
        variant = make(calibrated(epsilon, delta, relation))
        findings.append(_exact(variant, f"epsilon {epsilon}"))
        for base in BASES[:2]:
            sides = _sides(variant, base, VICTIM_CELL)
            left, right = (_features(variant, cells, n) for cells in sides)
            findings.append(
                audit_epsilon(
                    left, right, epsilon=epsilon, delta=delta, subject=f"epsilon {epsilon}"
                )
            )
    return findings


TRIAL = Trial(
    "hierarchical_histogram",
    (
        Case("as shipped", _examined(as_shipped, 1_000, *Neighbours), is_mutant=False),
        Case("half the noise", _examined(half_noise, 500)),
        Case("replaced as if removed", _examined(replaced_as_removed, 500, Neighbours.REPLACE)),
        Case("noise for one level", _examined(noise_for_one_level, 500)),
        Case("no noise on empty blocks", _examined(only_occupied, 1_000)),
        Case("one draw for all blocks", _examined(one_draw_for_all, 1_000)),
    ),
)
