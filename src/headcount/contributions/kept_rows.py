"""Bound what one user gives to counts of rows by keeping some of their rows, chosen by a hash.

A user with more than ``max_rows`` rows keeps that many, drawn without replacement: the number kept
in each group is multivariate hypergeometric. Rows of one user in one group are alike, so they are
numbered, and a row is the text of user, group and number [S1].
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from headcount.contributions.bound import check_key
from headcount.contributions.bounded import SEAL, VALUE, BoundedContributions
from headcount.contributions.clip import N_ROWS
from headcount.contributions.groups import USER, Grouped, group_rows
from headcount.contributions.keep import kept_of_heavy
from headcount.errors import UsageError
from headcount.privacy.sensitivity import Sensitivity
from headcount.tables import GroupBy, UserTable
from headcount.tables.engine import cast_always

NUMBER = "hc_number"
MAX_ROWS_LIMIT = 1 << 20


def rows_of_pairs(grouped: Grouped) -> Any:
    """One row per user and group, with the number of rows there."""
    rows = grouped.rows
    return rows.group_by([USER, *grouped.columns]).agg(**{N_ROWS: rows.count()})


def sample_rows(
    table: UserTable,
    by: GroupBy | Sequence[GroupBy],
    max_rows: int,
    *,
    key: bytes,
    counted: Any = None,
) -> BoundedContributions:
    """Each user's rows, or ``max_rows`` of them; groups none of whose rows is kept are not there.

    Only users with more rows than that are looked at row by row.

    counted:  what ``rows_of_pairs`` gave, where it was kept
    """
    import ibis

    check_key(key)
    if not 1 <= max_rows <= MAX_ROWS_LIMIT:
        raise UsageError(f"max_rows must be 1 to {MAX_ROWS_LIMIT}, not {max_rows}.")
    grouped = group_rows(table, by)
    pair = [USER, *grouped.columns]
    counted = rows_of_pairs(grouped) if counted is None else counted
    per_user = counted.group_by(USER).agg(**{N_ROWS: cast_always(counted[N_ROWS].sum(), "int64")})
    heavy_users = per_user.filter(per_user[N_ROWS] > max_rows)
    light = counted.anti_join(heavy_users, USER)

    theirs = grouped.rows.semi_join(heavy_users, USER)
    # The order within a pair does not matter: whatever it is, the same numbers are given.
    window = ibis.window(group_by=[theirs[name] for name in pair], order_by=theirs[USER])
    numbered = theirs.mutate(**{NUMBER: cast_always(ibis.row_number().over(window), "int64")})
    kept: Any = kept_of_heavy(grouped, numbered, heavy_users, max_rows, key, NUMBER)
    heavy = kept.group_by(pair).agg(**{VALUE: kept.count()})
    columns = list(grouped.columns)
    expr = light.select(*columns, **{VALUE: light[N_ROWS]}).union(heavy.select(*columns, VALUE))
    most = Fraction(max_rows)
    sensitivity = Sensitivity(l0=max_rows, l1=most, l2_squared=most**2, linf=most)
    return BoundedContributions(grouped, expr, sensitivity, 0, seal=SEAL)
