"""``quantiles``: the value that a given share of users is below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

import pyarrow as pa

from headcount.contributions.values import check_values, described, users_per_cell, value_rules
from headcount.errors import UsageError
from headcount.mechanisms.exponential_quantile import ExponentialQuantile, read_quantile
from headcount.mechanisms.hierarchical_histogram import HierarchicalHistogram
from headcount.mechanisms.hierarchy_public import best_shape
from headcount.privacy.cells import Grid, read_grid
from headcount.privacy.event import Composed, Event
from headcount.privacy.spend import Zcdp
from headcount.releases.facts import CONFIDENCE, facts_of, limit_for, planned
from headcount.releases.release import Release

if TYPE_CHECKING:
    from headcount.ledger.account import Account
    from headcount.privacy.budget import Budget
    from headcount.privacy.exact import Number
    from headcount.releases.dataset import Dataset
    from headcount.releases.plan import Plan
    from headcount.releases.run import Progress

METHODS = ("auto", "hierarchy", "exponential")
FEW = 2
"""Up to so many quantiles, choosing each one beats reading them off the hierarchy."""

HIERARCHY = "noise on counts of cells at many levels"
EXPONENTIAL = "a private choice of cell for each quantile, and noisy counts for the error bars"
ONE_EACH = "the distribution over users: each counts once, however many rows they have"
BAR = (
    "low to high holds the quantile of the users' values, within the bounds and to a cell's width, "
    f"with {CONFIDENCE:.0%} confidence"
)


def plan_quantiles(
    dataset: Dataset,
    of: str | None,
    *,
    at: Sequence[Number],
    bounds: tuple[Number, Number],
    step: Number | None,
    per_user: str,
    method: str,
    spend: Budget | None,
) -> Plan:
    """Decide cells, method and noise from public facts and the spend alone."""
    if method not in METHODS:
        raise UsageError(f"method must be one of {', '.join(METHODS)}, not {method!r}.")
    account = dataset.account
    whole = check_values(dataset.table, of, per_user)
    wanted = _read_at(at)
    grid = read_grid(bounds, step, whole=whole)
    limit = limit_for(account, spend)
    if method == "auto":
        method = "exponential" if len(wanted) <= FEW else "hierarchy"
    chosen: tuple[ExponentialQuantile, ...] = ()
    counted = Zcdp(limit.rho)
    if method == "exponential":
        counted = Zcdp(limit.rho / 2)
        share = Zcdp(limit.rho / (2 * len(wanted)))
        chosen = tuple(ExponentialQuantile.calibrate(one, share) for one in wanted)
    shape = best_shape(grid.n_cells, lambda shape: shape.rank_loss([float(q) for q in wanted]))
    cells = HierarchicalHistogram.calibrate(shape, counted)
    quantiles = _Quantiles(dataset, account, of, per_user, grid, wanted, cells, chosen)
    return planned(
        dataset,
        account,
        quantiles.event,
        quantiles.read_and_draw,
        verb="quantiles",
        by=None,
        arguments=(
            ("of", of),
            ("at", [str(one) for one in wanted]),
            ("cells", [str(grid.low), str(grid.step), grid.n_cells]),
            ("per_user", per_user),
        ),
        title=f"quantiles of {of or 'rows per user'}",
        method=quantiles.method,
        details=quantiles.details(),
    )


def _read_at(at: Sequence[Number]) -> tuple[Fraction, ...]:
    given = (at,) if isinstance(at, int | float | str | Fraction) else tuple(at)
    wanted = tuple(sorted(read_quantile(one) for one in given))
    if not wanted or len(set(wanted)) < len(wanted):
        raise UsageError(
            "Say which quantiles, each once, such as at=[0.25, 0.5, 0.75]. Nothing was charged."
        )
    return wanted


@dataclass(frozen=True, slots=True)
class _Quantiles:
    """One planned release: how to read it, draw it, and describe it."""

    dataset: Dataset
    account: Account
    of: str | None
    per_user: str
    grid: Grid
    at: tuple[Fraction, ...]
    cells: HierarchicalHistogram
    chosen: tuple[ExponentialQuantile, ...]

    @property
    def event(self) -> Event:
        if not self.chosen:
            return self.cells.event
        return Composed((self.cells.event, *(one.event for one in self.chosen)))

    @property
    def method(self) -> str:
        return EXPONENTIAL if self.chosen else HIERARCHY

    @property
    def why(self) -> str:
        if self.chosen:
            return f"up to {FEW} quantiles a choice is closer; of more, each would get too little"
        return f"all quantiles share one set of counts; up to {FEW}, a choice of each is closer"

    @property
    def noise(self) -> str:
        shape = self.cells.shape
        most = max(self.cells.rank_error(float(one), CONFIDENCE) for one in self.at)
        chosen = (
            f"; each choice has epsilon {float(self.chosen[0].epsilon):.3g}" if self.chosen else ""
        )
        return (
            f"discrete Gaussian, sd {self.cells.noise.sd:.3g} users, on blocks of "
            f"{shape.n_levels} levels: ranks are known to {most:.3g} users{chosen}"
        )

    @property
    def rules(self) -> tuple[str, ...]:
        return value_rules(self.dataset.table, self.of, self.per_user, self.grid)

    def details(self) -> tuple[tuple[str, str], ...]:
        return (
            ("why", f"{self.why}; sampling users would add to the error of either"),
            ("value", f"one for each user: {described(self.of, self.per_user)}"),
            ("describes", ONE_EACH),
            ("cells", str(self.grid)),
            ("noise", self.noise),
            ("error bar", BAR),
            ("rules", " ".join(self.rules)),
        )

    def read_and_draw(self, key: bytes, entry: int, progress: Progress) -> Release:
        true_cells = users_per_cell(self.dataset.table, self.of, self.per_user, self.grid, key)
        progress("drawing noise")
        noisy_cells = self.cells.draw(true_cells)
        found = [noisy_cells.quantile(float(one), CONFIDENCE) for one in self.at]
        for index, choice in enumerate(self.chosen):
            _, first, last = found[index]
            # The choice can miss by more than the counts allow; they are published, so it is free.
            found[index] = (min(max(choice.draw(true_cells), first), last), first, last)
        facts = facts_of(
            self.dataset,
            self.account,
            self.event,
            verb="quantiles",
            method=self.method,
            bounds=f"one value for each user: {described(self.of, self.per_user)}",
            noise=self.noise,
            entry=entry,
            notes=(ONE_EACH, BAR, *self.rules),
            value="value",
        )
        return Release(as_rows(self.grid, self.at, found), facts)


def as_rows(grid: Grid, at: tuple[Fraction, ...], found: list[tuple[int, int, int]]) -> pa.Table:
    """One row per quantile. A larger quantile never has a smaller value."""
    cells, firsts, lasts = zip(*found, strict=True)
    rising = list(accumulate(cells, max))
    kind = pa.int64() if grid.whole else pa.float64()

    def column(numbers: Iterable[float]) -> pa.Array:
        return pa.array(numbers, pa.float64()).cast(kind)

    return pa.table(
        {
            "quantile": pa.array([float(one) for one in at], pa.float64()),
            "value": column(grid.middle(cell) for cell in rising),
            "low": column(grid.start(first) for first in firsts),
            "high": column(grid.end(max(last, c)) for last, c in zip(lasts, rising, strict=True)),
        }
    )
