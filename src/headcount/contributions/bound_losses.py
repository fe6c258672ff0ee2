"""What each candidate bound on a user's rows would lose, for all candidates in two queries.

A bound ``C`` loses the rows it takes from users, and the groups that stay below the threshold that
goes with it. With ``n_ig`` the rows of user ``i`` in group ``g`` and ``b_i`` the norm of the user,
the loss is ``2 sum_i (what i loses) + sum_g min(sum_i n_ig min(1, C / b_i), threshold(C))``. One
user moves the difference of two losses by at most the sum of their two sensitivities [V1].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from headcount.contributions import read
from headcount.contributions.arithmetic import floor_ratio
from headcount.contributions.groups import USER
from headcount.contributions.store import Store
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.query import Query, together
from headcount.privacy.sensitivity import Sensitivity
from headcount.tables.engine import cast_always, double

UNIT_BITS = 20
UNIT = 1 << UNIT_BITS
LOST_WEIGHT = 2
FINE = 64
"""Steps of a norm within one row; the number of rows needs none."""
MARGIN = 1 << 48
LEVEL, LENGTH, RATE, BELOW, ABOVE = "hc_level", "hc_length", "hc_rate", "hc_below", "hc_above"


@dataclass(frozen=True, slots=True)
class CandidateBounds:
    """Bounds to choose from, growing, each with the threshold it would have; all public.

    max_ratio:  None when bounds are on the number of rows; else bounds are on the l2 norm, and a
                user whose rows are more than ``max_ratio`` norms counts as if they were that many
    """

    bounds: tuple[int, ...]
    thresholds: tuple[int, ...]
    max_ratio: int | None = None
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    @property
    def sensitivities(self) -> list[Sensitivity]:
        """How far one user may move the loss of each, in units [V1]."""
        weight = LOST_WEIGHT
        if self.max_ratio is not None and self.neighbours is Neighbours.REPLACE:
            weight += 1
        most = weight * UNIT * (self.max_ratio or 1)
        return [Sensitivity.of_sum(most * bound, self.neighbours) for bound in self.bounds]


def bound_losses(
    store: Store, values: Any, columns: Sequence[str], n_rows: str, candidates: CandidateBounds
) -> tuple[Query[int], ...]:
    """The loss of every candidate, in units of ``2**-UNIT_BITS`` rows; read together.

    A loss is counted from that of a bound of nothing, which is the same for all candidates and
    which one user can move without limit: most are negative.

    values:  one row per user and group, with the number of rows in ``n_rows``
    """
    ask = partial(_losses, store, values, columns, n_rows, candidates)
    return together(candidates.sensitivities, ask)


def _losses(
    store: Store, values: Any, columns: Sequence[str], n_rows: str, candidates: CandidateBounds
) -> list[int]:
    import ibis

    norms = rows_and_squares(values, n_rows, squares=candidates.max_ratio is not None)
    users = (
        _by_rows(norms, candidates)
        if candidates.max_ratio is None
        else _by_norm(norms, candidates, candidates.max_ratio)
    )
    users = store.keep(users)
    steps = 1 if candidates.max_ratio is None else FINE
    within = [ibis.least(users[LENGTH], steps * bound) for bound in candidates.bounds]
    true_kept = _summed(store, users, [users[RATE] * kept for kept in within])
    pairs = values.inner_join(users, USER)
    below, above = _parts(pairs, pairs[n_rows], candidates.max_ratio)
    parts = pairs.select(*columns, LEVEL, **{BELOW: below, ABOVE: above})
    levels = parts.group_by([*columns, LEVEL]).agg(
        **{name: cast_always(parts[name].sum(), "int64") for name in (BELOW, ABOVE)}
    )
    true_left = _kept_by_noise(store, levels, columns, candidates)
    return [left - LOST_WEIGHT * kept for kept, left in zip(true_kept, true_left, strict=True)]


def rows_and_squares(values: Any, n_rows: str, *, squares: bool) -> Any:
    """Each user's number of rows, and if asked the sum of squares over their groups."""
    value = values[n_rows]
    sums = {"hc_rows": cast_always(value.sum(), "int64")}
    if squares:
        sums["hc_squares"] = cast_always((value * value).sum(), "int64")
    return values.group_by(USER).agg(**sums)


def _by_rows(norms: Any, candidates: CandidateBounds) -> Any:
    """Users with the number of their rows; a unit is kept for each row within a bound."""
    import ibis

    rows = norms["hc_rows"]
    level = _level(candidates, lambda bound: rows <= bound)
    rate = ibis.literal(UNIT, "int64")
    return norms.select(USER, hc_rows=rows, **{LEVEL: level, LENGTH: rows, RATE: rate})


def _by_norm(norms: Any, candidates: CandidateBounds, max_ratio: int) -> Any:
    """Users with their norm in steps, and what a step is worth: rows over norm, or less."""
    import ibis

    squares = norms["hc_squares"]
    norm = squares.cast("float64").sqrt()
    ratio = ibis.least(norms["hc_rows"].cast("float64") / norm, double(max_ratio))
    return norms.select(
        USER,
        hc_rows=norms["hc_rows"],
        hc_squares=squares,
        **{
            LEVEL: _level(candidates, lambda bound: squares <= bound * bound),
            LENGTH: (norm * double(FINE)).floor().cast("int64"),
            RATE: _units(ratio / double(FINE)),
        },
    )


def _level(candidates: CandidateBounds, fits: Any) -> Any:
    """The first candidate that takes nothing from the user, decided by integers."""
    import ibis

    cases = [(fits(bound), ibis.literal(i, "int64")) for i, bound in enumerate(candidates.bounds)]
    return ibis.cases(*cases, else_=ibis.literal(len(cases), "int64"))


def _parts(pairs: Any, n: Any, max_ratio: int | None) -> tuple[Any, Any]:
    """What a pair adds to its group: where the user fits, and per unit of a bound where not."""
    import ibis

    if max_ratio is None:
        return n * UNIT, floor_ratio(n * UNIT, pairs["hc_rows"])
    value, rows = n.cast("float64"), pairs["hc_rows"].cast("float64")
    norm = pairs["hc_squares"].cast("float64").sqrt()
    capped = value / rows * double(max_ratio)
    below = ibis.least(value, capped * norm)
    return _units(below), _units(ibis.least(value / norm, capped))


def _units(value: Any) -> Any:
    """A non-negative double in units, rounded down, with room for the roundings before it."""
    return (value * double(UNIT) * double(MARGIN - 1) / double(MARGIN)).floor().cast("int64")


def _kept_by_noise(
    store: Store, levels: Any, columns: Sequence[str], candidates: CandidateBounds
) -> list[int]:
    """Over all groups the smaller of what is left of them and the threshold."""
    import ibis

    sums = {}
    for i in range(len(candidates.bounds)):
        fits = levels[LEVEL] <= i
        sums[f"{BELOW}_{i}"] = cast_always(_where(fits, levels[BELOW]).sum(), "int64")
        sums[f"{ABOVE}_{i}"] = cast_always(_where(~fits, levels[ABOVE]).sum(), "int64")
    groups = levels.group_by(list(columns)).agg(**sums)
    left = []
    for i, (bound, threshold) in enumerate(
        zip(candidates.bounds, candidates.thresholds, strict=True)
    ):
        most = ibis.literal(threshold * UNIT, "int64")
        # Cut before the product, so that it cannot overflow; beyond this the threshold is less.
        enough = ibis.literal(-(-threshold * UNIT // bound), "int64")
        above = ibis.least(groups[f"{ABOVE}_{i}"], enough) * bound
        left.append(ibis.least(ibis.least(groups[f"{BELOW}_{i}"], most) + above, most))
    return _summed(store, groups, left)


def _summed(store: Store, table: Any, terms: Sequence[Any]) -> list[int]:
    """Sums of integers over a table, in one row."""
    query = table.select(**{f"hc_{i}": term for i, term in enumerate(terms)})
    query = query.agg(
        **{f"hc_sum_{i}": cast_always(query[f"hc_{i}"].sum(), "int64") for i in range(len(terms))}
    )
    return [int(total) for total in read.one_row(store.engine, query)]


def _where(condition: Any, value: Any) -> Any:
    import ibis

    return ibis.cases((condition, value), else_=ibis.literal(0, "int64"))
