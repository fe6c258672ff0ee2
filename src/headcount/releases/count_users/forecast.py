"""What to expect of a count without a bound: one case for each way it may take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.mechanisms.equal_error.forecast import forecast, least_found, usual_error
from headcount.releases.expected import NO_ROWS_KNOWN, OF_COUNT, OFF, Case, limited
from headcount.releases.released_sizes import with_sizes

if TYPE_CHECKING:
    from headcount.mechanisms.equal_error.mechanism import EqualError
    from headcount.releases.released_sizes import Sizes

WHEN = {
    "equal": "users are many, and in several groups",
    "single": "users are in one group, nearly all of them",
    "peel": "users are few for this spend",
}
HEAVY = "a few users with very many rows make it larger: what they lose is not in it"


def expected_cases(mechanism: EqualError, sizes: Sizes | None) -> tuple[Case, ...]:
    """Each way that the count may take; one alone where a released profile says which."""
    profile = mechanism.profile
    if mechanism.method != "auto" or profile is not None:
        way = mechanism.method if profile is None else mechanism.branch(profile.crowd)
        return (limited(_case(mechanism, way, sizes), mechanism.top),)
    return tuple(
        limited(_case(mechanism, way, sizes, when), mechanism.top) for way, when in WHEN.items()
    )


def _case(mechanism: EqualError, way: str, sizes: Sizes | None, when: str = "") -> Case:
    if way == "single":
        one_pass = mechanism.threshold(mechanism.shares.after_profile)
        scale = one_pass.bounds.scale
        error, least = one_pass.error_bound(OFF) / scale, one_pass.threshold / scale
        return with_sizes(Case(error, least=least, when=when), sizes)
    if way == "peel":
        return Case(mechanism.within, OF_COUNT, when=when)
    return _equal(mechanism, sizes, when)


def _equal(mechanism: EqualError, sizes: Sizes | None, when: str) -> Case:
    error, profile = usual_error(mechanism), mechanism.profile
    if mechanism.max_value > 1:
        return Case(error, OF_COUNT, when=when, notes=(HEAVY,))
    if profile is None:
        return Case(error, OF_COUNT, when=when, notes=(NO_ROWS_KNOWN,))
    least = least_found(mechanism, profile.crowd)
    if sizes is None:
        return Case(error, OF_COUNT, least=least, when=when, notes=(NO_ROWS_KNOWN,))
    found = forecast(mechanism, profile.crowd, sizes.users)
    more = not sizes.whole and found.n_rows == len(sizes.users)
    return Case(found.error, OF_COUNT, found.n_rows, more, least, when, sizes=sizes.entry)
