"""Counts of equal error broken by the smallest edit that breaks their promise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any

from headcount.accounting.filter import Filter
from headcount.contributions import far as far_module
from headcount.contributions import listed_pairs as listed_module
from headcount.contributions import pairs as pairs_module
from headcount.contributions.equal_error import known as known_module
from headcount.contributions.equal_error import levels as levels_module
from headcount.contributions.equal_error import vectors as vectors_module
from headcount.contributions.equal_error.known import ClippedPairs, KnownPairs
from headcount.contributions.equal_error.norm_limits import NormLimits
from headcount.mechanisms.equal_error import stages as stages_module
from headcount.mechanisms.equal_error import tuning as tuning_module
from headcount.mechanisms.equal_error.listed import ListedRun
from headcount.mechanisms.equal_error.overlooked import Overlooked
from headcount.mechanisms.equal_error.plan import EqualErrorPlan
from headcount.mechanisms.gaussian import Gaussian
from headcount.privacy.query import Query
from headcount.privacy.spend import Zcdp
from headcount.trials.seam import Integers, swapped


def _no_cap(users: Any, clip: Any, cap: Any, unit_bits: int) -> Any:
    share = 1 - (clip.cast("float64") / users["hc_norm"].cast("float64")).sqrt()
    lost = users["hc_sum"].cast("float64") * share / cap.cast("float64") * (1 << unit_bits)
    return lost.floor().cast("int64")


def no_cap() -> AbstractContextManager[None]:
    """A user's loss counts for all it is, not up to one unit."""
    return swapped(levels_module, "_loss", _no_cap)


def _clipped_at(wider: Callable[[int], int]) -> AbstractContextManager[None]:
    """Users are clipped elsewhere than the question says."""

    class Wider(ClippedPairs):
        def __init__(
            self, known: KnownPairs, index: Integers, weights: Integers, clip: int
        ) -> None:
            super().__init__(known, index, weights, wider(clip))
            self.claimed = ClippedPairs(known, index, weights, clip)

        def totals(self, value_bits: int) -> Query[Integers]:
            claimed = self.claimed.totals(value_bits).sensitivity
            return replace(super().totals(value_bits), sensitivity=claimed)

    def clipped(known: KnownPairs, index: Integers, weights: Integers, clip: int) -> Any:
        return Wider(known, index, weights, clip)

    return swapped(KnownPairs, "clipped", clipped)


def no_clip() -> AbstractContextManager[None]:
    """Users keep all their weight when rows are measured."""
    return _clipped_at(lambda _clip: 1 << 62)


def wide_clip() -> AbstractContextManager[None]:
    """Users are clipped at twice the norm, as if what large rows have more of were free."""
    return _clipped_at(lambda clip: 4 * clip)


def no_values() -> AbstractContextManager[None]:
    """How long a user's vector is is found from the weights of groups, without the rows in them."""
    shipped = KnownPairs.with_numbers

    def unweighed(known: KnownPairs, pairs: Any, *_names: str, **columns: Integers) -> Any:
        return shipped(known, pairs, **columns)

    return swapped(KnownPairs, "with_numbers", unweighed)


def short_reach() -> AbstractContextManager[None]:
    """Who may be beyond a clip is told from a tenth of the weights: some are never clipped."""
    shipped = NormLimits.beyond

    def too_few(reach: NormLimits, index: Integers, weights: Integers, clip: int) -> Any:
        return shipped(reach, index, weights // 10, clip)

    return swapped(NormLimits, "beyond", too_few)


def no_norm() -> AbstractContextManager[None]:
    """Users keep all they add to the classes."""
    shipped = vectors_module.clipped_sums

    def unclipped(per_user: Any, entries: Any, _norm: int) -> Any:
        return shipped(per_user, entries, 1 << 60)

    return swapped(known_module, "clipped_sums", unclipped)


def every_cell_below() -> AbstractContextManager[None]:
    """A user is in every cell that begins below what they lose."""
    return swapped(vectors_module, "_between", lambda lost, low, _high: lost >= low)


def whole_weights() -> AbstractContextManager[None]:
    """Users weigh one in every group when groups are discovered, however many they have."""
    return swapped(pairs_module, "exact_weight", lambda n, bounds: n * 0 + bounds.scale)


def whole_weights_of_heaps() -> AbstractContextManager[None]:
    """Users weigh one in every group where they have many rows."""
    return swapped(far_module, "exact_weight", lambda n, bounds: n * 0 + bounds.scale)


def free_heaps() -> AbstractContextManager[None]:
    """Where a few have very many rows is not charged."""
    return _unpaid(lambda run: tuning_module.EVENTS.heaps * run.plan.limit.rho)


def whole_weights_of_a_list() -> AbstractContextManager[None]:
    """Users weigh one in every listed group, however many they have."""
    return swapped(listed_module, "exact_weight", lambda n, bounds: n * 0 + bounds.scale)


def free_weights() -> AbstractContextManager[None]:
    """What listed groups weigh is not charged."""
    shipped = ListedRun.noisy

    def noisy(run: Any, query: Query[Integers], rho: Fraction) -> Any:
        if rho != run.plan.shares.discover:
            return shipped(run, query, rho)
        mechanism = Gaussian.calibrate(query.sensitivity, Zcdp(rho))
        return mechanism.draw(query, run.chance), mechanism.sd

    return swapped(ListedRun, "noisy", noisy)


def free_bias() -> AbstractContextManager[None]:
    """What clipping took is not charged."""
    return _free("bias")


def free_heavy() -> AbstractContextManager[None]:
    """To count heavy users before rows are measured is not charged."""
    return _free("heavy")


def free_large() -> AbstractContextManager[None]:
    """To count the users of a group that was overlooked is not charged."""
    return _unpaid(lambda run: tuning_module.COUNTED * run.plan.limit.rho)


def sharp_looks() -> AbstractContextManager[None]:
    """Large groups are looked for at twice the epsilon that is charged."""
    shipped = Overlooked.look

    def look(own: Overlooked, *given: Any) -> Any:
        return shipped(replace(own, epsilon=2 * own.epsilon), *given)

    return swapped(Overlooked, "look", look)


def _free(share: str) -> AbstractContextManager[None]:
    return _unpaid(lambda run: getattr(run.plan.shares, share))


def _unpaid(what: Callable[[Any], Fraction]) -> AbstractContextManager[None]:
    shipped = stages_module.Run.noisy

    def noisy(run: Any, query: Query[Integers], rho: Fraction) -> Any:
        if rho != what(run):
            return shipped(run, query, rho)
        mechanism = Gaussian.calibrate(query.sensitivity, Zcdp(rho))
        return mechanism.draw(query, run.chance), mechanism.sd

    return swapped(stages_module.Run, "noisy", noisy)


@contextmanager
def delta_twice() -> Iterator[None]:
    """All of delta for either discovery, past the filter."""
    shipped = stages_module.Run.discovered

    def discovered(run: Any, pairs: Any, rho: Fraction, _part: Fraction = Fraction(1)) -> Any:
        return shipped(run, pairs, rho, Fraction(1))

    with (
        swapped(tuning_module, "AGAIN_DELTA", Fraction(1, 2)),
        swapped(Filter, "charge", lambda _budget, _spend: None),
        swapped(stages_module.Run, "discovered", discovered),
    ):
        yield


def more_delta() -> AbstractContextManager[None]:
    """Groups are discovered at twice the delta that the filter is charged."""
    shipped = EqualErrorPlan.threshold

    def threshold(plan: EqualErrorPlan, rho: Fraction, part: Fraction = Fraction(1)) -> Any:
        charged = shipped(plan, rho, part)
        drawn = shipped(plan, rho, 2 * part)
        return replace(charged, threshold=drawn.threshold)

    return swapped(EqualErrorPlan, "threshold", threshold)
