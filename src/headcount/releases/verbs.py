"""Every verb, stated once: its arguments, what each must be, and what people are told of it.

Checks and commands are made from this table, and the reference from the commands. The methods of
``Dataset`` are written out for whoever reads them; a test holds them to it.
What depends on two arguments at once, on the table's columns or on the account is checked by the
verb's plan, still before the charge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_args

from headcount.privacy.argument import (
    Check,
    as_float,
    checked_by,
    flag,
    one_of,
    optional,
    real,
    text,
    whole,
)
from headcount.releases import arguments as check
from headcount.releases.choices import (
    EventsMethod,
    FrequenciesMethod,
    PerUser,
    QuantilesMethod,
    RangesMethod,
    SharesMethod,
    SqlMethod,
    UsersMethod,
)

if TYPE_CHECKING:
    from headcount.releases.opened import Opened
    from headcount.releases.plan import Plan

PLANS = "headcount.releases"


class Written(Enum):
    """How a shell writes an argument."""

    TEXT = auto()
    WHOLE = auto()
    REAL = auto()
    FLAG = auto()
    COLUMN = auto()
    """A column, or nothing, which stands for the number of a user's rows."""
    SEVERAL = auto()
    """An option that is repeated."""
    GROUPING = auto()
    """Columns with their cuts, repeated."""
    LINES = auto()
    """A file with one item on each line."""
    RANGES = auto()
    """Pairs around a colon, repeated."""
    ENDS = auto()
    """Two options, one for each end."""
    QUERY = auto()
    """A text behind the source, without an option."""


@dataclass(frozen=True, slots=True)
class Needed:
    """In place of a default: the argument must be given."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a verb. ``says`` is its line in a command's help, without what it must be."""

    check: Check
    says: str | tuple[str, ...]
    written: Written = Written.TEXT
    default: Any = None
    words: tuple[str, ...] = ()
    """What it may be, where that is one of a few words."""


@dataclass(frozen=True, slots=True)
class Verb:
    """What a verb does, in a line; the function that plans it; and its own arguments.

    Every verb has ``spend`` beside these.
    """

    does: str
    plan: str
    own: Mapping[str, Argument]

    @property
    def checks(self) -> dict[str, Check]:
        """What each argument must be."""
        return {**{name: one.check for name, one in self.own.items()}, "spend": check.spend}


def _by(*columns: str) -> Argument:
    return Argument(
        check.by(*columns),
        "What to count by: word, time:month or price:10. Repeat it.",
        Written.GROUPING,
        Needed(),
    )


def _words(says: str, choices: Any) -> Argument:
    """One of the words of a ``Literal``, the first of which is the default."""
    words: tuple[str, ...] = get_args(choices)
    listed = f"{', '.join(words[:-1])} or {words[-1]}"
    return Argument(one_of(*words), f"{says}: {listed}.", default=words[0], words=words)


def _whole(least: int, most: int, instead: str, says: str) -> Argument:
    return Argument(optional(whole(least, most, instead)), says, Written.WHOLE)


PUBLIC = "a public whole number, or leave it out"
_groups = Argument(
    optional(check.groups),
    "A text file of public groups, one per line; empty lines are skipped.",
    Written.LINES,
)
_top = _whole(1, 1 << 20, "top=100", "Only this many groups, the largest ones.")
_within = Argument(
    optional(as_float(real("0.001", 1, "within=0.10"))),
    "The relative error to aim at, such as 0.10.",
    Written.REAL,
)
_of = Argument(
    optional(text("of='price', or of=None for how many rows each user has")),
    "A column of numbers; without it, how many rows a user has.",
    Written.COLUMN,
    Needed(),
)
_per_user = _words("Which one value of a user counts", PerUser)

VERBS: dict[str, Verb] = {
    "count_users": Verb(
        "Count distinct users in each group.",
        "count_users.plan:plan_count_users",
        {
            "by": _by(*check.COUNTED),
            "groups": _groups,
            "bound": _whole(
                1, 1 << 20, "bound=20, or leave it out", "In how many groups a user counts fully."
            ),
            "within": _within,
            "top": _top,
            "method": _words("How", UsersMethod),
        },
    ),
    "count_events": Verb(
        "Count rows in each group; how many rows of one user count is limited.",
        "count_events.plan:plan_count_events",
        {
            "by": _by(*check.COUNTED),
            "groups": _groups,
            "top": _top,
            "within": _within,
            "bound": Argument(
                optional(real(1, 1 << 31, "bound=10, or leave it out")),
                "For how many events a user counts; chosen privately by default.",
                Written.REAL,
            ),
            "method": _words("How", EventsMethod),
            "debias": Argument(
                flag,
                "Undo what the bound left out; right only where users are alike.",
                Written.FLAG,
                default=False,
            ),
        },
    ),
    "distribution": Verb(
        "Show what share each group has of users' rows, averaged over users.",
        "distribution:plan_distribution",
        {
            "by": _by(*check.SHARED),
            "groups": _groups,
            "method": _words("How", SharesMethod),
            "users": _whole(1, 1 << 31, PUBLIC, "How many users there are, if that is public."),
            "samples": _whole(
                1, 1 << 31, PUBLIC, "About how many rows a user has, if that is public."
            ),
        },
    ),
    "profile": Verb(
        "Show in how many groups users are, as a private histogram.",
        "profile:plan_profile",
        {"by": _by()},
    ),
    "quantiles": Verb(
        "Show quantiles of a number over users, such as the median.",
        "values.quantiles:plan_quantiles",
        {
            "of": _of,
            "at": Argument(
                check.at, "A quantile, such as 0.9. Repeat it.", Written.SEVERAL, default=(0.5,)
            ),
            "bounds": Argument(
                check.bounds,
                (
                    "Values below this public number are moved to it.",
                    "Values above this public number are moved to it.",
                ),
                Written.ENDS,
                Needed(),
            ),
            "step": Argument(
                optional(real("1e-300", 1 << 51, "step=1, or leave it out")),
                "The width of the public cells.",
            ),
            "per_user": _per_user,
            "method": _words("How", QuantilesMethod),
        },
    ),
    "count_ranges": Verb(
        "Count users in public ranges of a number, such as ages 18 to 65.",
        "values.ranges:plan_count_ranges",
        {
            "of": _of,
            "ranges": Argument(
                check.ranges,
                "A range, its second number not included: 18:65, :18 or 65:. Repeat it.",
                Written.RANGES,
                Needed(),
            ),
            "per_user": _per_user,
            "method": _words("How", RangesMethod),
        },
    ),
    "frequencies": Verb(
        "Show how many groups have each number of users, but not which groups.",
        "frequencies.plan:plan_frequencies",
        {
            "by": _by(),
            "groups": _groups,
            "at_most": _whole(
                1, 1 << 30, PUBLIC, "How many groups there can be, if that is public."
            ),
            "buckets": _whole(
                *(2, 1 << 30, "buckets=100_000, or leave it out"),
                "Hash groups into this many buckets, with noise on each.",
            ),
            "bound": _whole(
                *(1, 1 << 12, "bound=4, or leave it out"),
                "How many groups of a user count; chosen privately if not given.",
            ),
            "method": _words("How", FrequenciesMethod),
        },
    ),
}

LANGUAGES: dict[str, Verb] = {
    "sql": Verb(
        "Answer a query in SQL, as the verb that means the same would.",
        "sql.plan:plan_sql",
        {
            "query": Argument(
                text("query='SELECT page, COUNT(*) FROM events GROUP BY page'", check.MAX_QUERY),
                "SELECT page, COUNT(DISTINCT user_id) FROM events GROUP BY page.",
                Written.QUERY,
                Needed(),
            ),
            "groups": Argument(check.by_the_verb, _groups.says, Written.LINES),
            "within": Argument(check.by_the_verb, _within.says, Written.REAL),
            "bound": Argument(
                check.by_the_verb,
                "The most that one user counts for, as in the verb.",
                Written.WHOLE,
            ),
            "method": _words("How", SqlMethod),
        },
    ),
}
"""Other ways to write what a verb answers: their plans are the verb's own."""
STATED = VERBS | LANGUAGES
"""All that is asked of a dataset."""


def planned(verb: str, dataset: Opened, **given: Any) -> Plan:
    """Read the arguments, refuse what cannot be, and plan."""
    stated = STATED[verb]
    dataset.check_windows()
    said = checked_by(stated.checks, given.items())
    module, function = stated.plan.split(":")
    plan_of: Callable[..., Plan] = getattr(import_module(f"{PLANS}.{module}"), function)
    at = lambda spend: plan_of(dataset, **{**said, "spend": spend})  # noqa: E731
    plan = replace(plan_of(dataset, **said), at=at)
    if verb in LANGUAGES:
        return plan  # that of the verb that it means, which knows what it was given
    own = stated.own.items()
    return plan.stating(
        tuple((name, said[name]) for name, one in own if said[name] not in (None, one.default))
    )
