"""What the engine answers about users' events, beside the same worked out by hand."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from functools import cache

import pyarrow as pa
import pytest

from headcount.contributions.bounded import BoundedContributions
from headcount.contributions.events import Events, most_rows, users_of
from headcount.contributions.store import Store
from headcount.contributions.tally import Tally
from headcount.mechanisms.clip_choice import candidates, ratio_cap
from headcount.privacy.bounds import Bounds
from headcount.privacy.length import Length, Norm
from headcount.tables import open_table

GROUPS = ["a", "b", "c", "d", "none is in it"]
BITS = 20


def rows() -> list[tuple[int, str]]:
    chooser = random.Random(3)
    made = []
    for user in range(60):
        for _ in range(int(chooser.paretovariate(0.7))):
            made.append((user, chooser.choice("abcde")))
    return made


ROWS = rows()
TABLE = pa.table({"user": [u for u, _ in ROWS], "item": [g for _, g in ROWS]})


@cache
def by_hand() -> dict[int, dict[str, int]]:
    users: dict[int, dict[str, int]] = {}
    for (user, group), n in Counter(ROWS).items():
        if group in GROUPS:
            users.setdefault(user, {})[group] = n
    return users


def measure(values: dict[str, int], norm: Norm) -> int:
    """The norm, squared for l2."""
    return sum(n if norm is Norm.L1 else n * n for n in values.values())


def above(values: dict[str, int], length: Length) -> bool:
    bound = length.value if length.norm is Norm.L1 else length.value**2
    return measure(values, length.norm) > bound


def totals_of(contributions: BoundedContributions) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in Tally(contributions).parts():
        (names,) = part.every_name().columns
        found |= dict(zip(names.to_pylist(), part.query.ask().tolist(), strict=True))
    return found


@pytest.mark.parametrize("norm", list(Norm))
def test_the_curve_is_exact(norm: Norm) -> None:
    cap = ratio_cap(norm, len(GROUPS))
    table = open_table(TABLE, user="user")
    with Store(table.engine) as store:
        curve = Events(table, "item", GROUPS, store).weight_curve(candidates(norm), cap, BITS)
        got = curve.ask()
    ratios = {}
    for user, values in by_hand().items():
        ratio = math.floor(sum(values.values()) / math.sqrt(measure(values, Norm.L2)) * 2**BITS)
        ratios[user] = min(cap, 1 << BITS if norm is Norm.L1 else ratio)
    want = [sum(ratios.values())]
    for length in candidates(norm):
        want.append(sum(r for u, r in ratios.items() if above(by_hand()[u], length)))
    assert got.tolist() == want


@pytest.mark.parametrize("bound", [1, Fraction(21, 20), 2, 7.3, 40, 3000])
@pytest.mark.parametrize("norm", list(Norm))
def test_clipped_totals(norm: Norm, bound: float) -> None:
    length = Length.of(norm, bound)
    table = open_table(TABLE, user="user")
    with Store(table.engine) as store:
        events = Events(table, "item", GROUPS, store)
        got = totals_of(events.clipped(length))
        (off,) = events.clipped_off(length, 10.0, 1 << 20).ask()
    want, lost = dict.fromkeys(GROUPS, 0.0), 0.0
    for values in by_hand().values():
        size = measure(values, norm)
        root = float(size) if norm is Norm.L1 else math.sqrt(size)
        share = min(1.0, float(length.value) / root)
        for group, n in values.items():
            want[group] += n * share * 2**length.bits
        lost += math.floor(min(1.0, sum(values.values()) * (1 - share) / 10) * (1 << 20))
    assert set(got) == set(want)
    for group, total in got.items():
        assert want[group] - 61 <= total <= want[group] + 1e-3, group
    assert off == pytest.approx(lost, abs=61)
    if bound == 3000:
        whole = Counter(g for _, g in ROWS if g in GROUPS)
        assert got == {g: whole[g] << length.bits for g in GROUPS}


def test_users_far_beyond_the_bound_share_one_unit() -> None:
    edges, bounds = (2, 5), Bounds(len(GROUPS), 1, BITS)
    table = open_table(TABLE, user="user")
    with Store(table.engine) as store:
        got = Events(table, "item", GROUPS, store).far_beyond(edges, bounds).ask()
    want = [0] * (2 * len(GROUPS))
    for values in by_hand().values():
        far = {group: n for group, n in values.items() if n >= 2}
        for group, n in far.items():
            want[2 * GROUPS.index(group) + (n >= 5)] += math.isqrt(4**BITS // len(far))
    assert got.tolist() == want
    assert sum(got > 0) > 6


def test_norms_cannot_overflow() -> None:
    for n_groups in (1, 7, 1000, 1 << 20):
        most = most_rows(n_groups)
        assert n_groups * most**2 < 1 << 62
        assert n_groups * most < 1 << 53


def test_rows_beyond_what_is_looked_at_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headcount.contributions.events.MAX_ROWS", 4)
    table = open_table(TABLE, user="user")
    with Store(table.engine) as store:
        events = Events(table, "item", GROUPS, store)
        totals = totals_of(events.clipped(Length.of(Norm.L1, 1 << 20)))
    capped = sum(min(3, n) for values in by_hand().values() for n in values.values())
    assert sum(totals.values()) == capped << Length.of(Norm.L1, 1 << 20).bits


def test_users_are_counted_once() -> None:
    for table, n_users in ((TABLE, len({u for u, _ in ROWS})), (TABLE.slice(0, 0), 0)):
        assert users_of(open_table(table, user="user")).ask().tolist() == [n_users]


def test_an_empty_table_has_answers() -> None:
    table = open_table(TABLE.slice(0, 0), user="user")
    with Store(table.engine) as store:
        events = Events(table, "item", GROUPS, store)
        assert not events.weight_curve(candidates(Norm.L2), 1 << 20, 20).ask().any()
        assert events.clipped_off(Length.of(Norm.L2, 1), 1.0, 1 << 20).ask().tolist() == [0]
        totals = totals_of(events.clipped(Length.of(Norm.L2, 1)))
    assert list(totals.values()) == [0] * 5
