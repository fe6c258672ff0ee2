"""What can be read from all rows of a release together, which a shell shows under them. Free."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from headcount.errors import HeadcountError

if TYPE_CHECKING:
    from headcount.postprocess.frequencies import Estimate
    from headcount.results.release import Release

CALLED = {
    "distinct": "groups that anyone is in",
    "support_size": "groups, seen or not, at least",
    "total": "users in all groups, each counted in every group",
    "entropy": "entropy of a row's group, in nats",
    "coverage": "new groups in half as many further rows",
}
"""Methods of a release of frequencies, and what each is called for people."""
HALF = 0.5


def properties(release: Release) -> dict[str, Estimate]:
    """Every property by its name in Python; those that noise drowns are left out."""
    from headcount.results.frequencies import FrequencyRelease

    if not isinstance(release, FrequencyRelease) or not len(release):
        return {}
    looks: dict[str, Callable[[], Estimate]] = {
        "distinct": release.distinct,
        "support_size": release.support_size,
        "total": release.frequencies().total,
        "entropy": release.entropy,
        "coverage": lambda: release.coverage(HALF),
    }
    found: dict[str, Estimate] = {}
    for name, look in looks.items():
        with suppress(HeadcountError):
            found[name] = look()
    return found
