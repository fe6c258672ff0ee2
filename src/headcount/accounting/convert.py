"""Between rho and the epsilon a person is told, always to the safe side.

``epsilon_at`` is Proposition 12 of Canonne, Kamath and Steinke 2020: for every order ``a > 1``,

    epsilon = rho * a + (log(1 / delta) + (a - 1) * log(1 - 1 / a) - log(a)) / (a - 1)

is valid, so searching for the best order cannot break the claim; only the arithmetic could, and
``SLACK`` covers it: the formula is a handful of double operations on numbers far from overflow.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from headcount.errors import UsageError
from headcount.privacy.budget import Budget
from headcount.privacy.exact import exact, round_down
from headcount.privacy.spend import Zcdp

SLACK = 1e-9
RHO_UNIT = Fraction(1, 10**12)
DELTA_UNIT = Fraction(1, 10**18)


def _epsilon_of_order(order_minus_one: float, rho: float, log_inverse_delta: float) -> float:
    order = 1 + order_minus_one
    shape = order_minus_one * math.log(order_minus_one / order) - math.log(order)
    return rho * order + (log_inverse_delta + shape) / order_minus_one


def epsilon_at(rho: Fraction, delta: Fraction) -> Fraction:
    """The smallest epsilon we can state for ``rho`` at ``delta``, rounded up."""
    if rho == 0:
        return Fraction(0)
    if delta <= 0:
        raise UsageError("rho turns into a finite epsilon only at a delta greater than 0.")
    rho_up = math.nextafter(float(rho), math.inf)
    log_inverse_delta = -math.log(math.nextafter(float(delta), 0))
    # The curve falls and then rises in log(order - 1): a golden-section search finds its foot.
    golden = (math.sqrt(5) - 1) / 2
    low, high = math.log(1e-6), math.log(1e12)
    for _ in range(200):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if _epsilon_of_order(math.exp(left), rho_up, log_inverse_delta) < _epsilon_of_order(
            math.exp(right), rho_up, log_inverse_delta
        ):
            high = right
        else:
            low = left
    best = _epsilon_of_order(math.exp((low + high) / 2), rho_up, log_inverse_delta)
    return exact(max(0.0, best) * (1 + SLACK) + SLACK)


def rho_at(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho whose stated epsilon at ``delta`` is at most ``epsilon``, rounded down."""
    low, high = Fraction(0), Fraction(1)
    while epsilon_at(high, delta) <= epsilon:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_at(middle, delta) <= epsilon else (low, middle)
    return round_down(low, RHO_UNIT)


def zcdp_of(budget: Budget) -> Zcdp:
    """A budget in the ledger's currency, rounded down to whole units.

    Half of delta pays for thresholds and half for the conversion. The split is fixed when the
    budget is set: the fully adaptive filter holds for limits that do not depend on outcomes.
    """
    delta = budget.stated_delta
    half = round_down(delta / 2, DELTA_UNIT)
    if half == 0:
        raise UsageError(
            f"delta {float(delta):g} is too small; the least is 2e-18. Nothing was charged."
        )
    return Zcdp(_rho_of(budget, delta - half), half)


def spend_of(budget: Budget, limit: Zcdp, stated_delta: Fraction) -> Zcdp:
    """What a release may cost, from an account of this limit and stated delta.

    Its epsilon is meant at the account's delta. A delta that is not said is the share of the
    account's that the rho is of its rho, so two half spends are one whole one.
    """
    rho = _rho_of(budget, stated_delta - limit.delta)
    if budget.delta is not None:
        delta = round_down(budget.delta / 2, DELTA_UNIT)
    else:
        delta = round_down(limit.delta * min(Fraction(1), rho / limit.rho), DELTA_UNIT)
    return Zcdp(rho, delta)


def share_of(share: Fraction, limit: Zcdp) -> Zcdp:
    """A share of an account's whole limit, rounded down to whole units: ten tenths fit in it."""
    part = Zcdp(
        round_down(limit.rho * share, RHO_UNIT), round_down(limit.delta * share, DELTA_UNIT)
    )
    if part.rho <= 0:
        raise UsageError(
            "This share of the account's limit is too small to release anything; take a larger "
            "one. Nothing was charged."
        )
    return part


def _rho_of(budget: Budget, delta: Fraction) -> Fraction:
    if budget.epsilon is not None:
        rho = rho_at(budget.epsilon, delta)
    else:
        rho = round_down(budget.rho or Fraction(0), RHO_UNIT)
    if rho <= 0:
        raise UsageError(
            f"{budget} is too small to release anything; raise epsilon or rho. Nothing was charged."
        )
    return rho


def stated_epsilon(spend: Zcdp, delta: Fraction) -> Fraction:
    """A cost as it is told to a person: the epsilon at the stated delta, rounded up."""
    if spend.rho == 0:
        return Fraction(0)
    if spend.delta >= delta:
        raise UsageError("The stated delta must be greater than what thresholds have spent.")
    return epsilon_at(spend.rho, delta - spend.delta)


def shown(epsilon: Fraction, *, down: bool = False, up: bool = False) -> str:
    """An epsilon as a person reads it: four digits, and no crumbs below a thousandth.

    down, up:  round to one side, and show crumbs
    """
    if 0 < epsilon < Fraction(1, 1000) and not (down or up):
        return "under 0.001"
    rounding = ROUND_FLOOR if down else ROUND_CEILING if up else ROUND_HALF_EVEN
    digits = Context(prec=4, rounding=rounding)
    return f"{float(digits.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))):.4g}"


USUAL_DELTA = Fraction(1, 2 * 10**6)
"""What noise has of a delta of a millionth: thresholds have the other half."""


def too_little(what: str, least: Fraction) -> str:
    """Why nothing can be made of so small a spend, and what to write: few people think in rho."""
    needed = shown(epsilon_at(least, USUAL_DELTA), up=True)
    return (
        f"{what} at least about epsilon {needed} (rho {float(least):g}), which is more than was "
        f"given. Write spend=hc.Budget(epsilon={needed}) or more. Nothing was read and nothing was "
        "charged."
    )
