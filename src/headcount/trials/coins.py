"""Trial of coins that the engine tosses: those for different ends fall independently.

A coin is a hash of a secret key, of what it is tossed for, and of a user. Which of their groups or
values a user keeps is chosen by such a hash too. Were two of them one, a group that was kept would
be sampled more often than the rate says, and a second sample would hold the users of the first.
Here each group has two users, and is shown when both are in it and both of their coins fall well:
how often that is, of many groups under one fresh key, is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headcount.audit.binomial import lower
from headcount.audit.blackbox import ALPHA
from headcount.audit.verdict import Finding, Tier
from headcount.contributions import sample as sample_module
from headcount.contributions.sample import COIN, COIN_BITS, Coins, sampled_counts
from headcount.contributions.sampled_values import Values
from headcount.privacy.cells import Blocks, Grid
from headcount.releases.run import new_secret
from headcount.tables import open_table
from headcount.tables.duckdb import DuckDBEngine
from headcount.trials.seam import swapped
from headcount.trials.tables import GROUP, USER
from headcount.trials.trial import Case, Effort, Trial

N = 1024
HALF = Coins(1, 1 << (COIN_BITS - 1), 2)
"""One group of a user takes part, one coin in two falls well, and two users make a group."""
Shown = npt.NDArray[np.bool_]
Swap = Callable[[], AbstractContextManager[Any]]


def law(subject: str, shown: Shown, chance: float) -> Iterator[Finding]:
    """How often it was so, held against how often it should be, from both sides."""
    k, n = int(shown.sum()), len(shown)
    for measure, hits, claimed in (
        ("share that is shown", k, chance),
        ("share that is not", n - k, 1 - chance),
    ):
        yield Finding(Tier.BLACK_BOX, subject, measure, claimed, lower(hits, n, ALPHA / 2))


def two_users_each(n_groups: int) -> pa.Table:
    """Places in pairs, and two users in both places of each pair."""
    places = np.arange(2 * n_groups)
    users = [f"{place // 2} {one}" for place in places.tolist() for one in "ab"]
    return pa.table({USER: users, GROUP: np.repeat(places, 2)})


def kept_and_tossed() -> Iterator[Finding]:
    """One of two groups is kept, and then the coin is tossed."""
    table = open_table(two_users_each(N), user=USER)
    counts = sampled_counts(table, GROUP, HALF, key=new_secret())
    shown = np.zeros(2 * N, bool)
    shown[counts.every_name().column(GROUP).to_numpy()] = True
    # The other group of a pair is not independent of the first.
    yield from law("groups of a sample, one of two kept", shown[::2], 1 / 16)


def chosen_and_tossed() -> Iterator[Finding]:
    """One of two values is chosen, and then the coin is tossed; and tossed again."""
    first, second = _looks("sampled", 1), _looks("sampled", 2)
    yield from law("values, one of two chosen", first[::2], 1 / 16)
    yield from law("values, one of two chosen, a second sample", second[::2], 1 / 16)


def tossed_twice() -> Iterator[Finding]:
    """Two samples of the same users, in the same cells."""
    key = new_secret()
    first, second = (_looks("min", number, key)[::2] for number in (1, 2))
    yield from law("values, a sample", first, 1 / 4)
    yield from law("values, two samples", first & second, 1 / 16)


def _looks(per_user: str, number: int, key: bytes | None = None) -> Shown:
    """Which cells are shown of a sample."""
    grid = Grid(Fraction(0), Fraction(1), 2 * N, whole=True)
    table = open_table(two_users_each(N), user=USER)
    values = Values(table, GROUP, per_user, grid, key or new_secret())
    shown: Shown = values.sampled(number, Blocks(2 * N), HALF).ask() > 0
    return shown


LOOKS = (kept_and_tossed, chosen_and_tossed, tossed_twice)


def _examined(
    swap: Swap, *looks: Callable[[], Iterator[Finding]]
) -> Callable[[Effort], Sequence[Finding]]:
    def examined(_effort: Effort) -> Sequence[Finding]:
        with swap():
            return [finding for look in looks for finding in look()]

    return examined


def without(words: str) -> Swap:
    """Coins without some of what tells them apart."""
    shipped = DuckDBEngine.hash_order

    def hash_order(engine: DuckDBEngine, text: Any) -> Any:
        return shipped(engine, text.re_replace(words, "|"))

    return lambda: swapped(DuckDBEngine, "hash_order", hash_order)


TRIAL = Trial(
    "coins",
    (
        Case("as shipped", _examined(nullcontext, *LOOKS), is_mutant=False),
        Case(
            "one hash to keep a group and to toss for it",
            _examined(lambda: swapped(sample_module, "COIN", ""), kept_and_tossed),
        ),
        Case(
            "one hash to choose a value and to toss for it",
            _examined(without(rf"\|{COIN[:-1]}\|[^|]*\|"), chosen_and_tossed),
        ),
        Case(
            "the number of a sample left out of its coins",
            _examined(without(r"\|\d+ "), tossed_twice),
        ),
    ),
)
