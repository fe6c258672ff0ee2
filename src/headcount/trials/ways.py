"""Ways to call every verb, and the tables that they are tried on."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from headcount.audit.neighbours import Rows
from headcount.contributions.values import PER_USER
from headcount.privacy.neighbours import Neighbours
from headcount.releases.verbs import VERBS as STATED
from headcount.tables.by import bins, truncate
from headcount.trials.tables import GROUP, USER, arrow_table

N_USERS, N_GROUPS, N_MANY = 400, 6, 40
GROUPS = [f"g{j}" for j in range(N_GROUPS)]
MANY_GROUPS = [f"g{j:02}" for j in range(N_MANY)]


def _one(groups: list[str], step: int) -> Rows:
    """No two groups are of one size, also when a user comes or goes: that tells them apart."""
    return tuple(
        (f"u{i}", group, 1)
        for i in range(N_USERS)
        for j, group in enumerate(groups)
        if i < N_USERS - step * j
    )


def _other(groups: list[str], one_more: str, *, backwards: bool = True) -> Rows:
    """Fewer users, in the same groups and one more, with more rows: there is no true number that
    stays, nor that of groups, of users or of rows, nor the order of groups by size.
    """
    n = len(groups)
    by_size = groups[::-1] if backwards else groups
    return (
        *(
            (f"w{i}", group, 1 + (i + j) % 3)
            for i in range(N_USERS // 3)
            for j, group in enumerate(by_size)
            if j <= i % n
        ),
        *((f"w{i}", one_more, 1) for i in range(0, 60, 4)),
    )


ONE, OTHER = _one(GROUPS, 16), _other(GROUPS, f"g{N_GROUPS}")
OTHER_BY_SIZE = _other(GROUPS, f"g{N_GROUPS}", backwards=False)
"""For choices among groups by size, which are played by their places."""
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
MANY_ONE, MANY_OTHER = _one(MANY_GROUPS, 8), _other(MANY_GROUPS, f"g{N_MANY}")
VICTIM_OF_MANY = tuple(("victim", group, 40) for group in MANY_GROUPS)
REPLACED_OF_MANY = tuple(("victim", group, 2) for group in MANY_GROUPS[-4:])
MANY_PAIRS: dict[Neighbours, tuple[Rows, Rows]] = {
    Neighbours.ADD_REMOVE: (MANY_ONE, MANY_ONE + VICTIM_OF_MANY),
    Neighbours.REPLACE: (MANY_ONE + REPLACED_OF_MANY, MANY_ONE + VICTIM_OF_MANY[:-4]),
}
FEW: tuple[Rows, ...] = ((), (("w0", "g0", 1),))
"""Tables with next to nothing in them: nobody may be told so."""
ONE_GROUP_EACH, MANY, MISSING = "one group each", "many groups", "a missing group"
KIND, NUMBER, DAY = "kind", "number", "day"
SOME = f"WHERE {NUMBER} >= 20"
EDGES = [0, 4, 8, 400]
COLUMN_EDGES = [0, 35, 1000, 4000]
"""Whoever is exchanged is in one range before and in another after, by every number of theirs."""
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
    "count_ranges": {"of": None, "ranges": EDGES},
    "count_ranges, hierarchy": {"of": None, "ranges": EDGES, "method": "hierarchy"},
    "count_ranges, sample": {"of": None, "ranges": EDGES, "method": "sample"},
    "count_ranges, sample-levels": {"of": None, "ranges": EDGES, "method": "sample-levels"},
    **{
        f"count_ranges, {word} of a column": {
            "of": NUMBER,
            "ranges": COLUMN_EDGES,
            "per_user": word,
        }
        for word in PER_USER
    },
    "quantiles, exponential": {
        "of": None,
        "at": (0.25, 0.5, 0.75),
        "bounds": (0, 32),
        "method": "exponential",
    },
    "quantiles, sample-levels": {"of": None, "bounds": (0, 32), "method": "sample-levels"},
    "quantiles, sample-search": {"of": None, "bounds": (0, 32), "method": "sample-search"},
    "quantiles, sampled of a column": {"of": NUMBER, "bounds": (0, 64), "per_user": "sampled"},
    "count_users, threshold": {"by": GROUP, "bound": 2, "method": "threshold"},
    "count_events, gaussian": {"by": GROUP, "groups": GROUPS, "bound": 2, "method": "gaussian"},
    "count_events, laplace": {"by": GROUP, "groups": GROUPS, "bound": 2, "method": "laplace"},
    "frequencies, central": {"by": GROUP, "bound": 3, "method": "central"},
    "frequencies, laplace": {"by": GROUP, "groups": GROUPS, "bound": 3, "method": "laplace"},
    **{
        f"distribution, {method}": {"by": GROUP, "groups": GROUPS, "method": method}
        for method in ("clip", "coarse-fine", "gaussian", "laplace")
    },
    "count_users, two columns": {"by": [GROUP, KIND], "bound": 2},
    "count_users, two columns, auto": {"by": [GROUP, KIND], "within": 0.2},
    "count_users, bins": {"by": bins(NUMBER, 20), "bound": 2},
    "count_users, days": {"by": truncate(DAY, "day"), "bound": 2},
    f"count_users, {MISSING}": {"by": GROUP, "bound": 2},
    f"count_users, auto, {MANY}": {"by": GROUP, "within": 0.2},
    f"count_events, equal, {MANY}": {"by": GROUP, "within": 0.2, "method": "equal"},
    f"distribution, found, {MANY}": {"by": GROUP},
    f"frequencies, {MANY}": {"by": GROUP, "bound": 3},
    f"profile, {MANY}": {"by": GROUP},
    "sql, users": {
        "query": f"SELECT {GROUP}, COUNT(DISTINCT {USER}) FROM events {SOME} GROUP BY 1"  # noqa: S608
    },
    "sql, events": {"query": f"SELECT {GROUP}, COUNT(*) FROM events {SOME} GROUP BY 1"},  # noqa: S608
}
"""What is asked; the verb is what comes before the first comma. All branches that a method of auto
has are taken, each by the numbers that were drawn for it."""
VERBS = WAYS | {
    verb: {"by": GROUP}
    for verb, stated in STATED.items()
    if "by" in stated.own and not any(way.split(",")[0] == verb for way in WAYS)
}
"""These, and verbs that nothing is said of here."""


def tables_of(verb: str, relation: Neighbours) -> tuple[Rows, Rows, Rows]:
    """Two tables that differ by one user, of a kind that leads the way meant, and another."""
    if verb.endswith(ONE_GROUP_EACH):
        return SINGLE, SINGLE + VICTIM, OTHER
    if verb.endswith(MANY):
        return *MANY_PAIRS[relation], MANY_OTHER
    return *PAIRS[relation], OTHER_BY_SIZE if verb in BY_SIZE else OTHER


def table_of(rows: Rows, verb: str) -> pa.Table:
    """The rows, with a text, a number and a time beside each group, which tell no more than it."""
    if verb.endswith(MISSING):
        rows = tuple(row for row in rows if row[1] in GROUPS)
    numbers = [int(str(group)[1:]) for _, group, _ in rows]
    days = [datetime(2026, 1, 1) + timedelta(days=number) for number in numbers]
    beside = {
        KIND: pa.array([("even", "odd")[number % 2] for number in numbers], pa.string()),
        NUMBER: pa.array([10 * number for number in numbers], pa.int64()),
        DAY: pa.array(days, pa.timestamp("us")),
    }
    if verb.endswith(MISSING):
        # Missing groups are the last, whatever others there are.
        rows = tuple((user, None if group == GROUPS[-1] else group, n) for user, group, n in rows)
    return arrow_table(rows, **beside)


BY_SIZE = frozenset(["count_users, auto, few users", "count_users, peel", "count_users, top"])
FINDING = frozenset(["count_users", "count_events", "distribution", "sql"])


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
        "count_users, threshold",
        "count_users, a list, one group each",
        "count_users, a list with a target",
        "count_users, peel",
        "count_users, top",
        "count_events, equal",
        "count_users, two columns",
        "count_users, two columns, auto",
        "count_users, bins",
        "count_users, days",
        f"count_users, {MISSING}",
        f"count_users, auto, {MANY}",
        f"count_events, equal, {MANY}",
        "distribution, found",
        f"distribution, found, {MANY}",
        "sql, users",
    ]
)
"""What is refused under replacement, in words and before any charge."""
SAMPLED = frozenset(way for way, said in VERBS.items() if "sample" in str(said.get("method")))
"""The engine tosses coins for these, under the key of the release: rows are of the sample."""
