"""What to expect of a count without a bound: one case for each way it may take."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headcount.mechanisms.equal_error.forecast import (
    SEVERAL,
    forecast,
    least_found,
    least_single,
    least_usual,
    most_few,
    usual_error,
)
from headcount.mechanisms.private_count_release import PrivateCountRelease
from headcount.privacy.spend import Zcdp
from headcount.releases.expected import EVENTS, NO_ROWS_KNOWN, OF_COUNT, OFF, USERS, Case, limited
from headcount.releases.released_sizes import with_sizes

if TYPE_CHECKING:
    from headcount.mechanisms.equal_error.mechanism import EqualError
    from headcount.releases.earlier import Earlier
    from headcount.releases.released_sizes import Sizes

WHEN = {
    "equal": "users are many, and in several groups",
    "single": "users are in one group, nearly all of them",
    "peel": "users are few for this spend",
}
HEAVY = (
    "or more: users in very many groups, or with very many rows, count for less, and by how much "
    "is measured with noise; at a small epsilon the error may be several times as large, as a "
    "first count tells"
)
IN_SEVERAL = (
    f"users in several groups are taken to be in {SEVERAL}; where they are in {4 * SEVERAL}, a "
    "group needs twice as many"
)
PEELED = 10
IN_TURN = f"few users: so large is each of {PEELED} groups, for most of them to be shown"
WHICH = (
    "which case is yours: a profile by the same columns tells, or a first count; then it alone is "
    "shown here"
)


def expected_cases(
    mechanism: EqualError,
    sizes: Sizes | None,
    way: str | None = None,
    earlier: Earlier | None = None,
) -> tuple[Case, ...]:
    """Each way that the count may take; one alone where an earlier release says which."""
    profile = mechanism.profile
    if mechanism.method != "auto":
        way = mechanism.method
    elif profile is not None:
        way = mechanism.branch(profile.crowd)
    if way is not None:
        return (limited(_case(mechanism, way, sizes, earlier=earlier), mechanism.top),)
    cases = [
        limited(_case(mechanism, way, sizes, when), mechanism.top) for way, when in WHEN.items()
    ]
    return (*cases[:-1], replace(cases[-1], notes=(*cases[-1].notes, WHICH)))


def _case(
    mechanism: EqualError,
    way: str,
    sizes: Sizes | None,
    when: str = "",
    earlier: Earlier | None = None,
) -> Case:
    if way == "single":
        one_pass = mechanism.threshold(mechanism.shares.after_profile)
        error = one_pass.error_bound(OFF) / one_pass.bounds.scale
        return with_sizes(Case(error, least=least_single(mechanism), when=when), sizes)
    if way == "peel":
        limit = Zcdp(mechanism.shares.after_profile, mechanism.limit.delta)
        least = PrivateCountRelease.calibrate(limit, mechanism.within).least_of(PEELED)
        few = most_few(mechanism) if when else None
        return Case(mechanism.within, OF_COUNT, least=least, below=few, when=when, notes=(IN_TURN,))
    return _equal(mechanism, sizes, when, earlier)


def _equal(mechanism: EqualError, sizes: Sizes | None, when: str, earlier: Earlier | None) -> Case:
    error, profile = usual_error(mechanism), mechanism.profile
    if profile is None:
        # What heavy users lose is measured too: by how much that is off, only a count can tell.
        notes = (IN_SEVERAL,) if earlier else (HEAVY, IN_SEVERAL)
        case = Case(
            error if earlier is None else earlier.error_at(mechanism.limit.rho, error),
            OF_COUNT,
            least=least_usual(mechanism),
            of=USERS if mechanism.max_value == 1 else EVENTS,
            bound=earlier is None,
            when=when,
            notes=notes,
        )
        return with_sizes(case, sizes)
    least = least_found(mechanism, profile.crowd)
    if sizes is None:
        return Case(error, OF_COUNT, least=least, when=when, notes=(NO_ROWS_KNOWN,))
    found = forecast(mechanism, profile.crowd, sizes.users)
    more = not sizes.whole and found.n_rows == len(sizes.users)
    return Case(found.error, OF_COUNT, found.n_rows, more, least, when=when, sizes=sizes.entry)
