"""``frequencies``: how many groups have each number of users, but not which groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.accounting.compose import cost
from headcount.contributions.bound import bound as bound_contributions
from headcount.contributions.frequencies import true_frequencies
from headcount.contributions.groups import Grouped, group_rows
from headcount.contributions.profile import users_per_cell
from headcount.errors import UsageError
from headcount.mechanisms.gaussian import Gaussian
from headcount.privacy.bounds import Bounds
from headcount.privacy.event import Event, Filtered
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp
from headcount.releases.expected import OF_COUNTS, Case
from headcount.releases.facts import affordable_plan, limit_for
from headcount.releases.frequencies.bound import MAX_BOUND, choose_bound
from headcount.releases.frequencies.draw import Central, DrawnFrequencies, Laplace
from headcount.releases.released_profile import released_profile
from headcount.releases.request import spell_groups
from headcount.releases.session import Answer, Session
from headcount.results.frequencies import rows_of, stated_numbers

if TYPE_CHECKING:
    from headcount.contributions.listed import Groups
    from headcount.ledger.account import Account
    from headcount.privacy.budget import Budget
    from headcount.releases.opened import Opened
    from headcount.releases.plan import Plan

STAGES = (
    "measuring in how many groups users are",
    "counting groups of each size, with noise",
)
PROFILE_SHARE = Fraction(1, 10)
BAR = "low to high covers the noise in the number of groups with exactly that count"
ALL = "the error is that of all counts in sum, matched by rank"
WORSE = (
    "Warning: the error is likely more than half of all there is; no answer might be a better "
    "one. Spend more, lower the bound, or look at fewer groups."
)


def plan_frequencies(
    dataset: Opened,
    by: Any,
    *,
    groups: Sequence[Any] | None,
    at_most: int | None,
    buckets: int | None,
    bound: int | None,
    method: str,
    spend: Budget | Fraction,
) -> Plan:
    """Decide method, shares and noise from public facts and the spend alone."""
    account = dataset.account
    grouped = group_rows(dataset.table, by, groups)
    limit = limit_for(account, spend)
    _check(groups, at_most, buckets, method)
    listed = None if grouped.listed is None else len(grouped.listed)
    most = MAX_BOUND if listed is None else min(MAX_BOUND, listed)
    if bound is not None and listed is not None:
        bound = min(bound, listed)
    rho = limit.rho if bound is not None else limit.rho * (1 - PROFILE_SHARE)
    noise: Central | Laplace
    if method == "laplace" or buckets is not None:
        noise = Laplace(Zcdp(rho), buckets or listed or 1, buckets is not None, account.neighbours)
    else:
        noise = Central(Zcdp(rho), at_most if listed is None else listed, account.neighbours)
    work = _Frequencies(dataset, account, by, grouped.given, grouped, noise, bound, most, limit)
    return affordable_plan(
        dataset,
        account,
        work.event,
        work.read_and_draw,
        verb="frequencies",
        by=by,
        groups=groups,
        arguments=(
            ("groups", spell_groups(grouped.given)),
            ("at_most", at_most),
            ("buckets", buckets),
            ("bound", bound),
            ("method", noise.name),
        ),
        title="frequencies",
        method=noise.how,
        stages=STAGES,
        details=work.details(),
        neighbours=account.neighbours,
        expects=work.expects,
    )


def _check(groups: object, at_most: int | None, buckets: int | None, method: str) -> None:
    nothing = "Nothing was read and nothing was charged."
    if method == "central" and buckets is not None:
        raise UsageError(f"method='central' sorts counts and needs no buckets. {nothing}")
    if groups is not None and buckets is not None:
        raise UsageError(f"Give groups= or buckets=, not both: one is the domain. {nothing}")
    if method == "laplace" and groups is None and buckets is None:
        raise UsageError(
            "method='laplace' puts noise on every group there could be. Name them with groups=, or "
            f"hash them with buckets=, two to four times as many as there are rows. {nothing}"
        )
    if at_most is not None and (groups is not None or buckets is not None or method == "laplace"):
        raise UsageError(
            f"at_most= is for method='central' without groups=, which says the same. {nothing}"
        )


@dataclass(frozen=True, slots=True)
class _Frequencies:
    """One planned release: how to read it, draw it, and describe it."""

    dataset: Opened
    account: Account
    by: Any
    groups: Groups | None
    grouped: Grouped
    noise: Central | Laplace
    bound: int | None
    most: int
    limit: Zcdp

    @property
    def event(self) -> Event:
        # A bound that is chosen from the profile sets the later noise, so the steps are adaptive:
        # each is calibrated to its share, whatever the choice.
        return (
            Filtered(self.limit.rho, Fraction(0))
            if self.bound is None
            else self.noise.event(self.bound)
        )

    @property
    def profile(self) -> Gaussian:
        one_change = Sensitivity.of_cell(self.account.neighbours)
        return Gaussian.calibrate(one_change, Zcdp(self.limit.rho * PROFILE_SHARE))

    def expects(self) -> tuple[Case, ...]:
        """What all counts are off by together, where a released profile says how many there are."""
        released = None if self.groups is not None else released_profile(self.dataset, self.by)
        if released is None:
            return (Case(None),)
        profile, crowd = released[0], released[0].crowd
        bound = (
            self.bound
            or choose_bound(
                np.array(profile.noisy_users), profile.sd, self.most, self.noise.expected_error
            ).bound
        )
        pairs = max(1.0, float(crowd.users @ np.minimum(crowd.groups, bound)))
        return (Case(self.noise.expected_error(pairs, bound) / pairs, OF_COUNTS, notes=(ALL,)),)

    def details(self) -> tuple[tuple[str, str], ...]:
        chosen = "chosen from a private profile of the users, for a tenth of the spend"
        bound = chosen if self.bound is None else str(Bounds(self.bound, self.bound))
        return (
            ("groups", self.noise.domain),
            ("bound", bound),
            ("error bar", BAR),
            ("rules", " ".join(self.grouped.rules)),
        )

    def read_and_draw(self, session: Session) -> Answer:
        bound, notes = self.bound, [BAR]
        if bound is None:
            session.progress(STAGES[0])
            profile = self.profile
            budget = session.chance.filter(cost(self.event))
            budget.charge(cost(profile.event))
            users = users_per_cell(self.dataset.table, self.by, self.account.neighbours)
            noisy_users = profile.draw(users, session.chance)
            chosen = choose_bound(noisy_users, profile.sd, self.most, self.noise.expected_error)
            bound = chosen.bound
            for event in self.noise.events(bound):
                budget.charge(cost(event))
            notes.append(
                f"Users count in up to {bound:,} groups, chosen from a private profile; that "
                f"leaves out about {chosen.lost:.0%} of all pairs of user and group."
            )
        session.progress(STAGES[1])
        bounds = Bounds(bound, bound)
        contributions = bound_contributions(
            self.dataset.table, self.by, bounds, key=session.key, groups=self.groups
        )
        hashed_into, relation = self.noise.hashed_into, self.account.neighbours
        frequencies = true_frequencies(contributions, hashed_into, relation)
        drawn = self.noise.draw(frequencies, bound, session.chance)
        notes += [*drawn.notes, *_error_notes(drawn), *self.grouped.rules]
        return Answer(
            rows_of(drawn.frequencies, *drawn.noisy),
            method=self.noise.how,
            bounds=str(bounds),
            noise=drawn.noise,
            notes=tuple(notes),
            value="groups",
            stated=stated_numbers(drawn.frequencies),
        )


def _error_notes(drawn: DrawnFrequencies) -> list[str]:
    found = drawn.frequencies
    total = found.total().value
    share = found.errors.l1 / max(total, 1.0)
    notes = [
        f"Expected error: counts matched by rank are off by {found.errors.l1:,.3g} in sum, "
        f"{share:.1%} of all {total:,.4g}."
    ]
    return [*notes, WORSE] if found.is_worse_than_nothing else notes
