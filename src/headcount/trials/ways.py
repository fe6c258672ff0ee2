"""Ways to call every verb, and the tables that they are tried on."""

from __future__ import annotations

from typing import Any

from headcount.audit.neighbours import Rows
from headcount.privacy.neighbours import Neighbours
from headcount.releases.verbs import VERBS as STATED
from headcount.trials.tables import GROUP

N_USERS, N_GROUPS = 400, 6
GROUPS = [f"g{j}" for j in range(N_GROUPS)]
ONE: Rows = tuple(
    (f"u{i}", group, 1)
    for i in range(N_USERS)
    for j, group in enumerate(GROUPS)
    if i < N_USERS - 16 * j
)
"""No two groups are of one size, also when a user comes or goes: their order tells them apart."""
OTHER: Rows = (
    *(
        (f"w{i}", group, 1 + (i + j) % 3)
        for i in range(N_USERS // 3)
        for j, group in enumerate(GROUPS)
        if j <= i % N_GROUPS
    ),
    *((f"w{i}", f"g{N_GROUPS}", 1) for i in range(0, 60, 4)),
)
"""Fewer users, in the same groups and one more, with more rows: there is no true number that stays,
nor that of groups, of users or of rows."""
VICTIM = tuple(("victim", group, 40) for group in GROUPS)
"""One more user, as heavy as can be in groups that others are in."""
REPLACED = tuple(("victim", group, 2) for group in GROUPS[4:])
PAIRS: dict[Neighbours, tuple[Rows, Rows]] = {
    Neighbours.ADD_REMOVE: (ONE, ONE + VICTIM),
    Neighbours.REPLACE: (ONE + REPLACED, ONE + VICTIM[:4]),
}
"""Two tables that differ by one user. Who is replaced leaves groups for others, and has another
number of groups and of rows."""
SINGLE: Rows = tuple(
    (f"u{j} {i}", group, 1) for j, group in enumerate(GROUPS) for i in range(N_USERS - 16 * j)
)
"""Every user is in one group."""
ONE_GROUP_EACH = "one group each"
LONG_LIST = [*GROUPS, *(f"h{j}" for j in range(400))]
"""Nobody is in most of these."""

WAYS: dict[str, dict[str, Any]] = {
    "count_users, equal": {"by": GROUP, "within": 0.2, "method": "equal"},
    "count_users, auto": {"by": GROUP, "within": 0.2},
    "count_users, auto, without a target": {"by": GROUP},
    "count_users, auto, few users": {"by": GROUP, "within": 0.2, "spend": "1/8"},
    "count_users, auto, one group each": {"by": GROUP, "within": 0.2},
    "count_users, bound": {"by": GROUP, "bound": 2},
    "count_users, one listed": {"by": GROUP, "groups": GROUPS[:1]},
    "count_users, a list, one group each": {"by": GROUP, "groups": GROUPS, "within": 0.2},
    "count_users, a long list": {"by": GROUP, "groups": LONG_LIST},
    "count_users, listed": {"by": GROUP, "groups": GROUPS},
    "count_users, a list with a target": {"by": GROUP, "groups": GROUPS, "within": 0.2},
    "count_users, peel": {"by": GROUP, "within": 0.2, "method": "peel"},
    "count_users, top": {"by": GROUP, "top": 2},
    "count_users, laplace": {"by": GROUP, "bound": 1, "method": "laplace"},
    "count_users, sample": {"by": GROUP, "method": "sample"},
    "count_events, equal": {"by": GROUP, "within": 0.2, "method": "equal"},
    "count_events, a public bound": {"by": GROUP, "groups": GROUPS, "bound": 2},
    "count_events, debiased": {"by": GROUP, "groups": GROUPS, "bound": 1, "debias": True},
    "distribution, listed": {"by": GROUP, "groups": GROUPS},
    "distribution, found": {"by": GROUP},
    "frequencies": {"by": GROUP},
    "frequencies, a public bound": {"by": GROUP, "bound": 3},
    "frequencies, at most 60": {"by": GROUP, "at_most": 60, "bound": 3},
    "frequencies, buckets": {"by": GROUP, "buckets": 61, "bound": 3},
    "profile": {"by": GROUP},
    "quantiles, hierarchy": {"of": None, "bounds": (0, 32), "method": "hierarchy"},
    "quantiles, sample": {"of": None, "bounds": (0, 32), "method": "sample"},
    "count_ranges": {"of": None, "ranges": [0, 4, 8, 400]},
}
"""What is asked; the verb is what comes before the first comma. All branches that a method of auto
has are taken, each by the numbers that were drawn for it."""
VERBS = WAYS | {
    verb: {"by": GROUP}
    for verb, stated in STATED.items()
    if "by" in stated.own and not any(way.split(",")[0] == verb for way in WAYS)
}
"""These, and verbs that nothing is said of here."""


def tables_of(verb: str, relation: Neighbours) -> tuple[Rows, Rows]:
    """Two tables that differ by one user, of a kind that leads the way that is meant."""
    if verb.endswith(ONE_GROUP_EACH):
        return SINGLE, SINGLE + VICTIM
    return PAIRS[relation]


FINDING = frozenset(["count_users", "count_events", "distribution"])


def finds_groups(verb: str) -> bool:
    """Whether rows are of groups that nobody listed: somebody alone in one would be named."""
    return verb.split(",")[0] in FINDING and "groups" not in VERBS[verb]


QUICK = (
    "count_users, peel",
    "distribution, found",
    "frequencies",
    "profile",
    *(VERBS.keys() - WAYS.keys()),
)
FILES = {"frequencies": "csv", "profile": "parquet", "count_users, laplace": "parquet"}
"""What is asked of files, by what their names end in; all else is asked of tables in memory."""
ADD_REMOVE_ONLY = frozenset(
    [
        "count_users, equal",
        "count_users, auto",
        "count_users, auto, without a target",
        "count_users, auto, few users",
        "count_users, auto, one group each",
        "count_users, bound",
        "count_users, a list, one group each",
        "count_users, a list with a target",
        "count_users, peel",
        "count_users, top",
        "count_events, equal",
        "distribution, found",
    ]
)
"""What is refused under replacement, in words and before any charge."""
SAMPLED = frozenset(["count_users, sample", "quantiles, sample"])
"""The engine tosses coins for these, under the key of the release: rows are of the sample."""
