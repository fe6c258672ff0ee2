"""From a sensitivity and a spend to the amount of noise, rounded to the safe side."""

from __future__ import annotations

import math
from fractions import Fraction

from headcount.errors import UsageError
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Pure, Zcdp

# Scales are rounded up to this many significant bits, so noise tables have short parameters.
SIGNIFICANT_BITS = 24


def round_scale_up(value: Fraction) -> Fraction:
    """The smallest number of ``SIGNIFICANT_BITS`` bits that is at least ``value``."""
    exponent = (
        math.floor(value).bit_length() if value >= 1 else -(math.floor(1 / value)).bit_length()
    )
    unit = Fraction(2) ** (exponent - SIGNIFICANT_BITS)
    return math.ceil(value / unit) * unit


def gaussian_sigma_squared(sensitivity: Sensitivity, spend: Zcdp) -> Fraction:
    """The variance at which discrete Gaussian noise costs at most ``spend.rho``."""
    if spend.rho <= 0:
        raise UsageError("Gaussian noise needs a rho greater than 0.")
    return round_scale_up(sensitivity.l2_squared / (2 * spend.rho))


def laplace_scale(sensitivity: Sensitivity, spend: Pure) -> Fraction:
    """The scale at which discrete Laplace noise costs at most ``spend.epsilon``."""
    return round_scale_up(sensitivity.l1 / spend.epsilon)
