"""From a sensitivity and a spend to the amount of noise, rounded to the safe side."""

from __future__ import annotations

import math
from fractions import Fraction

from headcount.accounting.laplace import laplace_cost
from headcount.errors import UsageError
from headcount.privacy.exact import sqrt_bracket
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp

# Scales are rounded up to this many significant bits, so noise tables have short parameters.
SIGNIFICANT_BITS = 24
EPSILON_BITS = 40


def round_scale_up(value: Fraction) -> Fraction:
    """The smallest number of ``SIGNIFICANT_BITS`` bits that is at least ``value``."""
    unit = _unit(value)
    return math.ceil(value / unit) * unit


def _unit(value: Fraction) -> Fraction:
    """What the last of its significant bits is worth."""
    exponent = (
        math.floor(value).bit_length() if value >= 1 else -(math.floor(1 / value)).bit_length()
    )
    return Fraction(2) ** (exponent - SIGNIFICANT_BITS)


def selection_epsilon(rho: Fraction) -> Fraction:
    """The largest epsilon, nearly, at which a choice of bounded range costs at most ``rho``."""
    return _root_down(8 * rho, "A choice")


def _root_down(value: Fraction, what: str) -> Fraction:
    root = sqrt_bracket(value, EPSILON_BITS)[0] if value > 0 else 0
    if root == 0:
        raise UsageError(f"{what} needs a rho greater than 0. Nothing was charged.")
    return Fraction(root, 1 << EPSILON_BITS)


def gaussian_sigma_squared(sensitivity: Sensitivity, spend: Zcdp) -> Fraction:
    """The variance at which discrete Gaussian noise costs at most ``spend.rho``."""
    if spend.rho <= 0:
        raise UsageError("Gaussian noise needs a rho greater than 0.")
    return round_scale_up(sensitivity.l2_squared / (2 * spend.rho))


def laplace_scale(l1: Fraction, rho: Fraction) -> Fraction:
    """The least scale, nearly, at which discrete Laplace noise costs at most ``rho``."""
    enough = l1 / _root_down(2 * rho, "Laplace noise")
    unit = _unit(enough)
    # Beyond an epsilon of rho + 1 it costs more than rho: see laplace.md.
    low, high = math.floor(l1 / (rho + 1) / unit), math.ceil(enough / unit)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if laplace_cost(l1, middle * unit) <= rho else (middle, high)
    return high * unit
