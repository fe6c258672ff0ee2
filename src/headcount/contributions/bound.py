"""Bound what one user gives to counts of users: few groups, or many with less weight in each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from headcount.contributions.arithmetic import exact_weight
from headcount.contributions.bounded import SEAL, VALUE, BoundedContributions
from headcount.contributions.groups import USER, group_rows
from headcount.contributions.keep import N_GROUPS, groups_per_user, keep, kept_of_heavy
from headcount.contributions.store import Store
from headcount.errors import UsageError
from headcount.privacy.bounds import Bounds
from headcount.tables import GroupBy, UserTable

MIN_KEY_BYTES = 16


def bound(
    table: UserTable,
    by: GroupBy | Sequence[GroupBy],
    bounds: Bounds,
    *,
    key: bytes,
    groups: Iterable[Any] | None = None,
) -> BoundedContributions:
    """One row per user and kept group, worth ``bounds.weight(m)`` for a user with ``m`` of them.

    Users within both bounds pass through untouched; users above ``max_groups`` keep that many,
    chosen by a hash under ``key`` [K1]; users above ``full_groups`` count less in each [B1]. The
    sensitivity is that of the bounds [B2].
    """
    check_key(key)
    grouped = group_rows(table, by, groups)
    bounds = replace(bounds, max_groups=grouped.most_groups(bounds.max_groups))
    pairs = grouped.pairs()
    if bounds.full_groups >= bounds.max_groups:
        expr = keep(grouped, pairs, bounds.max_groups, key)
        constant = bounds.scale
    else:
        expr = _weighted(grouped, pairs, bounds, key)
        constant = None
    return BoundedContributions(
        grouped, expr, bounds.sensitivity(), bounds.lattice_bits, bounds, constant, SEAL
    )


def check_key(key: bytes) -> None:
    """A key that could be guessed would tell which groups of a user were kept."""
    if len(key) < MIN_KEY_BYTES:
        raise UsageError(f"The key must be at least {MIN_KEY_BYTES} secret bytes.")


def bound_each_window(
    table: UserTable,
    by: GroupBy | Sequence[GroupBy],
    bounds: Bounds,
    store: Store,
    *,
    key: bytes,
    groups: Iterable[Any] | None = None,
) -> BoundedContributions:
    """Distinct users over several windows: each window bounded, of a user the largest weight.

    Pairs are kept: what says which window a row is in is long, and asked once.

    The sensitivity is that of a user within one window [WN4]; somebody in all of them moves the
    squared norm by so many times as much.
    """
    check_key(key)
    grouped = group_rows(table, by, groups, each_window=True)
    bounds = replace(bounds, max_groups=grouped.most_groups(bounds.max_groups))
    pairs = store.keep(grouped.pairs())
    one = [USER, *grouped.columns]
    if bounds.full_groups >= bounds.max_groups:
        expr = keep(grouped, pairs, bounds.max_groups, key).group_by(one).agg()
        constant = bounds.scale
    else:
        weighted = _weighted(grouped, pairs, bounds, key, also=(USER,))
        expr = weighted.group_by(one).agg(**{VALUE: weighted[VALUE].max()})
        constant = None
    return BoundedContributions(
        grouped, expr, bounds.sensitivity(), bounds.lattice_bits, bounds, constant, SEAL
    )


def _weighted(
    grouped: Any, pairs: Any, bounds: Bounds, key: bytes, also: tuple[str, ...] = ()
) -> Any:
    """Join weights to the few users that have less than full weight; the rest match nothing."""
    import ibis

    per_user = groups_per_user(pairs, grouped.unit)
    many = per_user.filter(per_user[N_GROUPS] > bounds.full_groups)
    many = many.mutate(**{VALUE: exact_weight(many[N_GROUPS], bounds)})
    joined = pairs.left_join(many, list(grouped.unit))
    exceed = grouped.can_exceed(bounds.max_groups)
    if exceed:
        n_groups = joined[N_GROUPS]
        joined = joined.filter(n_groups.isnull() | (n_groups <= bounds.max_groups))
    columns = [joined[column] for column in (*also, *grouped.columns)]
    light = joined.select(*columns, **{VALUE: joined[VALUE].fill_null(bounds.scale)})
    if not exceed:
        return light
    heavy_users = many.filter(many[N_GROUPS] > bounds.max_groups)
    heavy = kept_of_heavy(grouped, pairs, heavy_users, bounds.max_groups, key)
    weight = ibis.literal(bounds.weight(bounds.max_groups), "int64")
    return light.union(heavy.select(*also, *grouped.columns, **{VALUE: weight}))
