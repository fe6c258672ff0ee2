"""``quantiles``: the value that a given share of users is below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

import pyarrow as pa

from headcount.contributions.sampled_values import Values
from headcount.contributions.values import check_values, described, value_rules
from headcount.errors import UsageError
from headcount.mechanisms.exponential_quantile import read_quantile
from headcount.mechanisms.fresh_samples.reading import Found
from headcount.privacy.cells import Grid, read_grid
from headcount.releases.expected import OFF, RANKS, Case
from headcount.releases.facts import affordable_plan, limit_for
from headcount.releases.session import Answer, Session
from headcount.releases.values.methods import NoisyQuantiles
from headcount.releases.values.sampled import SAMPLED, SampledValues
from headcount.results.facts import CONFIDENCE

if TYPE_CHECKING:
    from headcount.ledger.account import Account
    from headcount.privacy.budget import Budget
    from headcount.privacy.exact import Number
    from headcount.releases.opened import Opened
    from headcount.releases.plan import Plan

CHOSEN = "the error is that of the intervals; the quantiles themselves are chosen closer"
STAGES = ("making rows",)
ONE_EACH = "the distribution over users: each counts once, however many rows they have"
BAR = (
    "low to high holds the quantile of the users' values, within the bounds and to a cell's width, "
    f"with {CONFIDENCE:.0%} confidence"
)


def plan_quantiles(
    dataset: Opened,
    of: str | None,
    *,
    at: Sequence[Number] | Number,
    bounds: tuple[Number, Number],
    step: Number | None,
    per_user: str,
    method: str,
    spend: Budget | Fraction,
) -> Plan:
    """Decide cells, method and noise from public facts and the spend alone."""
    account = dataset.account
    whole = check_values(dataset.table, of, per_user)
    wanted = _read_at(at)
    grid = read_grid(bounds, step, whole=whole)
    limit = limit_for(account, spend)
    drawn: NoisyQuantiles | SampledValues
    if method in SAMPLED:
        drawn = SampledValues.calibrate(method, grid.n_cells, limit, account.neighbours, wanted)
    else:
        relation = account.neighbours
        drawn = NoisyQuantiles.calibrate(wanted, grid.n_cells, limit, method, relation)
    quantiles = _Quantiles(dataset, account, of, per_user, grid, drawn)
    return affordable_plan(
        dataset,
        account,
        drawn.event,
        quantiles.read_and_draw,
        verb="quantiles",
        by=None,
        arguments=(
            ("of", of),
            ("at", [str(one) for one in wanted]),
            ("cells", [str(grid.low), str(grid.step), grid.n_cells]),
            ("per_user", per_user),
            ("method", drawn.method),
        ),
        title=f"quantiles of {of or 'rows per user'}",
        method=drawn.method,
        stages=STAGES,
        details=quantiles.details(),
        neighbours=drawn.neighbours,
        expects=quantiles.expects,
    )


def _read_at(at: Sequence[Number] | Number) -> tuple[Fraction, ...]:
    given = tuple(at) if isinstance(at, Sequence) and not isinstance(at, str) else (at,)
    wanted = tuple(sorted(read_quantile(one) for one in given))
    if not wanted or len(set(wanted)) < len(wanted):
        raise UsageError(
            "Say which quantiles, each once, such as at=[0.25, 0.5, 0.75]. Nothing was charged."
        )
    return wanted


@dataclass(frozen=True, slots=True)
class _Quantiles:
    """One planned release: how to read it, draw it, and describe it."""

    dataset: Opened
    account: Account
    of: str | None
    per_user: str
    grid: Grid
    drawn: NoisyQuantiles | SampledValues

    @property
    def value(self) -> str:
        return f"one for each user: {described(self.of, self.per_user)}"

    @property
    def rules(self) -> tuple[str, ...]:
        return value_rules(self.dataset.table, self.of, self.per_user, self.grid)

    def expects(self) -> tuple[Case, ...]:
        """How many users a quantile may be off in rank; what that is in values, nobody knows."""
        drawn, n_rows = self.drawn, len(self.drawn.at)
        if not isinstance(drawn, NoisyQuantiles):
            return (Case(None, rows=n_rows),)
        error = max(drawn.cells.rank_error(float(one), OFF) for one in drawn.at)
        return (Case(error, RANKS, n_rows, notes=(CHOSEN,) if drawn.chosen else ()),)

    def details(self) -> tuple[tuple[str, str], ...]:
        return (
            ("why", self.drawn.why),
            ("value", self.value),
            ("describes", ONE_EACH),
            ("cells", str(self.grid)),
            ("noise", self.drawn.noise),
            ("error bar", BAR),
            ("rules", " ".join(self.rules)),
        )

    def read_and_draw(self, session: Session) -> Answer:
        values = Values(self.dataset.table, self.of, self.per_user, self.grid, session.key)
        found = self.drawn.quantiles(values, session.chance)
        session.progress(STAGES[0])
        return Answer(
            as_rows(self.grid, self.drawn.at, found),
            method=self.drawn.method,
            bounds=self.value,
            noise=self.drawn.noise,
            notes=(ONE_EACH, BAR, *self.rules),
            value="value",
        )


def as_rows(grid: Grid, at: tuple[Fraction, ...], found: list[Found]) -> pa.Table:
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
