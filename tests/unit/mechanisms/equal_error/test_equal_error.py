"""The equal-error mechanism: what is charged, and what public numbers do with noisy answers."""

from __future__ import annotations

import secrets
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from headcount.accounting.compose import cost
from headcount.accounting.filter import Filter
from headcount.errors import UsageError
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.equal_error import candidates as sizing
from headcount.mechanisms.equal_error import reading, tuning
from headcount.mechanisms.equal_error.candidates import Candidates
from headcount.mechanisms.equal_error.mechanism import EqualError
from headcount.mechanisms.equal_error.reading import Crowd, Shares
from headcount.mechanisms.size_choice import UNIT_BITS, SizeChoice
from headcount.privacy.query import Query
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp
from headcount.trials.given import given

Integers = npt.NDArray[np.int64]


def random_fraction(low: int, high: int) -> Fraction:
    return Fraction(low + secrets.randbelow(high - low), 1 + secrets.randbelow(10**9))


def test_shares_add_up_to_the_request_in_a_thousand_plans() -> None:
    for _ in range(1000):
        limit = Zcdp(random_fraction(1, 10**12), Fraction(1, 10**6))
        shares = Shares.of(limit)
        assert shares.profile + shares.after_profile == limit.rho
        assert shares.measure == shares.first_round + shares.second_round
        parts = [getattr(shares, name) for name in Shares.__slots__]
        assert sum(parts) == limit.rho
        assert min(parts) > 0
        without = Shares.of(limit, is_profiled=True)
        assert without.profile == 0
        assert without.after_profile == limit.rho


@pytest.mark.parametrize("rho", ["0.00001", "0.1", "7.3"])
def test_a_choice_costs_its_share_and_hardly_less(rho: str) -> None:
    share = Zcdp(Fraction(rho))
    spent = cost(SizeChoice.calibrate(share, 1.5).event)
    assert spent <= share
    assert spent.rho > share.rho * Fraction(999, 1000)


def test_too_small_a_spend_is_refused() -> None:
    with pytest.raises(UsageError, match="delta greater than 0"):
        EqualError.calibrate(Zcdp(1), 0.1)
    with pytest.raises(UsageError, match="at least about epsilon"):
        EqualError.calibrate(Zcdp("0.000001", "1e-6"), 0.1)


def test_the_event_is_the_request() -> None:
    limit = Zcdp("0.3", "1e-6")
    assert cost(EqualError.calibrate(limit, 0.1).event) == limit


def test_a_stage_is_charged_before_it_is_asked() -> None:
    budgets: list[Filter] = []

    class Watched(Drawn):
        def filter(self, limit: Zcdp) -> Filter:
            budgets.append(Filter(limit))
            return budgets[0]

    class Pairs:
        def users_per_cell(self) -> Query[Integers]:
            return Query(Sensitivity.of_cell(), self.ask)

        def ask(self) -> Integers:
            assert budgets[0].spent.rho > 0
            raise InterruptedError

    with pytest.raises(InterruptedError):
        EqualError.calibrate(Zcdp(1, "1e-6"), 0.1).draw(Pairs(), Watched())  # type: ignore[arg-type]


def test_nine_in_ten_are_within_what_is_said_to_be_reached() -> None:
    counts = np.full(100, 1000.0)
    assert reading.reached(counts, np.full(100, 80.0)) == pytest.approx(1.645 * 0.08, rel=1e-3)
    assert reading.reached(counts[:0], counts[:0]) < 1e-6


def test_a_profile_of_noise_is_read_as_nobody() -> None:
    crowd = Crowd.of(np.array([12, -3, 4] + [0] * 18), 5.0)
    assert crowd.weight_of_all == 0
    assert crowd.first_factor == 1


def test_one_group_each_loses_nothing_in_one_pass() -> None:
    assert Crowd.of(np.array([10_000] + [0] * 20), 5.0).single_loss == 0
    assert Crowd.of(np.array([0, 0, 0, 0, 0, 10_000] + [0] * 15), 5.0).single_loss > 0.7


def test_a_cell_stands_for_the_numbers_in_it() -> None:
    groups = Crowd.of(np.zeros(21, np.int64), 5.0).groups
    assert groups[:2].tolist() == [1, 2]
    assert groups[2:5] == pytest.approx(np.sqrt([3 * 4, 5 * 8, 9 * 16]))


def test_one_pass_needs_a_profile_that_says_so() -> None:
    plan = EqualError.calibrate(Zcdp("0.02", "1e-6"), 0.1)
    sd, empty = 36.0, [0] * 19
    assert plan.branch(Crowd.of(np.array([50_000, 0, *empty]), sd)) == "single"
    assert plan.branch(Crowd.of(np.array([50_000, 200, *empty]), sd)) == "equal"
    assert plan.branch(Crowd.of(np.array([50_000, 0, 95, *empty[1:]]), sd)) == "equal"
    assert plan.branch(Crowd.of(np.array([120, 100, 140, 150, *empty[2:]]), sd)) == "peel"


def test_weights_fit_the_engine_whatever_the_counts_are() -> None:
    for counts in ([3.0] * 100_000, [5e9], [1.0, 1e9], np.geomspace(5, 1e6, 20_000)):
        integers, unit = sizing.as_integers(1 / (0.053 * np.asarray(counts)))
        assert integers.min() >= 1
        assert integers.max() <= sizing.MAX_WEIGHT
        assert int((integers.astype(object) ** 2).sum()) <= sizing.MAX_SQUARES
        assert unit > 0


def test_candidates_grow_and_then_quieten() -> None:
    guess = np.geomspace(1e5, 20, 3000)
    candidates = Candidates.of(guess, np.argsort(-guess), 0.10, Fraction(1, 2), tuning.USERS)
    assert (np.diff(candidates.n_rows) >= 0).all()
    assert (np.diff(candidates.taus) <= 0).all()
    assert candidates.n_rows[-1] == 3000
    assert candidates.caps.shape[1] == len(candidates.clips) == len(candidates.taus)
    assert candidates.n_sized == len(candidates.taus) - tuning.N_LOWER
    for level, size in enumerate(candidates.n_rows[: candidates.n_sized]):
        assert (candidates.first_level <= level).sum() == size


def test_few_rows_may_have_far_less_noise_than_the_target_allows() -> None:
    few, many = (
        Candidates.of(np.full(n, 1000.0), np.arange(n), 0.10, Fraction(1, 2), tuning.USERS)
        for n in (tuning.FEW_ROWS, tuning.FEW_ROWS + 1)
    )
    assert few.taus[-1] < few.taus[0] / 100
    assert many.taus[-1] > many.taus[0] / 2
    for candidates in (few, many):
        assert candidates.guarded.max() < len(candidates.taus)
        assert (np.diff(candidates.guarded) > 0).all()


def test_a_second_discovery_comes_only_where_much_is_kept_and_spare() -> None:
    plan = EqualError.calibrate(Zcdp(1, "1e-6"), 0.10)
    shares, full = plan.shares, tuning.NOISE_SHARE * 0.10
    assert plan.spare(shares, 500, 500, full / 2) > shares.measure / 4
    assert plan.spare(shares, 499, 500, full / 2) == 0
    assert plan.spare(shares, 200, 200, full / 2) == 0
    assert plan.spare(shares, 500, 500, full) == 0
    top = EqualError.calibrate(Zcdp(1, "1e-6"), 0.10, top=600)
    assert top.spare(shares, 500, 500, full / 2) == 0


def test_what_a_second_discovery_takes_is_left_out_of_measuring() -> None:
    for _ in range(200):
        limit = Zcdp(random_fraction(1, 10**12), Fraction(1, 10**6))
        plan = EqualError.calibrate(limit, 0.10) if limit.rho > Fraction(1, 10**4) else None
        if plan is None:
            continue
        shares = plan.shares
        spare = plan.spare(shares, 500, 500, 0.01 + secrets.randbelow(100) / 3000)
        less = shares.less(spare + shares.choices)
        assert less.measure == shares.measure - spare - shares.choices
        assert less.measure > 0
        spent = less.profile + less.after_profile + spare + shares.choices
        assert spent == limit.rho


def test_rows_are_printed_while_the_promise_holds() -> None:
    counts, sds = np.array([1000.0, 1000.0, 1000.0, -5.0]), np.array([50.0, 52.0, 500.0, 1.0])
    rows = reading.rows_to_print(counts, sds, 0.10)
    assert sorted(rows.tolist()) == [0, 1]
    assert 0.9 < reading.expected_within(counts[rows], sds[rows], 0.10) < 1
    assert reading.expected_within(counts[:0], sds[:0], 0.10) == 1


def test_rows_that_miss_the_promise_by_little_are_better_than_none() -> None:
    counts, sds = np.full(100, 1000.0), np.full(100, 80.0)
    assert not len(reading.rows_to_print(counts, sds, 0.10))
    assert len(reading.rows_or_second_best(counts, sds, 0.10)) == 100
    assert 0.7 < reading.expected_within(counts, sds, 0.10) < 0.85
    assert not len(reading.rows_or_second_best(counts, 2 * sds, 0.10))
    assert len(reading.rows_or_second_best(counts, sds / 2, 0.10)) == 100


def test_the_choice_avoids_what_loses_and_prefers_what_is_larger() -> None:
    choice = SizeChoice.calibrate(Zcdp(1), 1.5)
    unit = 1 << UNIT_BITS
    lost = np.array([0, 0, 0, 50 * unit], np.int64)
    allowed = np.zeros(4, np.int64)
    drawn = [choice.draw(given(choice.sensitivity, lost), allowed, Drawn()) for _ in range(200)]
    assert max(drawn) == 2
    assert drawn.count(2) > drawn.count(0)
