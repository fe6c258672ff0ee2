"""``count_ranges``: how many users have a value in each of some public ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headcount.accounting.tail import upper_point
from headcount.contributions.values import check_values, described, users_per_cell, value_rules
from headcount.errors import UsageError
from headcount.mechanisms.hierarchical_histogram import HierarchicalHistogram
from headcount.mechanisms.hierarchy_public import best_shape
from headcount.privacy.cells import Edges, read_ranges
from headcount.privacy.spend import Zcdp
from headcount.releases.facts import CONFIDENCE, facts_of, limit_for, planned
from headcount.releases.release import Release
from headcount.releases.rows import with_error_bars

if TYPE_CHECKING:
    from headcount.ledger.account import Account
    from headcount.privacy.budget import Budget
    from headcount.privacy.exact import Number
    from headcount.releases.dataset import Dataset
    from headcount.releases.plan import Plan
    from headcount.releases.run import Progress

METHODS = ("auto", "hierarchy")
METHOD = "noise on counts of the pieces that the ranges cut the line into"
BOUNDS = "none is needed: a user has one value and is in one piece"


def plan_count_ranges(
    dataset: Dataset,
    of: str | None,
    ranges: Sequence[tuple[Number | None, Number | None]] | Sequence[Number],
    *,
    per_user: str,
    method: str,
    spend: Budget | None,
) -> Plan:
    """Cut the line at the public ends; choose the levels that serve the worst range best."""
    if method not in METHODS:
        raise UsageError(f"method must be one of {', '.join(METHODS)}, not {method!r}.")
    account = dataset.account
    check_values(dataset.table, of, per_user)
    edges, places = read_ranges(_pairs(ranges))
    limit = limit_for(account, spend)
    shape = best_shape(edges.n_cells, lambda shape: shape.range_loss(places))
    cells = HierarchicalHistogram.calibrate(shape, Zcdp(limit.rho))
    count = _Count(dataset, account, of, per_user, edges, places, cells)
    return planned(
        dataset,
        account,
        cells.event,
        count.read_and_draw,
        verb="count_ranges",
        by=None,
        arguments=(
            ("of", of),
            ("ranges", [[_end(edges, a), _end(edges, b)] for a, b in places]),
            ("per_user", per_user),
        ),
        title=f"count users by ranges of {of or 'rows per user'}",
        method=METHOD,
        details=count.details(),
    )


def _pairs(ranges: Sequence[Any]) -> list[Any]:
    parts = list(ranges)
    if parts and all(isinstance(part, int | float | str) for part in parts):
        return list(pairwise(parts))
    return parts


def _end(edges: Edges, place: int) -> float | None:
    point = edges.points[place]
    return point if isfinite(point) else None


@dataclass(frozen=True, slots=True)
class _Count:
    """One planned release: how to read it, draw it, and describe it."""

    dataset: Dataset
    account: Account
    of: str | None
    per_user: str
    edges: Edges
    places: tuple[tuple[int, int], ...]
    cells: HierarchicalHistogram

    @property
    def noise(self) -> str:
        levels = self.cells.shape.n_levels
        shown = "one level" if levels == 1 else f"{levels} levels"
        sds = self.cells.range_sd(self.places)
        return (
            f"discrete Gaussian, sd {self.cells.noise.sd:.3g} users on each of the "
            f"{self.edges.n_cells:,} pieces ({shown}): counts of ranges have sd {sds.min():.3g} to "
            f"{sds.max():.3g}"
        )

    @property
    def rules(self) -> tuple[str, ...]:
        return (
            "A range goes from its first number up to, and without, its second.",
            *value_rules(self.dataset.table, self.of, self.per_user, self.edges),
        )

    def details(self) -> tuple[tuple[str, str], ...]:
        return (
            ("value", f"one for each user: {described(self.of, self.per_user)}"),
            ("ranges", f"{len(self.places):,}, all released"),
            ("bound", BOUNDS),
            ("noise", self.noise),
            ("rules", " ".join(self.rules)),
        )

    def read_and_draw(self, key: bytes, entry: int, progress: Progress) -> Release:
        true_cells = users_per_cell(self.dataset.table, self.of, self.per_user, self.edges, key)
        progress("drawing noise")
        noisy_counts = self.cells.draw(true_cells).ranges(self.places)
        sds = self.cells.range_sd(self.places)
        ends = pa.table(
            {
                "at_least": pa.array([_end(self.edges, a) for a, _ in self.places], pa.float64()),
                "below": pa.array([_end(self.edges, b) for _, b in self.places], pa.float64()),
            }
        )
        half_widths = upper_point((1 - CONFIDENCE) / 2) * sds
        rows = with_error_bars(ends, noisy_counts, 1, sds, np.asarray(half_widths))
        facts = facts_of(
            self.dataset,
            self.account,
            self.cells.event,
            verb="count_ranges",
            method=METHOD,
            bounds=BOUNDS,
            noise=self.noise,
            entry=entry,
            notes=self.rules,
        )
        return Release(rows, facts)
