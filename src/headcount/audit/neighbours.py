"""The pairs of neighbouring tables that every mechanism is tried on, in one place.

A pair is a base table and the rows of one more user. Rows are written as (user, group, copies), so
that a million duplicates cost one entry until a real table is needed.

Both the empty table and the table of one user are among the bases: noise that is scaled by the
largest user in the data looks right on every other base.
"""

from __future__ import annotations

from dataclasses import dataclass

Group = str | int | None
Row = tuple[str, Group, int]
Rows = tuple[Row, ...]

VICTIM = "victim-user"
MARK = "victim-group"
"""Every group that only the added user is in starts with this."""

N_HEAVY = 6
MILLION = 1_000_000
EXTREME_TEXTS: tuple[Group, ...] = (
    None,
    "",
    " ",
    "NaN",
    "null",
    "nan",
    "-0",
    "caf\u00e9",
    "cafe\u0301",
    "\u202etxt",
    "\U0001f600",
    "x" * 10_000,
    "'; drop table t; --",
)
EXTREME_INTEGERS: tuple[Group, ...] = (None, 0, -1, 2**63 - 1, -(2**63), 2**53 + 1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A table, and what one more user adds to it."""

    name: str
    base: Rows
    added: Rows

    @property
    def with_user(self) -> Rows:
        """The larger of the two tables."""
        return self.base + self.added

    @property
    def new_groups(self) -> set[Group]:
        """The groups that only the added user is in."""
        return {group for _, group, _ in self.added} - {group for _, group, _ in self.base}


def heavy(n_users: int, n_groups: int = N_HEAVY) -> Rows:
    """A table in which each of ``n_users`` is in each of the same groups."""
    return tuple((f"u{i}", f"g{j}", 1) for i in range(n_users) for j in range(n_groups))


def pairs(bound: int, threshold: int = 20) -> list[Pair]:
    """The pairs, for a bound on groups per user and a threshold near which counts are placed."""
    many = 10 * bound + 40
    new = tuple((VICTIM, f"{MARK}-{j}", 1) for j in range(many))
    one_new = ((VICTIM, f"{MARK}-0", 1),)
    on_heavy = tuple((VICTIM, f"g{j}", 1) for j in range(N_HEAVY))
    one_user = (("u0", "g0", 1),)
    mixed = tuple((f"u{i}", f"g{j}", 1) for i in range(30) for j in range(i % 7))
    return [
        Pair("empty, and one user", (), one_new),
        Pair("empty, and one user with many new groups", (), new),
        Pair("one user, and another in the same group", one_user, ((VICTIM, "g0", 1),)),
        Pair("one user, and another with many new groups", one_user, new),
        Pair("heavy groups, and one user in all of them", heavy(threshold + 10), on_heavy),
        Pair("heavy groups, and one user with many new groups", heavy(threshold + 10), new),
        Pair("users of unequal size, and one in all groups", mixed, on_heavy + new),
        Pair("a million copies of one row", heavy(3, 1), ((VICTIM, "g0", MILLION),)),
        Pair(
            "empty, missing and strange groups",
            tuple((f"u{i}", group, 1) for i in range(3) for group in EXTREME_TEXTS[::2]),
            tuple((VICTIM, group, 1) for group in EXTREME_TEXTS),
        ),
        Pair(
            "extreme integers",
            tuple((f"u{i}", group, 1) for i in range(3) for group in EXTREME_INTEGERS[::2]),
            tuple((VICTIM, group, 1) for group in EXTREME_INTEGERS),
        ),
        Pair("a count at the threshold", heavy(threshold - 1, 1), ((VICTIM, "g0", 1),)),
        Pair("a count one below the threshold", heavy(threshold - 2, 1), ((VICTIM, "g0", 1),)),
        Pair("a tie that one user breaks", heavy(threshold, 2), ((VICTIM, "g1", 1),)),
    ]


def true_counts(rows: Rows, bound: int | None = None) -> dict[Group, int]:
    """Distinct users per group; with a bound, each user in the first ``bound`` of their groups."""
    seen: dict[str, list[Group]] = {}
    for user, group, _ in rows:
        groups = seen.setdefault(user, [])
        if group not in groups and (bound is None or len(groups) < bound):
            groups.append(group)
    counts: dict[Group, int] = {}
    for groups in seen.values():
        for group in groups:
            counts[group] = counts.get(group, 0) + 1
    return counts
