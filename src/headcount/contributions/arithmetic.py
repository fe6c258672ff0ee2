"""Roundings that are exact on every engine: a double gets near, integers decide."""

from __future__ import annotations

from typing import Any

from headcount.privacy.bounds import Bounds
from headcount.tables.engine import double


def exact_weight(n_groups: Any, bounds: Bounds) -> Any:
    """``floor(scale * sqrt(full_groups / m))`` in the engine, exactly [B1].

    The double is within one of the true floor; two integer comparisons settle which it is. The
    limits on :class:`Bounds` keep every product below 2**62.
    """
    m = n_groups.cast("int64")
    ratio = double(bounds.full_groups) / m.cast("float64")
    near = (ratio.sqrt() * double(bounds.scale)).floor().cast("int64")
    most = bounds.full_groups * bounds.scale**2
    return near - one_if(near * near * m > most) + one_if((near + 1) * (near + 1) * m <= most)


def floor_ratio(numerator: Any, denominator: Any) -> Any:
    """``floor(n / d)`` of integers, exactly; engines disagree on what ``//`` of integers is.

    With a quotient below 2**31 the double is within one of it, and products stay below 2**62.
    """
    near = (numerator.cast("float64") / denominator.cast("float64")).floor().cast("int64")
    too_high = near * denominator > numerator
    too_low = (near + 1) * denominator <= numerator
    return near - one_if(too_high) + one_if(too_low)


def one_if(condition: Any) -> Any:
    """1 where the condition holds, else 0, as 64-bit integers."""
    import ibis

    return ibis.cases((condition, ibis.literal(1, "int64")), else_=ibis.literal(0, "int64"))
