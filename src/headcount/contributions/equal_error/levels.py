"""How much of all rows would be clipped off, at every candidate size of a release, in one pass.

A candidate keeps the first groups of a public ranking, and clips users at a public norm. One user
adds, at each candidate, a number between 0 and one unit, which depends on that user alone [E3].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headcount.contributions import read
from headcount.contributions.groups import USER
from headcount.privacy.query import Query, together
from headcount.privacy.sensitivity import Sensitivity
from headcount.tables.engine import cast_always, double

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.contributions.store import Store

LEVEL, CAP, CLIP, NEXT = "hc_level", "hc_cap", "hc_clip", "hc_next"


@dataclass(frozen=True, slots=True)
class Levels:
    """Candidates, all public: first of growing size, then such as keep all groups.

    weights:      of each group, in the units of the clips: users are shortened by these
    values:       of each group, in the units of the caps: what a user loses is counted in these
    first_level:  the smallest candidate that each group belongs to
    clips:        the squared norm that users are shortened to, by candidate
    caps:         what one user's loss counts as a whole at: a row a question, by candidate
    unit_bits:    a user who loses all that counts adds ``2**unit_bits``
    """

    weights: NDArray[np.int64]
    values: NDArray[np.int64]
    first_level: NDArray[np.int64]
    clips: tuple[int, ...]
    caps: NDArray[np.int64]
    unit_bits: int

    @property
    def least_clip(self) -> int:
        """Who is below it loses nothing anywhere: norms grow with the candidate."""
        return min(self.clips)

    @property
    def n_sized(self) -> int:
        """How many candidates are of growing size."""
        return int(self.first_level.max()) + 1


def clipped_share(
    pairs: Callable[[], Any], store: Store, levels: Levels
) -> tuple[Query[NDArray[np.int64]], ...]:
    """For every candidate the sum over users of their capped loss, in units of 2**-unit_bits.

    One question for each row of caps; all are read together. ``pairs`` gives those of all who may
    be beyond the least clip; beside each the weight (``hc_w``), value (``hc_v``) and level of its
    group.
    """
    n_candidates = levels.caps.shape[1]
    one_unit = Sensitivity.of_entries(n_candidates, 1 << levels.unit_bits, one_way=True)
    return together([one_unit] * len(levels.caps), partial(_lost, pairs, store, levels))


def _lost(pairs: Callable[[], Any], store: Store, levels: Levels) -> list[NDArray[np.int64]]:
    joined = pairs()
    users = totals(joined)
    heavy = store.keep(users.filter(users["hc_norm"] > levels.least_clip))
    true_sized = _sized(store, joined, heavy, levels)
    return list(np.concatenate([true_sized, _lower(store, heavy, levels)], axis=1))


def totals(joined: Any) -> Any:
    """By user the sum of values and the squared norm of weights."""
    return joined.group_by(USER).agg(hc_sum=_total(joined), hc_norm=_norm(joined))


def _sized(store: Store, joined: Any, heavy: Any, levels: Levels) -> NDArray[np.int64]:
    import ibis

    least = min(levels.clips[: levels.n_sized])
    over = heavy.filter(heavy["hc_norm"] > least)
    mine = joined.semi_join(over, USER)
    steps = mine.group_by([USER, LEVEL]).agg(hc_sum=_total(mine), hc_norm=_norm(mine))
    window = ibis.window(group_by=USER, order_by=LEVEL)
    running = ibis.cumulative_window(group_by=USER, order_by=LEVEL)
    steps = steps.select(
        **{LEVEL: steps[LEVEL], NEXT: steps[LEVEL].lead().over(window)},
        hc_sum=cast_always(steps["hc_sum"].sum().over(running), "int64"),
        hc_norm=cast_always(steps["hc_norm"].sum().over(running), "int64"),
    )
    steps = steps.filter(steps["hc_norm"] > least)
    # What a user has at one candidate they have at the next ones too, until a new group comes.
    n_sized, names = levels.n_sized, [f"{CAP}_{i}" for i in range(len(levels.caps))]
    numbers = dict(zip(names, levels.caps[:, :n_sized], strict=True))
    numbers |= {"hc_at": np.arange(n_sized), CLIP: np.array(levels.clips[:n_sized], np.int64)}
    candidates = store.engine.relation(pa.table(numbers))
    at_level = steps.inner_join(
        candidates,
        [
            steps[LEVEL] <= candidates["hc_at"],
            candidates["hc_at"] < steps[NEXT].fill_null(n_sized),
            steps["hc_norm"] > candidates[CLIP],
        ],
    )
    summed = at_level.group_by("hc_at").agg(
        **{
            f"hc_lost_{name}": cast_always(
                _loss(at_level, at_level[CLIP], at_level[name], levels.unit_bits).sum(), "int64"
            )
            for name in names
        }
    )
    true_lost = np.zeros((len(names), n_sized), np.int64)
    for at, *lost in read.columns(store.engine, summed):
        true_lost[:, at] = np.stack(lost)
    return true_lost


def _lower(store: Store, heavy: Any, levels: Levels) -> NDArray[np.int64]:
    import ibis

    lower_clips = levels.clips[levels.n_sized :]
    if not lower_clips:
        return np.zeros((len(levels.caps), 0), np.int64)
    sums = {}
    for row, caps in enumerate(levels.caps[:, levels.n_sized :].tolist()):
        for i, (clip, cap) in enumerate(zip(lower_clips, caps, strict=True)):
            at, most = (ibis.literal(int(number), "int64") for number in (clip, cap))
            lost = _loss(heavy, at, most, levels.unit_bits)
            counted = ibis.cases((heavy["hc_norm"] > clip, lost), else_=0)
            sums[f"hc_{row}_{i}"] = cast_always(counted.sum(), "int64")
    query = heavy.agg(**sums)
    return read.one_row(store.engine, query).reshape(len(levels.caps), -1)


def _loss(users: Any, clip: Any, cap: Any, unit_bits: int) -> Any:
    """The value a user loses to the clip, in shares of the cap, at most 1, rounded down."""
    import ibis

    unit = double(1 << unit_bits)
    share = double(1) - (clip.cast("float64") / users["hc_norm"].cast("float64")).sqrt()
    lost = users["hc_sum"].cast("float64") * share / cap.cast("float64") * unit
    bounded = ibis.greatest(ibis.least(lost, unit), double(0))
    return bounded.floor().cast("int64")


def _total(rows: Any) -> Any:
    return cast_always(rows["hc_v"].sum(), "int64")


def _norm(rows: Any) -> Any:
    return cast_always((rows["hc_w"] * rows["hc_w"]).sum(), "int64")
