"""Trial of ``CentredGaussian``: counts of listed groups whose users are not bounded.

The questions are put to tables in the engine that differ by one user, and what reaches the noise is
held against the cost of the event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from headcount.accounting.compose import cost
from headcount.accounting.convert import rho_at
from headcount.audit.blackbox import audit_epsilon
from headcount.audit.divergence import rho
from headcount.audit.verdict import Finding, Tier
from headcount.contributions.listed_users import ListedUsers
from headcount.contributions.store import Store
from headcount.mechanisms.centred_gaussian import CentredGaussian
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.gaussian import Gaussian
from headcount.privacy.exact import exact
from headcount.privacy.query import Query
from headcount.privacy.spend import Zcdp
from headcount.tables import open_table
from headcount.trials.gaussian import law_of_count
from headcount.trials.given import given
from headcount.trials.seam import Integers, Noise, Recorder
from headcount.trials.trial import POINTS, Case, Effort, Trial

Asked = tuple[Query[Integers], Query[Integers]]
N_GROUPS, N_USERS = 9, 60
VICTIMS = (0, 1, 4, N_GROUPS)
"""In how many of the listed groups the user is who is there or not."""


def asked_of(n_groups_of_victim: int | None) -> Asked:
    """Both questions to a table, with the user or without."""
    rows = [(user, (user * 7 + k) % N_GROUPS) for user in range(N_USERS) for k in range(user % 4)]
    # In groups that are not listed, too.
    rows += [(user, N_GROUPS + user % 3) for user in range(0, N_USERS + 5, 2)]
    if n_groups_of_victim is not None:
        rows += [(999, group) for group in range(n_groups_of_victim)] + [(999, N_GROUPS)]
    table = pa.table({"u": [u for u, _ in rows], "g": [g for _, g in rows]})
    opened = open_table(table, user="u")
    listed = ListedUsers(opened, "g", list(range(N_GROUPS)), Store(opened.engine))
    return listed.differences, listed.users


@dataclass(frozen=True, slots=True)
class Variant:
    """What is declared, what is done, and to what questions."""

    declared: CentredGaussian
    done: CentredGaussian
    change: Callable[[Asked], Asked] = lambda asked: asked


Make = Callable[[CentredGaussian], Variant]


def as_shipped(mechanism: CentredGaussian) -> Variant:
    """The mechanism itself."""
    return Variant(mechanism, mechanism)


def half_noise(mechanism: CentredGaussian) -> Variant:
    """Half the standard deviation on the differences."""
    half = replace(mechanism.differences, sigma_squared=mechanism.differences.sigma_squared / 4)
    return Variant(mechanism, replace(mechanism, differences=half))


def bare_users(mechanism: CentredGaussian) -> Variant:
    """The users of any group with next to no noise of their own."""
    bare = Gaussian(mechanism.users.sensitivity, Fraction(1, 50))
    return Variant(mechanism, replace(mechanism, users=bare))


def not_centred(mechanism: CentredGaussian) -> Variant:
    """Twice the counts themselves, which a user of many groups moves by two in each."""

    def change(asked: Asked) -> Asked:
        differences, users = asked
        twice = Query(differences.sensitivity, lambda: differences.ask() + users.ask()[0])
        return twice, users

    return Variant(mechanism, mechanism, change)


def calibrated(epsilon: float, delta: float) -> CentredGaussian:
    """For the groups of the trial."""
    return CentredGaussian.calibrate(N_GROUPS, Zcdp(rho_at(exact(epsilon), exact(delta))))


def _exact(variant: Variant, subject: str) -> Finding:
    """The laws of one entry and of the users, each moved by one: divergences add up."""
    found = sum(
        times * rho(law_of_count(noise, 41), law_of_count(noise, 40))
        for times, noise in ((N_GROUPS, variant.done.differences), (1, variant.done.users))
    )
    claimed = float(cost(variant.declared.event).rho)
    return Finding(Tier.EXACT, f"{subject}, one user", "rho", claimed, found)


def _grey(variant: Variant) -> list[Finding]:
    """What reaches the noise from two tables, over the noise that is asked for."""
    claimed = float(cost(variant.declared.event).rho)
    findings = []
    base = _noises(variant, None)
    for n_groups in VICTIMS:
        with_user = _noises(variant, n_groups)
        found = sum(
            sum((a - b) ** 2 for a, b in zip(one.true_values, other.true_values, strict=True))
            / (2 * one.law.sigma_squared)
            for one, other in zip(with_user, base, strict=True)
        )
        subject = f"one user in {n_groups} listed groups"
        most = claimed if n_groups else 0.0
        findings.append(Finding(Tier.GREY_BOX, subject, "rho", most, float(found)))
    return findings


def _noises(variant: Variant, n_groups_of_victim: int | None) -> list[Noise]:
    recorder = Recorder()
    variant.done.draw(*variant.change(asked_of(n_groups_of_victim)), recorder)
    return [one for one in recorder.asked if isinstance(one, Noise)]


def _sampled(variant: Variant, epsilon: float, delta: float, n: int) -> list[Finding]:
    findings = []
    base = [query.ask() for query in variant.change(asked_of(None))]
    for n_groups in (1, N_GROUPS):
        sides = []
        for truth in ([query.ask() for query in variant.change(asked_of(n_groups))], base):
            differences, users = (np.tile(one, n) for one in truth)
            twice = variant.done.differences.draw(
                given(variant.done.differences.sensitivity, differences), Drawn()
            ).reshape(n, N_GROUPS)
            of_any = variant.done.users.draw(given(variant.done.users.sensitivity, users), Drawn())
            counts = (twice + of_any[:, None]) / 2
            sides.append(np.stack([counts.sum(axis=1), counts[:, 0], of_any], 1))
        subject = f"epsilon {epsilon}, one user in {n_groups} groups"
        findings.append(
            audit_epsilon(sides[0], sides[1], epsilon=epsilon, delta=delta, subject=subject)
        )
    return findings


def _examined(make: Make, n: int) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        findings = _grey(make(calibrated(1.0, 1e-2)))
        for epsilon, delta in POINTS if effort is Effort.FULL else POINTS[::2]:
            variant = make(calibrated(epsilon, delta))
            findings.append(_exact(variant, f"epsilon {epsilon}"))
            findings += _sampled(variant, epsilon, delta, n)
        return findings

    return examined


TRIAL = Trial(
    "centred_gaussian",
    (
        Case("as shipped", _examined(as_shipped, 40_000), is_mutant=False),
        Case("half the noise on differences", _examined(half_noise, 40_000)),
        Case("users of any group without noise", _examined(bare_users, 4_000)),
        Case("counts that are not centred", _examined(not_centred, 4_000)),
    ),
)
