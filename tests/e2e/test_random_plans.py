"""A thousand plans of counts within a target: what the ledger holds is the sum of the stages."""

from __future__ import annotations

import os
import secrets
import uuid
from fractions import Fraction
from pathlib import Path

import headcount as hc
from headcount.accounting.compose import total
from headcount.accounting.filter import Filter
from headcount.ledger.account import from_units, units_up
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.equal_error.reading import Shares
from headcount.privacy.spend import Zcdp
from headcount.releases.plan import Plan
from headcount.trials.door import released

N_PLANS = 1000 if os.environ.get("HEADCOUNT_LONG") == "1" else 400
EVERY = 200  # of which so many are released, and the filter of the release is read


def random_spend() -> Fraction:
    return Fraction(1 + secrets.randbelow(10**6), 10**8)


def test_the_charge_is_the_sum_of_the_stages(demo_file: Path, tmp_path: Path) -> None:
    budget = hc.Budget(rho=1000, delta=0.5)
    data = hc.open(demo_file, user="user_id", budget=budget, ledger=tmp_path / "ledger.db")
    filters: list[Filter] = []

    class Watched(Drawn):
        def filter(self, limit: Zcdp) -> Filter:
            filters.append(Filter(limit))
            return filters[-1]

    expected = []
    for number in range(N_PLANS):
        rho = random_spend() + Fraction(1, 10**5)
        within = 0.02 + secrets.randbelow(40) / 100
        spend = hc.Budget(rho=rho, delta="1e-6")
        plan = data.count_users(by="page", within=within, spend=spend)
        shares = Shares.of(plan.spend)
        assert shares.profile + shares.after_profile == plan.spend.rho <= rho
        expected.append(from_units(*units_up(plan.spend)))
        if number % EVERY == 0:
            released(plan, Watched(), fresh=True)
            assert filters[-1].spent <= plan.spend, "stages spend no more than they were charged"
            assert filters[-1].spent.rho > plan.spend.rho / 100
        else:
            charge(plan)
    assert [entry.spend for entry in data.ledger.entries(data.account_name)] == expected
    assert data.account.spent == total(expected)
    assert len(filters) == N_PLANS // EVERY


def charge(plan: Plan) -> None:
    """The first step of the door, without the others."""
    plan.ledger.charge(
        plan.opening,
        key=uuid.uuid4().hex,
        fresh=True,
        request_hash=plan.work.request.hash,
        verb=plan.work.request.verb,
        event=plan.work.event,
        neighbours=plan.work.neighbours,
    )
