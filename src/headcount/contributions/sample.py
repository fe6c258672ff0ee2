"""Counts of a sample of users, of which the engine hands out only those that reach a threshold.

The coin of a user and a group is the hash of a secret key, the user and the group, compared as an
integer with the rate [K2]. It is a function of its inputs, so a task that runs twice, or an engine
that differs, tosses the same; and there is a coin of its own for every group a user is in, since
one coin for two groups would show in the difference of their counts.

The sample is never a table. It exists inside one query that counts it by group and drops what is
below the threshold; its size is not asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from headcount.contributions import read
from headcount.contributions.bound import check_key
from headcount.contributions.bounded import SEAL, BoundedContributions
from headcount.contributions.group_totals import GroupTotals
from headcount.contributions.groups import TOTAL, USER, Grouped, group_rows
from headcount.contributions.keep import keep, keyed
from headcount.contributions.tally import Tally
from headcount.errors import UsageError
from headcount.privacy.bounds import Bounds
from headcount.tables import GroupBy, UserTable

COIN = "coin|"
TOSSED = "hc_coin"
COIN_BITS = 60


@dataclass(frozen=True, slots=True)
class Coins:
    """How many groups of a user take part, which hashes keep a pair, and from where on we show."""

    max_groups: int
    limit: int
    threshold: int

    def __post_init__(self) -> None:
        if not 0 < self.limit < 1 << COIN_BITS:
            raise UsageError("The share of users that is sampled must be above 0 and below 1.")
        if self.threshold < 2:
            raise UsageError("A threshold below 2 would show single users.")


def sampled_counts(
    table: UserTable,
    by: GroupBy | Sequence[GroupBy],
    coins: Coins,
    *,
    key: bytes,
    groups: Iterable[Any] | None = None,
) -> GroupTotals:
    """The groups whose sampled users reach the threshold, and how many these are.

    With one user more a group may be there, with all of the threshold.
    """
    check_key(key)
    grouped = group_rows(table, by, groups)
    most = grouped.most_groups(coins.max_groups)
    bounds = Bounds(most, most)
    pairs = kept_pairs(grouped, coins, key).select(*grouped.columns)
    true_tally = Tally(
        BoundedContributions(grouped, pairs, bounds.sensitivity(), 0, bounds, 1, SEAL)
    )
    query = true_tally.query(ordered=False)
    shown = query.filter(query[TOTAL] >= coins.threshold)
    ask = partial(read.table, table.engine, shown, true_tally.schema)
    return GroupTotals(true_tally.sensitivity.times(coins.threshold), ask)


def kept_pairs(grouped: Grouped, coins: Coins, key: bytes) -> Any:
    """The pairs of user and group whose coin fell well, as an expression that nothing has run."""
    engine = grouped.table.engine
    bounded = keep(grouped, grouped.pairs(), grouped.most_groups(coins.max_groups), key)
    pairs, message = keyed(grouped, bounded, key, COIN)
    tossed = pairs.mutate(**{TOSSED: engine.hash_order(message)})
    sampled = tossed.filter(tossed[TOSSED] < engine.hash_limit(coins.limit))
    return sampled.select(USER, *grouped.columns)
