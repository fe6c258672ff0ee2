"""The engine's answers for the equal-error release, against the same numbers made in Python."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest

from headcount.contributions.equal_error.known import KnownPairs
from headcount.contributions.equal_error.levels import Levels
from headcount.contributions.pairs import Pairs
from headcount.contributions.store import Store
from headcount.privacy.bounds import Bounds
from headcount.privacy.query import Query
from headcount.tables import open_table

BOUNDS = Bounds(1 << 20, 1, 20)
KEY = bytes(32)
N_GROUPS = 30


def everything(query: Query[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    true_totals = query.ask()
    return np.arange(len(true_totals)), true_totals


def some_pairs(n_users: int = 60) -> list[tuple[int, int]]:
    chooser = random.Random(5)
    pairs = []
    for user in range(n_users):
        n = min(N_GROUPS, 1 + int(chooser.paretovariate(0.7)))
        pairs += [(user, group) for group in chooser.sample(range(N_GROUPS), n)]
    return pairs


@dataclass
class Opened:
    pairs: Pairs
    known: KnownPairs
    rows: list[tuple[int, int]]
    groups_of: dict[int, list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.groups_of = {}
        for user, group in self.rows:
            self.groups_of.setdefault(user, []).append(group)


def opened(rows: list[tuple[int, int]], store_of: list[Store]) -> Opened:
    twice = rows + rows[::2]
    table = pa.table(
        {"u": [u for u, _ in twice], "g": [f"g{g:02d}" for _, g in twice]},
    )
    source = open_table(table, user="u")
    store = Store(source.engine)
    store_of.append(store)
    pairs = Pairs(source, "g", store, key=KEY)
    assert len(pairs.discover(BOUNDS, everything)) == N_GROUPS
    return Opened(pairs, pairs.known(np.arange(N_GROUPS)), rows)


@pytest.fixture(scope="module")
def data() -> Iterator[Opened]:
    stores: list[Store] = []
    yield opened(some_pairs(), stores)
    stores[0].__exit__()


@pytest.fixture(scope="module")
def without_last() -> Iterator[Opened]:
    """The neighbour: the same table without user 0, who is replaced by one in every group."""
    stores: list[Store] = []
    rows = [(u, g) for u, g in some_pairs() if u != 0]
    yield opened(rows + [(999, g) for g in range(N_GROUPS)], stores)
    stores[0].__exit__()


@pytest.fixture(scope="module")
def neighbour() -> Iterator[Opened]:
    stores: list[Store] = []
    yield opened([(u, g) for u, g in some_pairs() if u != 0], stores)
    stores[0].__exit__()


def test_a_user_is_in_one_cell(data: Opened) -> None:
    true_users = data.pairs.users_per_cell().ask()
    expected = np.zeros(len(true_users), np.int64)
    for groups in data.groups_of.values():
        expected[math.ceil(math.log2(len(groups)))] += 1
    assert true_users.tolist() == expected.tolist()


def test_weights_are_one_over_the_root_rounded_down(data: Opened) -> None:
    true_totals = data.pairs.discover(BOUNDS, everything)
    expected = [0] * N_GROUPS
    for groups in data.groups_of.values():
        for group in groups:
            expected[group] += math.isqrt(2**40 // len(groups))
    assert true_totals.tolist() == expected


def test_users_above_the_most_groups_keep_that_many(data: Opened) -> None:
    bounds = Bounds(4, 1, 20)
    true_totals = data.pairs.discover(bounds, everything)
    expected = 0
    for groups in data.groups_of.values():
        m = min(4, len(groups))
        expected += m * math.isqrt(2**40 // m)
    assert true_totals.sum() == expected
    data.pairs.discover(BOUNDS, everything)


def test_the_largest_others_are_those_of_groups_that_are_not_public(data: Opened) -> None:
    data.pairs.discover(BOUNDS, everything)
    every_name = data.pairs.groups
    users = [sum(group in mine for mine in data.groups_of.values()) for group in range(N_GROUPS)]
    data.pairs.groups = every_name.slice(0, 12)
    largest = data.pairs.largest_others(25).ask()
    assert largest.tolist() == [*sorted(users[12:], reverse=True), *[0] * 7]
    assert data.pairs.count_of_other(3).ask().tolist() == [largest[3]]
    data.pairs.take_in_largest([0, 3])
    names = data.pairs.groups.column(0).to_pylist()
    assert names[:12] == every_name.column(0).to_pylist()[:12]
    assert [users[int(name[1:])] for name in names[12:]] == [largest[0], largest[3]]
    assert data.pairs.largest_others(1).ask().tolist() == [largest[1]]
    data.pairs.groups = every_name


def test_others_are_the_groups_that_are_not_public(data: Opened) -> None:
    """A user's weight is over the groups that are left; one with none left is nowhere."""
    data.pairs.discover(BOUNDS, everything)
    every_name = data.pairs.groups
    data.pairs.groups = every_name.slice(0, 20)
    others = data.pairs.others()
    true_totals = others.discover(BOUNDS, everything)
    expected: dict[str, int] = {}
    for groups in data.groups_of.values():
        left = [group for group in groups if group >= 20]
        for group in left:
            name = f"g{group:02d}"
            expected[name] = expected.get(name, 0) + math.isqrt(2**40 // len(left))
    names = others.groups.column(0).to_pylist()
    assert dict(zip(names, true_totals.tolist(), strict=True)) == expected
    data.pairs.take_in(others)
    assert data.pairs.groups.column(0).to_pylist()[:20] == every_name.column(0).to_pylist()[:20]
    assert data.pairs.groups.num_rows == 20 + len(expected)
    data.pairs.groups = every_name
    assert len(data.pairs.others().discover(BOUNDS, everything)) == 0


def test_largest_counts_come_first(data: Opened) -> None:
    counts = data.pairs.largest(5).ask()
    all_counts = np.bincount([g for _, g in data.rows])
    assert counts.tolist() == sorted(all_counts.tolist(), reverse=True)[:5]
    data.pairs.discover(BOUNDS, everything)


CLASSES = np.arange(N_GROUPS) * 3 // N_GROUPS
VALUES = np.arange(1, N_GROUPS + 1) * 1000


def class_vectors(data: Opened) -> dict[int, np.ndarray]:
    return {
        user: np.bincount(CLASSES[groups], VALUES[groups], minlength=3)
        for user, groups in data.groups_of.items()
    }


@pytest.mark.parametrize("norm", [5_000, 20_000, 1 << 28])
def test_class_totals_are_clipped_sums(data: Opened, norm: int) -> None:
    true_sums = data.known.class_totals(VALUES, CLASSES, norm).ask()
    expected = np.zeros(3)
    for vector in class_vectors(data).values():
        expected += vector * min(1, norm / np.linalg.norm(vector))
    assert (true_sums <= expected).all()
    assert (true_sums > expected - len(data.groups_of) - 1e-6 * norm).all()


@pytest.mark.parametrize("norm", [5_000, 20_000])
def test_one_user_moves_class_totals_by_the_norm_at_most(
    data: Opened, neighbour: Opened, norm: int
) -> None:
    more = data.known.class_totals(VALUES, CLASSES, norm)
    less = neighbour.known.class_totals(VALUES, CLASSES, norm)
    assert more.sensitivity == less.sensitivity
    assert ((more.ask() - less.ask()) ** 2).sum() <= norm**2 == more.sensitivity.l2_squared


WEIGHTS = np.arange(N_GROUPS, 0, -1) * 50
INDEX = np.arange(N_GROUPS - 4)
EDGES = tuple(2.0 ** (power / 2) for power in range(-8, 8))


@pytest.mark.parametrize("clip", [2_000**2, 4_000**2, 1 << 62])
def test_weighted_totals_are_clipped_sums(data: Opened, clip: int) -> None:
    true_totals = data.known.clipped(INDEX, WEIGHTS[INDEX], clip).totals(7).ask()
    expected = np.zeros(N_GROUPS)
    for groups in data.groups_of.values():
        mine = [g for g in groups if g in INDEX]
        square = sum(int(WEIGHTS[g]) ** 2 for g in mine)
        for group in mine:
            exact = WEIGHTS[group] * 128
            expected[group] += exact if square <= clip else exact * math.sqrt(clip / square)
    assert (true_totals <= expected[INDEX] + 1e-6).all()
    assert (true_totals > expected[INDEX] - len(data.groups_of)).all()


@pytest.mark.parametrize("clip", [1_000**2, 2_000**2])
def test_one_user_moves_weighted_totals_by_the_clip_at_most(
    neighbour: Opened, without_last: Opened, clip: int
) -> None:
    less = neighbour.known.clipped(INDEX, WEIGHTS[INDEX], clip).totals(7)
    more = without_last.known.clipped(INDEX, WEIGHTS[INDEX], clip).totals(7)
    assert more.sensitivity == less.sensitivity
    assert more.sensitivity.l2_squared == clip * 4**7
    moved = more.ask() - less.ask()
    assert moved.min() >= 0
    assert (moved**2).sum() <= clip * 4**7
    assert (moved**2).sum() > 0.99 * clip * 4**7


def test_weights_that_could_overflow_are_refused(data: Opened) -> None:
    with pytest.raises(ValueError, match="overflow"):
        data.known.clipped(INDEX, np.full(len(INDEX), 1 << 31), 1)


SIZES = np.array([3, 8, 15, 30])
CLIPS = (3_200**2, 3_100**2, 3_000**2, 2_900**2, 2_500**2, 1_000**2)
LOST_VALUES = np.arange(N_GROUPS, 0, -1) * 40
CAPS = np.array([[500, 900, 2_000, 4_000, 4_000, 4_000], [5_000] * 6])


def levels(opened: Opened) -> list[int]:
    lost = opened.known.clipped_share(
        weights=WEIGHTS,
        values=LOST_VALUES,
        first_level=np.searchsorted(SIZES, np.arange(N_GROUPS) + 1),
        clips=CLIPS,
        caps=CAPS,
        unit_bits=20,
    )
    return [int(value) for query in lost for value in query.ask()]


def test_lost_values_are_those_of_every_candidate(data: Opened) -> None:
    expected = []
    candidates = list(zip([*SIZES, N_GROUPS, N_GROUPS], CLIPS, strict=True))
    for (size, clip), cap in zip(candidates * 2, CAPS.ravel(), strict=True):
        total = 0
        for groups in data.groups_of.values():
            mine = [g for g in groups if g < size]
            square = sum(int(WEIGHTS[g]) ** 2 for g in mine)
            if square > clip:
                lost = LOST_VALUES[mine].sum() * (1 - math.sqrt(clip / square)) / cap
                total += math.floor(min(1.0, lost) * 2**20)
        expected.append(total)
    got = levels(data)
    assert all(abs(a - b) <= len(data.groups_of) for a, b in zip(got, expected, strict=True))
    assert got[0] < got[3] < got[5]
    assert got[6 + 3] < got[3]


def test_a_candidate_is_not_held_to_another_ones_clip(
    data: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is above the least clip but not above the first loses at some candidates: found."""
    whole = levels(data)
    monkeypatch.setattr(Levels, "least_clip", property(lambda levels: levels.clips[0]))
    assert levels(data) != whole


def test_one_user_moves_every_candidate_by_one_unit_at_most(
    neighbour: Opened, without_last: Opened
) -> None:
    moved = [
        more - less for more, less in zip(levels(without_last), levels(neighbour), strict=True)
    ]
    assert min(moved) >= 0
    assert max(moved) == 2**20


def test_what_was_clipped_off_is_what_is_missing(data: Opened) -> None:
    first, second = 2_000**2, 1_500**2
    one, other = (data.known.clipped(INDEX, WEIGHTS[INDEX], clip) for clip in (first, second))
    shares = (np.full(len(INDEX), 700), np.full(len(INDEX), 300))
    classes = INDEX * 2 // len(INDEX)
    true_lost = one.taken_away(other, shares, classes, 1 << 28, EDGES)[0].ask()
    expected = np.zeros(2)
    for groups in data.groups_of.values():
        mine = [g for g in groups if g in INDEX]
        square = sum(int(WEIGHTS[g]) ** 2 for g in mine)
        if square:
            kept = [min(1.0, math.sqrt(clip / square)) for clip in (first, second)]
            for group in mine:
                expected[classes[group]] += 700 * (1 - kept[0]) + 300 * (1 - kept[1])
    assert (true_lost <= expected).all()
    assert (true_lost > expected - len(data.groups_of) * (1 + 1e-6)).all()


def test_what_one_user_lost_is_clipped_too(neighbour: Opened, without_last: Opened) -> None:
    answers = []
    for opened_table in (neighbour, without_last):
        known, clip = opened_table.known, 1_000**2
        one, other = (known.clipped(INDEX, WEIGHTS[INDEX], clip) for _ in range(2))
        shares = (np.full(len(INDEX), 700), np.full(len(INDEX), 300))
        classes = INDEX * 2 // len(INDEX)
        answers.append(one.taken_away(other, shares, classes, 500, EDGES)[0])
    assert answers[0].sensitivity == answers[1].sensitivity
    assert answers[0].sensitivity.l2_squared == 500**2
    moved = answers[1].ask() - answers[0].ask()
    assert moved.min() >= 0
    assert 0.95 * 500**2 < (moved**2).sum() <= 500**2


def in_cells(lost: list[float]) -> list[int]:
    """How many of these begin a cell, by the last edge that is not above."""
    placed = np.searchsorted(EDGES, lost, side="right")
    return np.bincount(placed, minlength=len(EDGES) + 1)[1:].tolist()


def heaviness(data: Opened, clip: int) -> list[tuple[list[int], float]]:
    """The asked groups of every user whom a clip shortens, and the share that is left of each."""
    found = []
    for groups in data.groups_of.values():
        mine = [g for g in groups if g in INDEX]
        square = sum(int(WEIGHTS[g]) ** 2 for g in mine)
        if square > clip:
            found.append((mine, math.sqrt(clip / square)))
    return found


def test_users_are_counted_by_what_a_clip_would_take(data: Opened) -> None:
    clip, cap = 1_000**2, 700
    asked = data.known.users_by_loss(
        INDEX, weights=WEIGHTS, values=LOST_VALUES, clip=clip, cap=cap, edges=EDGES
    )
    lost = [LOST_VALUES[mine].sum() * (1 - kept) / cap for mine, kept in heaviness(data, clip)]
    assert asked.ask().tolist() == in_cells(lost)
    assert sum(in_cells(lost)) > 10


def test_users_are_counted_by_what_the_norm_hides(data: Opened) -> None:
    clip, norm = 1_000**2, 500
    one, other = (data.known.clipped(INDEX, WEIGHTS[INDEX], clip) for _ in range(2))
    shares = (np.full(len(INDEX), 700), np.full(len(INDEX), 300))
    classes = INDEX * 2 // len(INDEX)
    hidden = []
    for mine, kept in heaviness(data, clip):
        vector = 1_000 * (1 - kept) * np.bincount(classes[mine], minlength=2)
        length = max(float(norm), float(np.linalg.norm(vector)))
        hidden.append(float(vector.sum()) * (1 / norm - 1 / length))
    _, beyond = one.taken_away(other, shares, classes, norm, EDGES)
    assert beyond.ask().tolist() == in_cells(hidden)
    assert sum(in_cells(hidden)) > 3


def test_one_user_is_in_one_cell(neighbour: Opened, without_last: Opened) -> None:
    answers = []
    for opened_table in (without_last, neighbour):
        known, clip = opened_table.known, 1_000**2
        one, other = (known.clipped(INDEX, WEIGHTS[INDEX], clip) for _ in range(2))
        shares = (np.full(len(INDEX), 700), np.full(len(INDEX), 300))
        _, beyond = one.taken_away(other, shares, INDEX * 2 // len(INDEX), 500, EDGES)
        losing = known.users_by_loss(
            INDEX, weights=WEIGHTS, values=LOST_VALUES, clip=clip, cap=500, edges=EDGES
        )
        assert losing.sensitivity == beyond.sensitivity
        assert losing.sensitivity.l1 == losing.sensitivity.l2_squared == 1
        answers.append(np.array([losing.ask(), beyond.ask()]))
    assert np.abs(answers[0] - answers[1]).sum(axis=1).tolist() == [1, 1]


@pytest.mark.parametrize("values", [VALUES, VALUES[::-1], np.full(N_GROUPS, 3)])
def test_users_who_are_passed_over_change_no_answer(data: Opened, values: np.ndarray) -> None:
    """Sums of squares by class tell who cannot be clipped; with them the answers are the same."""
    answers = []
    for is_told in (False, True):
        data.known = data.pairs.known(np.arange(N_GROUPS))
        if is_told:
            data.known.class_totals(values, CLASSES, 1 << 28).ask()
            few = data.known.beyond(INDEX, WEIGHTS[INDEX], 4_000**2)
            assert 0 < few.count().execute() < len(data.rows)
        answers.append([levels(data)])
        rounds = [
            data.known.clipped(INDEX, WEIGHTS[INDEX], clip)
            for clip in (1_000**2, 2_000**2, 4_000**2)
        ]
        answers[-1] += [one.totals(7).ask().tolist() for one in rounds]
        shares = (WEIGHTS[INDEX], WEIGHTS[INDEX] * 3)
        off = rounds[1].taken_away(rounds[2], shares, INDEX // 13, 3_000, EDGES)
        losing = data.known.users_by_loss(
            INDEX, weights=WEIGHTS, values=WEIGHTS, clip=1_000**2, cap=2_000, edges=EDGES
        )
        answers[-1] += [query.ask().tolist() for query in (*off, losing)]
    assert answers[0] == answers[1]


def test_nothing_is_left_in_the_engine() -> None:
    stores: list[Store] = []
    made = opened(some_pairs(5) + [(7, g) for g in range(N_GROUPS)], stores)
    query = "select count(*) from duckdb_tables() where table_name like 'headcount%'"
    assert made.pairs.engine.connection.con.execute(query).fetchone()[0] == 3
    stores[0].__exit__()
    assert made.pairs.engine.connection.con.execute(query).fetchone()[0] == 0
