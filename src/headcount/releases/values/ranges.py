"""``count_ranges``: how many users have a value in each of some public ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headcount.contributions.sampled_values import Values
from headcount.contributions.values import check_values, described, value_rules
from headcount.mechanisms.hierarchical_histogram import HierarchicalHistogram
from headcount.mechanisms.hierarchy import best_shape
from headcount.privacy.cells import Edges, read_ranges
from headcount.privacy.spend import Zcdp
from headcount.releases.expected import OFF_SDS, Case
from headcount.releases.facts import affordable_plan, limit_for
from headcount.releases.rows import sorted_rows, with_error_bars
from headcount.releases.session import Answer, Session
from headcount.releases.values.sampled import SAMPLED, SampledValues
from headcount.results.facts import BAR_SDS

if TYPE_CHECKING:
    from headcount.ledger.account import Account
    from headcount.mechanisms.chance import Chance
    from headcount.privacy.budget import Budget
    from headcount.privacy.exact import Number
    from headcount.releases.opened import Opened
    from headcount.releases.plan import Plan

STAGES = ("making rows",)
METHOD = "noise on counts of the pieces that the ranges cut the line into"
IN_ORDER = [("at_least", "ascending", "at_start"), ("below", "ascending", "at_end")]
BOUNDS = "none is needed: a user has one value and is in one piece"


def plan_count_ranges(
    dataset: Opened,
    of: str | None,
    ranges: Sequence[tuple[Number | None, Number | None]] | Sequence[Number],
    *,
    per_user: str,
    method: str,
    spend: Budget | Fraction,
) -> Plan:
    """Cut the line at the public ends; choose the levels that serve the worst range best."""
    account = dataset.account
    check_values(dataset.table, of, per_user)
    edges, places = read_ranges(_pairs(ranges))
    limit = limit_for(account, spend)
    drawn: HierarchicalHistogram | SampledValues
    if method in SAMPLED:
        drawn = SampledValues.calibrate(method, edges.n_cells, limit, account.neighbours)
    else:
        shape = best_shape(edges.n_cells, lambda shape: shape.range_loss(places))
        drawn = HierarchicalHistogram.calibrate(shape, Zcdp(limit.rho), account.neighbours)
    count = _Count(dataset, account, of, per_user, edges, places, drawn)
    return affordable_plan(
        dataset,
        account,
        drawn.event,
        count.read_and_draw,
        verb="count_ranges",
        by=None,
        arguments=(
            ("of", of),
            ("ranges", [[_end(edges, a), _end(edges, b)] for a, b in places]),
            ("per_user", per_user),
            ("method", count.method),
        ),
        title=f"count users by ranges of {of or 'rows per user'}",
        method=count.method,
        stages=STAGES,
        details=count.details(),
        neighbours=drawn.neighbours,
        expects=count.expects,
    )


def _pairs(ranges: Sequence[Any]) -> list[Any]:
    parts = list(ranges)
    if parts and all(isinstance(part, int | float | str | Fraction) for part in parts):
        return list(pairwise(parts))
    return parts


def _end(edges: Edges, place: int) -> float | None:
    point = edges.points[place]
    return point if isfinite(point) else None


@dataclass(frozen=True, slots=True)
class _Count:
    """One planned release: how to read it, draw it, and describe it."""

    dataset: Opened
    account: Account
    of: str | None
    per_user: str
    edges: Edges
    places: tuple[tuple[int, int], ...]
    drawn: HierarchicalHistogram | SampledValues

    @property
    def method(self) -> str:
        return METHOD if isinstance(self.drawn, HierarchicalHistogram) else self.drawn.method

    @property
    def noise(self) -> str:
        if not isinstance(self.drawn, HierarchicalHistogram):
            return self.drawn.noise
        levels = self.drawn.shape.n_levels
        shown = "one level" if levels == 1 else f"{levels} levels"
        sds = self.drawn.range_sd(self.places)
        return (
            f"discrete Gaussian, sd {self.drawn.noise.sd:.3g} users on each of the "
            f"{self.edges.n_cells:,} pieces ({shown}): counts of ranges have sd {sds.min():.3g} to "
            f"{sds.max():.3g}"
        )

    @property
    def rules(self) -> tuple[str, ...]:
        return (
            "A range goes from its first number up to, and without, its second.",
            *value_rules(self.dataset.table, self.of, self.per_user, self.edges),
        )

    def expects(self) -> tuple[Case, ...]:
        """The noise of the ranges, which is public; a sample depends on how many are in them."""
        if not isinstance(self.drawn, HierarchicalHistogram):
            return (Case(None, rows=len(self.places)),)
        sds = self.drawn.range_sd(self.places)
        error = OFF_SDS * float(np.sqrt((sds**2).mean()))
        return (Case(error, rows=len(self.places)),)

    def details(self) -> tuple[tuple[str, str], ...]:
        return (
            ("value", f"one for each user: {described(self.of, self.per_user)}"),
            ("ranges", f"{len(self.places):,}, all released"),
            ("bound", BOUNDS),
            ("noise", self.noise),
            ("rules", " ".join(self.rules)),
        )

    def read_and_draw(self, session: Session) -> Answer:
        values = Values(self.dataset.table, self.of, self.per_user, self.edges, session.key)
        # As they lie on the line: a range without a first number comes before all others.
        rows = self._rows(values, session.chance).sort_by(IN_ORDER)
        session.progress(STAGES[0])
        return Answer(
            rows,
            method=self.method,
            bounds=BOUNDS,
            noise=self.noise,
            notes=self.rules,
        )

    def _rows(self, values: Values, chance: Chance) -> pa.Table:
        ends = pa.table(
            {
                "at_least": pa.array([_end(self.edges, a) for a, _ in self.places], pa.float64()),
                "below": pa.array([_end(self.edges, b) for _, b in self.places], pa.float64()),
            }
        )
        if isinstance(self.drawn, HierarchicalHistogram):
            cells = values.users_per_cell(self.drawn.neighbours)
            noisy_counts = self.drawn.draw(cells, chance).ranges(self.places)
            sds = self.drawn.range_sd(self.places)
            half_widths = BAR_SDS * sds
            return with_error_bars(ends, noisy_counts, 1, sds, np.asarray(half_widths))
        counts, low, high, sds = self.drawn.ranges(values, self.places)
        return sorted_rows(
            ends,
            count=np.rint(counts).astype(np.int64),
            low=np.floor(low).astype(np.int64),
            high=np.ceil(high).astype(np.int64),
            sd=sds,
        )
