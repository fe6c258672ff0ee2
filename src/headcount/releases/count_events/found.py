"""``count_events`` for groups that are found in the data: choose the bound, then count rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.accounting.convert import too_little
from headcount.contributions.bound_losses import CandidateBounds, bound_losses
from headcount.contributions.clip import N_ROWS, Limits, clip_l2, rows_per_group
from headcount.contributions.groups import group_rows
from headcount.contributions.kept_rows import rows_of_pairs, sample_rows
from headcount.contributions.lost_rows import UNIT_BITS, lost_and_kept
from headcount.contributions.tally import Tally
from headcount.errors import UsageError
from headcount.mechanisms.bound_choice import BoundChoice
from headcount.mechanisms.gaussian import Gaussian
from headcount.mechanisms.gaussian_threshold import GaussianThreshold
from headcount.privacy.event import Composed
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp
from headcount.releases.count_events.noise import (
    LATTICE_BITS,
    MAX_GROUPS,
    Noise,
    least_count,
    noise_for,
    noises_of,
    scaled,
)
from headcount.releases.expected import BOUNDS, NOT_LEFT_OUT, OFF, Case, limited
from headcount.releases.facts import affordable_plan
from headcount.releases.rows import draw_found, largest_rows, with_error_bars
from headcount.releases.session import Answer, Session
from headcount.results.facts import BAR_SDS, CONFIDENCE, NOISE_ONLY

if TYPE_CHECKING:
    from headcount.ledger.account import Account
    from headcount.releases.opened import Opened
    from headcount.releases.plan import Plan

STAGES = ("choosing the bound", "measuring what the bound leaves out", "counting")
CHOICE_SHARE, LOST_SHARE = Fraction(1, 20), Fraction(1, 50)
LOST_CAP = 16
"""What one user loses or keeps is measured up to so many bounds."""

ROW_TO_ROW, MAX_SHARE = 0.6, 4.0
MIN_RHO = Fraction(1, 10**5)
MAX_ROWS = 1 << 19
MAX_RATIO = 8
MAX_BOUND = 1 << 17
GROWTH = 1.25
BAR = (
    f"low to high covers the {NOISE_ONLY}, and what the bound leaves out as far as rows lose alike"
)
SPREAD = "What the bound leaves out is given back to all rows by the same share."
HOW = {
    "gaussian": "Gaussian noise and a threshold on the groups that are found; a user's rows are "
    "shortened to an l2 norm that is chosen privately",
    "laplace": "Laplace noise and a threshold on the groups that are found; of each user a number "
    "of rows is sampled that is chosen privately",
}
NOTHING_LEFT = "No noisy count was above its threshold: noise exceeds signal. Spend more."


def candidate_bounds() -> tuple[int, ...]:
    """Bounds to choose from: one to ``MAX_BOUND``, each about a quarter more than the one before.

    They are public, and one that nobody reaches costs nothing but the logarithm of their number.
    """
    bounds = [1]
    while bounds[-1] < MAX_BOUND:
        bounds.append(min(MAX_BOUND, max(bounds[-1] + 1, round(bounds[-1] * GROWTH))))
    return tuple(bounds)


def plan_found_events(
    dataset: Opened,
    by: Any,
    rules: tuple[str, ...],
    limit: Zcdp,
    *,
    top: int | None = None,
    method: str,
) -> Plan:
    """Plan counts of rows in groups that are found, from public facts and the spend alone."""
    if limit.rho < MIN_RHO:
        raise UsageError(too_little("Counts of rows in groups that are found need", MIN_RHO))
    account = dataset.account
    rest = Zcdp(limit.rho * (1 - CHOICE_SHARE - LOST_SHARE), limit.delta)
    noises = noises_of(rest, account.neighbours)
    chosen, why = noise_for(method, noises)
    choice = BoundChoice.calibrate(Zcdp(limit.rho * CHOICE_SHARE))
    # Two numbers, each raised by 0 to 1: replacing a user moves them no further than adding one.
    two = Sensitivity.of_entries(2, 1, account.neighbours)
    lost = Gaussian.calibrate(two, Zcdp(limit.rho * LOST_SHARE))
    noise = noises[chosen]
    count = _FoundEvents(dataset, account, by, rules, chosen, why, choice, lost, noise, top)
    return affordable_plan(
        dataset,
        account,
        count.event,
        count.read_and_draw,
        verb="count_events",
        by=by,
        arguments=(("method", chosen), ("top", top)),
        title="count events",
        method=HOW[chosen],
        stages=STAGES,
        details=count.details(),
        neighbours=account.neighbours,
        expects=count.expects,
    )


@dataclass(frozen=True, slots=True)
class _FoundEvents:
    """One planned count: how to read it, draw it, and describe it."""

    dataset: Opened
    account: Account
    by: Any
    rules: tuple[str, ...]
    method: str
    why: str
    choice: BoundChoice
    lost: Gaussian
    noise: Noise
    top: int | None

    @property
    def event(self) -> Composed:
        """The choice, the bias, then the noise; none depends on which bound is chosen."""
        return Composed((self.choice.event, self.lost.event, self.noise.event))

    def expects(self) -> tuple[Case, ...]:
        """The noise in bounds: the bound is chosen privately."""
        case = Case(self.noise.error_bound(OFF), BOUNDS, notes=(NOT_LEFT_OUT,))
        return (limited(case, self.top),)

    def details(self) -> tuple[tuple[str, str], ...]:
        least = least_count(self.noise)
        per_row = f"sd {self.noise.sd:.3g} rows for every row of the bound"
        top = () if self.top is None else (("top", f"the {self.top:,} largest of these"),)
        return (
            ("groups", f"found in the data; released above about {least:.3g} times the bound"),
            *top,
            ("bound", f"chosen privately from 1 to {MAX_BOUND:,}, for {CHOICE_SHARE} of the rho"),
            ("noise", f"{self.noise.law.name}, {per_row}"),
            ("why", self.why),
            ("error bar", f"{BAR}, for {LOST_SHARE} of the rho"),
            ("rules", " ".join(self.rules)),
        )

    def read_and_draw(self, session: Session) -> Answer:
        session.progress(STAGES[0])
        values = session.store.keep(self._values(session.key))
        bound = self._choose(session, values)
        session.progress(STAGES[1])
        share, share_sd = self._left_out(session, values, bound)
        session.progress(STAGES[2])
        if isinstance(self.noise, GaussianThreshold):
            gaussian = self.noise.with_norm(bound, LATTICE_BITS)
            mechanism: Noise = gaussian
            bounds = str(gaussian.bounds)
            limits = Limits(MAX_ROWS, MAX_GROUPS, LATTICE_BITS)
            contributions = clip_l2(
                *(self.dataset.table, self.by, limits),
                max_l2_squared=bound**2,
                key=session.key,
                counted=values,
            )
        else:
            mechanism = self.noise.with_rows(bound)
            contributions = sample_rows(
                self.dataset.table, self.by, bound, key=session.key, counted=values
            )
            bounds = f"at most {bound:,} rows of each user are kept, sampled from all their rows"
        scale = 1 << contributions.lattice_bits
        groups, noisy_totals = draw_found(
            Tally(contributions, mechanism.sensitivity.neighbours), mechanism, session.chance
        )
        half_width = mechanism.error_bound(CONFIDENCE)
        counts = noisy_totals / scale * (1 + share)
        unsure = np.abs(counts) * math.hypot(ROW_TO_ROW * share, share_sd)
        sds = np.hypot(mechanism.sd / scale * (1 + share), unsure)
        widths = np.hypot(half_width / scale * (1 + share), BAR_SDS * unsure)
        rows = largest_rows(with_error_bars(groups, counts, 1, sds, widths), self.top)
        nothing = () if rows.num_rows else (NOTHING_LEFT,)
        return Answer(
            rows,
            bars=NOISE_ONLY,
            method=HOW[self.method],
            bounds=bounds,
            noise=f"{mechanism.law.name}, sd {mechanism.sd / scale:.3g} rows: "
            f"{CONFIDENCE:.0%} of counts move by less than {half_width / scale:.3g}",
            notes=(
                *nothing,
                f"Method {self.method!r}: {self.why}.",
                f"Groups are released above {mechanism.threshold / scale:,.4g} noisy rows.",
                f"The bound leaves out about {share:.1%} of what it keeps. {SPREAD}",
                BAR + ".",
                *self.rules,
            ),
        )

    @property
    def is_norm(self) -> bool:
        return isinstance(self.noise, GaussianThreshold)

    def _values(self, key: bytes) -> Any:
        """The number of rows of each user in each group, as the bound will find them."""
        grouped = group_rows(self.dataset.table, self.by)
        if self.is_norm:
            return rows_per_group(grouped, Limits(MAX_ROWS, MAX_GROUPS), key)
        return rows_of_pairs(grouped)

    def _left_out(self, session: Session, values: Any, bound: int) -> tuple[float, float]:
        """What is lost as a share of what is kept, and how sure that is."""
        cap = LOST_CAP * bound
        parts = lost_and_kept(
            session.store,
            values,
            N_ROWS,
            bound,
            by_norm=self.is_norm,
            cap=cap,
            neighbours=self.account.neighbours,
        )
        lost = self.lost.times(1 << UNIT_BITS)
        noisy_lost, noisy_kept = lost.draw(parts, session.chance).tolist()
        kept = max(float(noisy_kept), lost.sd)
        share = min(MAX_SHARE, max(0.0, noisy_lost / kept))
        return share, lost.sd / kept * math.hypot(1, share)

    def _choose(self, session: Session, values: Any) -> int:
        """One of the candidates, by what each would lose; paid for by the choice."""
        bounds = candidate_bounds()
        candidates = CandidateBounds(
            bounds,
            tuple(scaled(self.noise, bound).threshold for bound in bounds),
            MAX_RATIO if self.is_norm else None,
            self.account.neighbours,
        )
        columns = [name for name in values.columns if name.startswith("hc_group_")]
        losses = bound_losses(session.store, values, columns, N_ROWS, candidates)
        return bounds[self.choice.draw(losses, session.chance)]
