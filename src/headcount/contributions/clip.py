"""Bound what one user gives to counts of rows: per group, or in l2.

A user's value in a group is the number of their rows in it, at most ``max_rows``, in at most
``max_groups`` groups chosen as for users [K1]. Values above a norm are scaled down to the lattice
of ``2**-lattice_bits``, rounded toward zero, so the bound holds for the integers that are summed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from headcount.contributions.bound import check_key
from headcount.contributions.bounded import SEAL, VALUE, BoundedContributions
from headcount.contributions.groups import USER, Grouped, group_rows
from headcount.contributions.keep import keep
from headcount.errors import UsageError
from headcount.privacy.sensitivity import Sensitivity
from headcount.tables import GroupBy, UserTable
from headcount.tables.engine import cast_always, double

N_ROWS = "hc_n_rows"
NORM = "hc_norm"
MAX_VALUE_BITS = 31
MAX_NORM_BITS = 52
MARGIN = 1 << 49


@dataclass(frozen=True, slots=True)
class Limits:
    """What holds before any norm: rows per group and groups per user."""

    max_rows: int
    max_groups: int
    lattice_bits: int = 0

    def __post_init__(self) -> None:
        for name in ("max_rows", "max_groups"):
            if not 1 <= getattr(self, name) <= 1 << 20:
                raise UsageError(f"{name} must be 1 to {1 << 20}, not {getattr(self, name)}.")
        if not 0 <= self.lattice_bits <= 20:
            raise UsageError(f"lattice_bits must be 0 to 20, not {self.lattice_bits}.")


def clip_rows(
    table: UserTable,
    by: GroupBy | Sequence[GroupBy],
    limits: Limits,
    *,
    key: bytes,
    groups: Iterable[Any] | None = None,
) -> BoundedContributions:
    """Each value is at most ``max_rows`` [C1]."""
    grouped = group_rows(table, by, groups)
    values = rows_per_group(grouped, limits, key)
    scale = 1 << limits.lattice_bits
    expr = values.select(*grouped.columns, **{VALUE: values[N_ROWS] * scale})
    l0 = grouped.most_groups(limits.max_groups)
    most = limits.max_rows * scale
    return _made(grouped, expr, limits, l0=l0, l1=l0 * most, l2_squared=l0 * most**2, linf=most)


def clip_l2(
    table: UserTable,
    by: GroupBy | Sequence[GroupBy],
    limits: Limits,
    *,
    max_l2_squared: int,
    key: bytes,
    groups: Iterable[Any] | None = None,
    counted: Any = None,
) -> BoundedContributions:
    """The squares of one user's values add up to at most ``max_l2_squared`` [C2].

    counted:  what ``rows_per_group`` gave with these limits and this key, where it was kept
    """
    import ibis

    grouped = group_rows(table, by, groups)
    l0, largest = grouped.most_groups(limits.max_groups), limits.max_rows
    scale = 1 << limits.lattice_bits
    _check_bits("max_rows", largest, (l0 * largest**2).bit_length(), MAX_NORM_BITS)
    linf = min(largest * scale, math.isqrt(max_l2_squared * scale**2))
    _check_bits("max_l2_squared", max_l2_squared, linf.bit_length(), MAX_VALUE_BITS)
    values = rows_per_group(grouped, limits, key) if counted is None else counted
    value = values[N_ROWS]
    norms = values.group_by(USER).agg(**{NORM: cast_always((value * value).sum(), "int64")})
    joined = values.left_join(norms.filter(norms[NORM] > max_l2_squared), USER)
    # 1 - 2**-49 from two integers, since engines may read a long decimal differently.
    margin = double(MARGIN - 1) / double(MARGIN)
    ratio = (double(max_l2_squared) / joined[NORM].cast("float64")).sqrt()
    shrunk = joined[N_ROWS].cast("float64") * ratio * double(scale) * margin
    # Users within the norm have none beside them.
    whole = (joined[NORM].isnull(), joined[N_ROWS] * scale)
    either = ibis.cases(whole, else_=shrunk.floor().cast("int64"))
    expr = joined.select(*(joined[column] for column in grouped.columns), **{VALUE: either})
    squared = min(max_l2_squared * scale**2, l0 * linf**2)
    l1 = min(l0 * linf, math.isqrt(l0 * squared))
    return _made(grouped, expr, limits, l0=l0, l1=l1, l2_squared=squared, linf=linf)


def rows_per_group(grouped: Grouped, limits: Limits, key: bytes) -> Any:
    """One row per user and kept group, with the number of rows there, both limits applied."""
    import ibis

    check_key(key)
    rows = grouped.rows
    counted = rows.group_by([USER, *grouped.columns]).agg(
        **{N_ROWS: ibis.least(rows.count(), ibis.literal(limits.max_rows, "int64"))}
    )
    return keep(grouped, counted, grouped.most_groups(limits.max_groups), key)


def _check_bits(name: str, value: int, bits: int, most: int) -> None:
    if value < 1:
        raise UsageError(f"{name} must be at least 1, not {value}.")
    if bits > most:
        raise UsageError(
            f"{name} = {value} with these limits needs {bits}-bit numbers; at most {most} bits "
            "can be summed without overflow. Lower it, max_rows or lattice_bits."
        )


def _made(
    grouped: Grouped, expr: Any, limits: Limits, *, l0: int, l1: int, l2_squared: int, linf: int
) -> BoundedContributions:
    _check_bits("max_rows", limits.max_rows, linf.bit_length(), MAX_VALUE_BITS)
    sensitivity = Sensitivity(l0, Fraction(l1), Fraction(l2_squared), Fraction(linf))
    return BoundedContributions(grouped, expr, sensitivity, limits.lattice_bits, seal=SEAL)
