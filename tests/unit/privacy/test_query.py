"""A question carries how far one user can move its answer, and is not asked for less noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headcount.contributions.bound import bound
from headcount.contributions.bound_losses import CandidateBounds, bound_losses
from headcount.contributions.clip import N_ROWS
from headcount.contributions.distribution.rows import listed_counts
from headcount.contributions.distribution.shares import UserShares
from headcount.contributions.events import Events, users_of
from headcount.contributions.frequencies import true_frequencies
from headcount.contributions.groups import group_rows
from headcount.contributions.kept_rows import rows_of_pairs
from headcount.contributions.largest import largest_counts
from headcount.contributions.listed_pairs import ListedPairs
from headcount.contributions.listed_users import ListedUsers
from headcount.contributions.lost_rows import lost_and_kept
from headcount.contributions.pairs import Pairs
from headcount.contributions.profile import users_per_cell
from headcount.contributions.sample import Coins, sampled_counts
from headcount.contributions.sampled_values import Values
from headcount.contributions.store import Store
from headcount.contributions.tally import Tally
from headcount.mechanisms.binomial_selection.mechanism import BinomialSelection
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.clip_choice import ClipChoice, candidates
from headcount.mechanisms.exponential_quantile import ExponentialQuantile
from headcount.mechanisms.gaussian import Gaussian
from headcount.mechanisms.gaussian_threshold import GaussianThreshold
from headcount.mechanisms.hierarchical_histogram import HierarchicalHistogram
from headcount.mechanisms.hierarchy import Hierarchy
from headcount.mechanisms.laplace import Laplace
from headcount.mechanisms.laplace_histogram import LaplaceHistogram
from headcount.mechanisms.laplace_threshold import LaplaceThreshold
from headcount.mechanisms.pan_private import PanPrivate, one_event
from headcount.mechanisms.private_count_release import PrivateCountRelease
from headcount.mechanisms.radius import Radius
from headcount.mechanisms.sample_threshold import SampleThreshold
from headcount.mechanisms.size_choice import SizeChoice
from headcount.mechanisms.sorted_counts import SortedCounts
from headcount.privacy.bounds import Bounds
from headcount.privacy.cells import Blocks, read_grid
from headcount.privacy.length import Length, Norm
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.query import Query, together
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp
from headcount.tables import UserTable, open_table

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
SOME = Sensitivity(l0=3, l1=Fraction(5), l2_squared=Fraction(9), linf=Fraction(2))
NORMS = ("l0", "l1", "l2_squared", "linf")
SECRET = 8_731_946


@dataclass
class Rows:
    """Private rows that know how often they were read."""

    answers: Sequence[int] = (SECRET,)
    n_read: int = field(default=0)

    def one(self) -> int:
        self.n_read += 1
        return self.answers[0]

    def all(self) -> Sequence[int]:
        self.n_read += 1
        return self.answers


def refused(query: Query[Any], claimed: Sensitivity) -> bool:
    with pytest.raises(ValueError, match="further than its noise is made for") as raised:
        query.answer(claimed)
    return str(SECRET) not in str(raised.value)


def test_nothing_is_read_before_it_is_asked() -> None:
    rows = Rows()
    query = Query(SOME, rows.one)
    assert str(SECRET) not in f"{query!r} {query}"
    assert rows.n_read == 0
    assert query.answer(SOME) == SECRET
    assert rows.n_read == 1


def test_noise_that_is_made_for_as_much_or_more_is_enough() -> None:
    rows = Rows()
    larger = [replace(SOME, **{norm: getattr(SOME, norm) + 1}) for norm in NORMS]
    for claimed in (SOME, SOME.times(2), *larger):
        assert Query(SOME, rows.one).answer(claimed) == SECRET
    assert rows.n_read == 6


@pytest.mark.parametrize("norm", NORMS)
def test_a_larger_sensitivity_is_refused_in_each_norm(norm: str) -> None:
    rows = Rows()
    further = replace(SOME, **{norm: getattr(SOME, norm) + Fraction(1, 1000)})
    assert refused(Query(further, rows.one), SOME)
    # However much more the noise is made for in all the others.
    enough = replace(SOME.times(100), l0=300)
    assert refused(Query(further, rows.one), replace(enough, **{norm: getattr(SOME, norm)}))
    assert rows.n_read == 0


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_another_relation_is_refused(relation: Neighbours) -> None:
    rows = Rows()
    other = ADD if relation is REPLACE else REPLACE
    query = Query(replace(SOME, neighbours=relation), rows.one)
    assert refused(query, replace(SOME.times(100), l0=300, neighbours=other))
    assert rows.n_read == 0
    assert query.answer(replace(SOME, neighbours=relation)) == SECRET


def test_an_answer_that_moves_both_ways_is_refused_where_one_way_is_claimed() -> None:
    rows = Rows()
    one_way = replace(SOME, one_way=True)
    assert refused(Query(SOME, rows.one), one_way)
    assert rows.n_read == 0
    for claimed in (one_way, SOME):
        assert Query(one_way, rows.one).answer(claimed) == SECRET
    # Finer units move as they did; two users who replace each other may move either way.
    assert one_way.times(3).one_way
    assert not one_way.under(REPLACE).one_way


@pytest.mark.parametrize("first", [0, 1, 2])
def test_questions_that_are_put_together_are_read_once(first: int) -> None:
    rows = Rows((7, 8, 9))
    sensitivities = [SOME, SOME.times(2), SOME.under(REPLACE)]
    queries = together(sensitivities, rows.all)
    assert [query.sensitivity for query in queries] == sensitivities
    assert rows.n_read == 0
    assert refused(queries[1], SOME)
    assert rows.n_read == 0
    assert queries[first].ask() == (7, 8, 9)[first]
    assert rows.n_read == 1
    assert [query.answer(query.sensitivity) for query in queries] == [7, 8, 9]
    assert rows.n_read == 1


def test_each_reading_is_of_its_own_rows() -> None:
    few, many = Rows((1, 2)), Rows((3, 4))
    one, other = (together([SOME, SOME], rows.all) for rows in (few, many))
    assert [query.ask() for query in (*one, *other)] == [1, 2, 3, 4]
    assert (few.n_read, many.n_read) == (1, 1)


ONE, TWO = Zcdp(1, "1e-3"), Bounds(2, 2)
CHOICE = ClipChoice.calibrate(Norm.L2, 6, 5.0, ONE)
MECHANISMS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "gaussian": (Gaussian.calibrate(TWO.sensitivity(), ONE), ()),
    "gaussian, replaced": (Gaussian.calibrate(TWO.sensitivity().under(REPLACE), ONE), ()),
    "laplace": (Laplace.calibrate(TWO.sensitivity(), ONE), ()),
    "gaussian_threshold": (GaussianThreshold.calibrate(TWO, ONE), ()),
    "laplace_threshold": (LaplaceThreshold.calibrate(2, ONE), ()),
    "laplace_threshold, replaced": (LaplaceThreshold.calibrate(2, ONE, REPLACE), ()),
    "sorted_counts": (SortedCounts.calibrate(TWO.sensitivity(), ONE), (5,)),
    "laplace_histogram": (LaplaceHistogram.calibrate(TWO.sensitivity(), ONE), (5,)),
    "hierarchical_histogram": (HierarchicalHistogram.calibrate(Hierarchy(7, 2, 3), ONE), ()),
    "exponential_quantile": (ExponentialQuantile.calibrate(Fraction(1, 2), ONE), ()),
    "radius": (Radius.calibrate(ONE, ADD), ()),
    "radius, replaced": (Radius.calibrate(ONE, REPLACE), ()),
    "binomial_selection": (
        BinomialSelection.calibrate(
            ONE, "dense", n_groups=2, samples=2, n_users=9, neighbours=REPLACE
        ),
        (),
    ),
    "private_count_release": (PrivateCountRelease.calibrate(ONE, 0.1), ()),
    "pan_private": (PanPrivate.calibrate(one_event(REPLACE), Fraction(1)), ()),
    "clip_choice": (CHOICE, ()),
    "size_choice": (SizeChoice.calibrate(ONE, 0.3), (np.zeros(4, np.int64),)),
    "sample_threshold": (SampleThreshold(Fraction(1, 4), 10, ONE, 2), ()),
}


def ask(mechanism: Any, query: Query[Any], *public: Any) -> Any:
    if isinstance(mechanism, SampleThreshold):
        return mechanism.keep(query)
    return mechanism.draw(query, *public, Drawn())


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_mechanism_reads_what_moves_further_than_its_noise_is_made_for(name: str) -> None:
    mechanism, public = MECHANISMS[name]
    rows, made_for = Rows(), mechanism.sensitivity
    further = [replace(made_for, **{norm: 2 * getattr(made_for, norm)}) for norm in NORMS]
    if name not in ("clip_choice", "size_choice"):  # They are the same under both.
        other = ADD if made_for.neighbours is REPLACE else REPLACE
        further.append(replace(made_for, neighbours=other))
    if made_for.one_way:
        further.append(replace(made_for, one_way=False))
    for sensitivity in further:
        query = Query(sensitivity, rows.one)
        with pytest.raises(ValueError, match="further than its noise is made for"):
            ask(mechanism, query, *public)
    assert rows.n_read == 0


TABLE = pa.table({"user": [0, 0, 1, 2, 2], "item": ["a", "b", "a", "a", "c"], "x": [1, 2, 3, 4, 5]})
KEY, LISTED = bytes(32), ["a", "b", "c"]


def questions(table: UserTable, store: Store) -> dict[str, list[Query[Any]]]:
    """Every question that there is to a table, none of them asked."""
    contributions = bound(table, "item", Bounds(2, 2), key=KEY)
    coins = Coins(1, 1 << 59, 2)
    events = Events(table, "item", LISTED, store)
    length = Length.of(Norm.L2, 1)
    shares = UserShares(listed_counts(group_rows(table, "item", LISTED)), 3, store)
    around = shares.around(np.full(3, 1 << 10), None)
    frequencies = true_frequencies(contributions)
    values = Values(table, "x", "max", read_grid((0, 10), None, whole=True), KEY)
    pairs = Pairs(table, "item", store, key=KEY, max_value=3)
    kept = store.keep(rows_of_pairs(group_rows(table, "item")))
    losses = CandidateBounds((1, 2), (1, 2))
    listed = ListedUsers(table, "item", ["a", "b"], store)
    listed_pairs = ListedPairs(table, "item", LISTED, store)
    return {
        "events": [
            users_of(table),
            events.weight_curve(candidates(Norm.L2), 1 << 20, 20),
            events.clipped_off(length, 1.0, 1 << 20),
            events.far_beyond((1, 2), Bounds(3, 1, 20)),
        ],
        "listed users": [listed.differences, listed.users],
        "listed pairs": [listed_pairs.users_per_cell(), listed_pairs.weighed(Bounds(3, 1, 20))],
        "profile": [users_per_cell(table, "item")],
        "groups": [
            largest_counts(table, "item", 2).query,
            sampled_counts(table, "item", coins, key=KEY).query,
        ],
        "distribution": [
            shares.n_users(),
            shares.users_by_samples(np.array([1, 2])),
            shares.counts_by_group(2),
            shares.floored_totals(),
            around.users_by_length(),
            around.users_beyond(5, 3, 20),
            around.clipped(1 << 40),
            around.kept(1 << 40),
        ],
        "frequencies": [frequencies.runs, frequencies.n_groups],
        "values": [values.users_per_cell(), values.sampled(1, Blocks(11, 2), coins)],
        "equal error": [
            pairs.users_per_cell(),
            pairs.users_per_rows_cell(),
            pairs.largest(2),
            pairs.largest_others(3),
            pairs.count_of_other(0),
        ],
        "lost rows": [
            *bound_losses(store, kept, ["hc_group_0"], N_ROWS, losses),
            lost_and_kept(store, kept, N_ROWS, 1, by_norm=False, cap=2),
        ],
    }


@pytest.fixture
def n_streams(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often the engine has been asked for rows."""
    kind = type(open_table(TABLE, user="user").engine)
    shipped, seen = kind.stream, []

    def stream(engine: Any, *arguments: Any) -> Any:
        seen.append(arguments)
        return shipped(engine, *arguments)

    monkeypatch.setattr(kind, "stream", stream)
    return lambda: len(seen)


def test_a_table_is_not_read_before_it_is_asked(n_streams: Callable[[], int]) -> None:
    table = open_table(TABLE, user="user")
    with Store(table.engine) as store:
        asked = questions(table, store)
        assert n_streams() == 0
        for queries in asked.values():
            before = n_streams()
            for query in queries:
                query.ask()
            assert n_streams() > before


def test_known_groups_are_not_read_before_it_is_asked(n_streams: Callable[[], int]) -> None:
    table = open_table(TABLE, user="user")
    with Store(table.engine) as store:
        pairs = Pairs(table, "item", store, key=KEY)
        totals = pairs.discover(Bounds(1 << 20, 1, 20), lambda q: (np.arange(3), q.ask()))
        known, every, before = pairs.known(np.arange(3)), np.arange(3), n_streams()
        assert len(totals) == 3
        clipped = [known.clipped(every, every + 1, clip) for clip in (1, 2)]
        shares = (every, every + 1)
        lost = known.clipped_share(
            weights=every + 1,
            values=every + 1,
            first_level=every,
            clips=(4, 3, 2, 1),
            caps=np.full((2, 4), 3),
            unit_bits=20,
        )
        queries = [
            known.class_totals(every + 1, every, 100),
            *(one.totals(7) for one in clipped),
            clipped[0].taken_away(clipped[1], shares, every, 100, (1.0, 2.0))[0],
            known.users_by_loss(
                every, weights=every + 1, values=every + 1, clip=1, cap=3, edges=(1.0,)
            ),
        ]
        assert n_streams() == before
        for query in queries:
            at = n_streams()
            query.ask()
            assert n_streams() > at
        lost[1].ask()
        at = n_streams()
        lost[0].ask()
        assert n_streams() == at


def test_one_reading_answers_what_belongs_together(n_streams: Callable[[], int]) -> None:
    table = open_table(TABLE, user="user")
    with Store(table.engine) as store:
        asked = questions(table, store)
        for query in asked["frequencies"]:
            query.ask()
        assert n_streams() == 1
        largest = asked["groups"][0]
        assert [largest.ask().tolist() for _ in range(2)] == [[3, 1], [3, 1]]
        assert n_streams() == 2


def covers_move(query: Query[Any], other: Query[Any]) -> bool:
    """Whether two tables are no further apart than their question says, when they are sorted."""
    assert query.sensitivity == other.sensitivity
    moved = np.sort(query.ask())[::-1] - np.sort(other.ask())[::-1]
    claimed = query.sensitivity
    return bool(
        np.abs(moved).sum() <= claimed.l1
        and (moved**2).sum() <= claimed.l2_squared
        and np.abs(moved).max() <= claimed.linf
    )


def bucket(rows: pa.Table) -> Query[Any]:
    """All groups in one bucket."""
    bounded = bound(open_table(rows, user="user"), "item", Bounds(2, 2), key=KEY)
    runs = true_frequencies(bounded, buckets=1).runs
    return Query(runs.sensitivity, lambda: runs.ask()[0])


def test_groups_that_meet_in_a_bucket_move_it_together() -> None:
    """One user is in two groups, and moves the bucket by two."""
    more, less = bucket(TABLE), bucket(TABLE.slice(0, 3))
    assert [query.ask().tolist() for query in (more, less)] == [[5], [3]]
    assert covers_move(more, less)


def test_a_sampled_group_appears_with_all_of_its_threshold() -> None:
    """Coins that nearly always fall on the one side; a group of two is cut, of three is not."""
    coins = Coins(1, (1 << 60) - 1, 3)
    counts = []
    for n_users in (3, 2):
        table = open_table(
            pa.table({"user": list(range(n_users)), "x": [1] * n_users}), user="user"
        )
        shown = sampled_counts(table, "x", coins, key=KEY).query
        blocks = Values(table, "x", "max", read_grid((0, 3), None, whole=True), KEY)
        sampled = blocks.sampled(1, Blocks(4, 1), coins)
        counts.append((shown.ask().tolist(), sampled))
        assert shown.sensitivity.linf == 3
        assert SampleThreshold(Fraction(1, 4), 3, ONE, 1).sensitivity.covers(shown.sensitivity)
    assert [total for total, _ in counts] == [[3], []]
    assert covers_move(*(sampled for _, sampled in counts))


def test_totals_are_asked_of_a_part_that_is_read_already(n_streams: Callable[[], int]) -> None:
    table = open_table(TABLE, user="user")
    parts = Tally(bound(table, "item", Bounds(2, 2), key=KEY), REPLACE).parts(ordered=True)
    assert n_streams() == 0
    (part,) = parts
    assert part.query.sensitivity == Bounds(2, 2).sensitivity().under(REPLACE)
    assert part.query.ask().tolist() == [3, 1, 1]
    assert part.names(np.array([2, 0])).to_pydict() == {"item": ["c", "a"]}
    assert part.every_name().to_pydict() == {"item": ["a", "b", "c"]}
    assert n_streams() == 1
