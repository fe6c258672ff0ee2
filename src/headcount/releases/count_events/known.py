"""``count_events`` of known groups: choose the bound, measure what it takes, add noise to all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.accounting.convert import too_little
from headcount.contributions.events import Events
from headcount.contributions.tally import Tally
from headcount.errors import UsageError
from headcount.mechanisms.clip_choice import RATIO_BITS, ClipChoice, ratio_cap
from headcount.mechanisms.gaussian import Gaussian
from headcount.mechanisms.laplace import Laplace
from headcount.privacy.bounds import MAX_GROUPS_LIMIT
from headcount.privacy.event import Composed
from headcount.privacy.length import Length, Norm, unit_sensitivity
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp
from headcount.releases.count_events.far import Far, Seen, not_shown
from headcount.releases.expected import BOUNDS, EVENTS, NOT_LEFT_OUT, OFF, Case, limited
from headcount.releases.facts import affordable_plan
from headcount.releases.request import spell_groups
from headcount.releases.rows import (
    below_zero,
    draw_known,
    largest_rows,
    none_of,
    with_error_bars,
)
from headcount.releases.session import Answer, Session
from headcount.releases.windows import Over, over_windows
from headcount.results.facts import BAR_SDS, CONFIDENCE, NOISE_ONLY

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from headcount.contributions.groups import Grouped
    from headcount.contributions.listed import Groups
    from headcount.ledger.account import Account
    from headcount.releases.opened import Opened
    from headcount.releases.plan import Plan

# Of the budget. With a twentieth for the loss, bars held 84 % on ubuntu_irc_words. With a tenth for
# those far beyond the bound, 50 robots in one of 16 groups were missed by one release in five at
# epsilon 1.
CHOICE, LOSS, BEYOND = Fraction(6, 100), Fraction(9, 100), Fraction(15, 100)
STAGES = (
    "choosing the bound",
    "measuring what the bound leaves out",
    "counting users far beyond the bound",
    "counting",
)
MIN_RHO = Fraction(1, 10**6)
LOSS_BITS = 20
# Times the bound and the largest ratio: the most that one user's loss counts for. The few who have
# most of the rows lose several times that, and with 3 hide half of it; but the noise of what was
# lost is in proportion, and few groups share it. Measured on 2 to 500 groups of five datasets.
LEAST_CAP, MOST_CAP, GROUPS_PER_CAP = 3.0, 9.0, 5
ROW_TO_ROW = 1.0  # how unequal rows lose, as a share of what they lose
MOST_LOST = 0.5  # of the counts; beyond that nobody knows what a row would have been
METHODS = {"auto": Norm.L2, "gaussian": Norm.L2, "laplace": Norm.L1}
WHY = {
    "auto": "Gaussian: at this spend its noise is 0.8 of Laplace's for the same bound, and no "
    "user's l2 norm is above their l1 norm",
    "gaussian": "Gaussian, as asked",
    "laplace": "Laplace, as asked",
}
METHOD = "noise on every known group, users clipped to a bound"
BAR = "low to high covers the noise and what the bound leaves out, as measured privately"
GIVEN_BAR = (
    f"low to high covers the {NOISE_ONLY}, and what the given bound leaves out as far as that was "
    "measured"
)
SPREAD = (
    "What the bound leaves out is measured as one total and given back to rows by size. From a "
    "user far beyond the bound only a part is measured"
)
FEW_UNSEEN = (
    ": groups where such users stand out are given more, or are not shown, and fewer than about "
    "{users:,.0f} of them in a group are not seen at this spend"
)
TOO_MUCH_LOST = (
    "Noise exceeds the signal: the bound leaves out about {share:.0%} of all events, and it may be "
    "more than half, so no rows are released. Spend more, or list fewer groups."
)
NO_ROWS = (
    "Noise exceeds the signal: at this spend even the first event of every user would need more "
    "noise than it is worth, so no rows are released. Spend more, or list fewer groups."
)


def loss_cap(norm: Norm, n_groups: int) -> float:
    """The most that one user's loss counts for, in bounds: public."""
    cap = min(MOST_CAP, LEAST_CAP + n_groups / GROUPS_PER_CAP)
    return cap * ratio_cap(norm, n_groups) / (1 << RATIO_BITS)


def plan_known_events(
    dataset: Opened,
    by: Any,
    groups: Groups,
    grouped: Grouped,
    limit: Zcdp,
    *,
    top: int | None,
    bound: float | None,
    method: str,
) -> Plan:
    """Plan counts of events in known groups."""
    if limit.rho < MIN_RHO:
        raise UsageError(too_little("Counts of events need", MIN_RHO))
    count = _KnownCount.of(dataset, by, groups, grouped, limit, top, bound, method)
    return affordable_plan(
        dataset,
        count.account,
        count.event,
        count.read_and_draw,
        verb="count_events",
        by=by,
        groups=groups,
        arguments=(
            ("groups", spell_groups(groups)),
            ("bound", None if count.bound is None else str(count.bound.value)),
            ("method", str(count.norm)),
            ("top", top),
        ),
        title="count events",
        method=METHOD,
        stages=STAGES,
        details=count.details(),
        neighbours=count.account.neighbours,
        expects=count.expects,
        over=over_windows(dataset.table.windows, Over.PERSON),
    )


def relation_of(dataset: Opened, account: Account) -> Neighbours:
    """What noise is made for: over several windows, one of them changes all that a user gives.

    That is a user who is exchanged, as one who has other rows [WN4]; what it costs holds for the
    user within a window, who is added or removed.
    """
    several = over_windows(dataset.table.windows, Over.PERSON) is not None
    return Neighbours.REPLACE if several else account.neighbours


@dataclass(frozen=True, slots=True)
class _KnownCount:
    """One planned count: its stages, how to read and draw them, and how to describe them."""

    dataset: Opened
    account: Account
    by: Any
    groups: Groups
    grouped: Grouped
    top: int | None
    method: str
    norm: Norm
    bound: Length | None
    choice: ClipChoice | None
    loss: Gaussian
    far: Far | None
    noise: Gaussian | Laplace

    @classmethod
    def of(
        cls,
        dataset: Opened,
        by: Any,
        groups: Groups,
        grouped: Grouped,
        limit: Zcdp,
        top: int | None,
        bound: float | None,
        method: str,
    ) -> _KnownCount:
        """Calibrate every stage to its share; together they cost at most the limit."""
        account, norm, n_groups = dataset.account, METHODS[method], grouped.n_listed
        relation = relation_of(dataset, account)
        chosen = CHOICE * limit.rho if bound is None else Fraction(0)
        lost, beyond = LOSS * limit.rho, BEYOND * limit.rho
        if bound is not None or n_groups > MAX_GROUPS_LIMIT:
            beyond = Fraction(0)
        spend = Zcdp(limit.rho - chosen - lost - beyond)
        unit = unit_sensitivity(norm, n_groups, relation)
        noise: Gaussian | Laplace
        if norm is Norm.L1:
            noise = Laplace.calibrate(unit, spend)
            mean_noise = n_groups * float(noise.scale)
        else:
            noise = Gaussian.calibrate(unit, spend)
            mean_noise = n_groups * noise.sd * math.sqrt(2 / math.pi)
        # One number that a user raises by 0 to 1: replacing a user moves it no further than adding.
        one = Sensitivity.of_sum(1, relation)
        return cls(
            dataset,
            account,
            by,
            groups,
            grouped,
            top,
            method,
            norm,
            None if bound is None else Length.of(norm, bound),
            ClipChoice.calibrate(norm, n_groups, mean_noise, Zcdp(chosen)) if chosen else None,
            Gaussian.calibrate(one, Zcdp(lost)),
            Far.calibrate(n_groups, Zcdp(beyond), relation) if beyond else None,
            noise,
        )

    @property
    def event(self) -> Composed:
        choice = () if self.choice is None else (self.choice.event,)
        far = () if self.far is None else (self.far.noise.event,)
        return Composed((*choice, self.loss.event, *far, self.noise.event))

    @property
    def bar(self) -> str:
        return GIVEN_BAR if self.choice is None else BAR

    def expects(self) -> tuple[Case, ...]:
        """The noise, which is public where the bound is, and else in bounds."""
        error, n_rows = self.noise.error_bound(OFF), self.grouped.n_listed
        case = Case(error, BOUNDS, n_rows, notes=(NOT_LEFT_OUT,))
        if self.bound is not None:
            case = Case(error * float(self.bound.value), EVENTS, n_rows, notes=(NOT_LEFT_OUT,))
        return (limited(case, self.top),)

    def details(self) -> tuple[tuple[str, str], ...]:
        kept = "all released" if self.top is None else f"the {self.top:,} largest released"
        if self.choice is not None:
            kept += ", but for those whose loss cannot be told, which are named"
            kept += "; none where noise exceeds the signal"
        if self.choice is None:
            bound = str(self.bound)
        else:
            bound = (
                f"chosen privately with {float(CHOICE):.0%} of the budget among "
                f"{len(self.choice.candidates)} from 1 to 2 billion events, in {self.norm}"
            )
        per_event = self.noise.error_bound(CONFIDENCE)
        return (
            ("groups", f"{self.grouped.n_listed:,} known groups, {kept}"),
            ("bound", bound),
            (
                "noise",
                f"{WHY[self.method]}; {CONFIDENCE:.0%} of counts move by less than "
                f"{per_event:.3g} times the bound",
            ),
            ("error bar", f"{self.bar}, with {float(LOSS):.0%} of the budget"),
            ("rules", " ".join(self.grouped.rules)),
        )

    def read_and_draw(self, session: Session) -> Answer:
        relation = relation_of(self.dataset, self.account)
        events = Events(self.dataset.table, self.by, self.groups, session.store, relation)
        length = self.bound
        if self.choice is not None:
            session.progress(STAGES[0])
            weights = events.weight_curve(self.choice.candidates, self.choice.cap, RATIO_BITS)
            chosen = self.choice.draw(weights, session.chance)
            length = self.choice.candidates[chosen - 1] if chosen else None
        if length is None:
            return self.answer(none_of(self.grouped), None, (NO_ROWS,))
        session.progress(STAGES[1])
        cap = loss_cap(self.norm, events.n_groups) * float(length.value)
        unit = 1 << LOSS_BITS
        lost = self.loss.times(unit)
        total = events.clipped_off(length, cap, unit)
        noisy_lost = float(lost.draw(total, session.chance)[0]) * cap / unit
        seen = Seen.nobody(events.n_groups)
        if self.far is not None:
            session.progress(STAGES[2])
            seen = self.far.seen(events, length, session.chance)
        session.progress(STAGES[3])
        mechanism = self.noise.times(length.top)
        groups, noisy_totals = draw_known(
            Tally(events.clipped(length), relation), mechanism, session.chance, ordered=True
        )
        lost_sd = self.loss.sd * cap
        kept = max(0.0, float(noisy_totals.sum()) * float(length.unit))
        whole = max(1.0, kept + noisy_lost)
        if self.choice is not None and noisy_lost + 2 * lost_sd > MOST_LOST * whole:
            says = TOO_MUCH_LOST.format(share=min(1.0, max(0.0, noisy_lost) / whole))
            return self.answer(none_of(self.grouped), length, (says,))
        rows, untold = self.rows(length, groups, noisy_totals, noisy_lost, lost_sd, seen)
        notes = not_shown(groups.filter(untold), float(length.value))
        return self.answer(rows, length, (*notes, self.bar + ".", self.spread, *below_zero(rows)))

    @property
    def spread(self) -> str:
        if self.far is None:
            return f"{SPREAD}."
        return SPREAD + FEW_UNSEEN.format(users=self.far.least(self.grouped.n_listed)) + "."

    def rows(
        self,
        length: Length,
        groups: pa.Table,
        noisy_totals: NDArray[np.int64],
        noisy_lost: float,
        lost_sd: float,
        seen: Seen,
    ) -> tuple[pa.Table, NDArray[np.bool_]]:
        """Give back to every row its share of what the bound took, and widen its bar by it.

        Beside the rows which of the groups are not shown.
        """
        counts = noisy_totals * float(length.unit)
        shares = np.maximum(counts, 0.0)
        shares /= max(1.0, float(shares.sum()))
        bias = shares * max(0.0, noisy_lost)
        lost_sds = shares * lost_sd
        # A small loss may be a large one that noise made small: rows are as uneven in that.
        unsure = np.hypot(ROW_TO_ROW * np.hypot(bias, lost_sds), lost_sds)
        unsure = np.hypot(unsure, seen.sds)
        counts = counts + bias + seen.lost
        untold = seen.untold(counts)
        scale = float(length.value)
        sds = np.hypot(self.noise.sd * scale, unsure)
        half_widths = np.hypot(self.noise.error_bound(CONFIDENCE) * scale, BAR_SDS * unsure)
        told = ~untold
        rows = with_error_bars(groups.filter(told), counts[told], 1, sds[told], half_widths[told])
        return largest_rows(rows, self.top), untold

    def answer(self, rows: pa.Table, length: Length | None, notes: tuple[str, ...]) -> Answer:
        bounds, noise = "no bound is short enough for the noise it needs", "none: no rows"
        if length is not None:
            sd = self.noise.sd * float(length.value)
            bounds, noise = str(length), f"{self.noise.law.name}, sd {sd:.3g} events"
        return Answer(
            rows,
            method=METHOD,
            bounds=bounds,
            noise=noise,
            notes=(*notes, *self.grouped.rules),
            bars=NOISE_ONLY if self.choice is None else "",
        )
