"""Trial of releases of windows, as a user calls them: tables that differ by a user's rows in one.

What reaches the noise may differ by no more than each window was charged; by rows of a window that
was not charged, by nothing; by all rows of a user, by no more than the account was [WN2], [WN4].
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import headcount as hc
from headcount.accounting.compose import cost
from headcount.audit.verdict import Finding, Tier
from headcount.contributions.bound import bound, bound_each_window
from headcount.contributions.bounded import VALUE
from headcount.contributions.tally import Tally
from headcount.ledger.ledger import Ledger
from headcount.privacy.during import During
from headcount.privacy.event import Windowed
from headcount.privacy.spend import Zcdp
from headcount.releases.count_events import known
from headcount.releases.count_users import plan as count_users
from headcount.releases.dataset import Dataset
from headcount.releases.plan import Plan
from headcount.trials.door import one_key, released
from headcount.trials.seam import Noise, Recorder, swapped
from headcount.trials.tables import GROUP, USER
from headcount.trials.trial import Case, Effort, Trial

ZONE = "Europe/Stockholm"
SHORT, LONG = "2026-03-29", "2026-10-25"
"""Days of 23 and of 25 hours there."""
N_GROUPS = 120
GROUPS = [f"g{number}" for number in range(N_GROUPS)]
WHOLE = 3
VICTIM = "u-victim"
Row = tuple[str, str, datetime]
Swap = Callable[[], AbstractContextManager[Any]]
Ask = Callable[[Dataset], Plan]
NO_SWAP: Swap = nullcontext


def at(day: str, hour: float = 12) -> datetime:
    """So many hours after a midnight in UTC."""
    return datetime.fromisoformat(day).replace(tzinfo=UTC) + timedelta(hours=hour)


def others(*days: str) -> list[Row]:
    """Users who are in both tables."""
    return [(f"u{i}", GROUPS[(i * 7) % N_GROUPS], at(day)) for day in days for i in range(40)]


def victim(day: str, groups: Sequence[str], rows: int = 1) -> list[Row]:
    """One user's rows in one window."""
    return [(VICTIM, group, at(day)) for group in groups for _ in range(rows)]


DAYS = ("2026-03-02", "2026-03-03", "2026-03-04")
BASE = others(*DAYS)
MANY, FEW = victim(DAYS[0], GROUPS), victim(DAYS[1], GROUPS[:WHOLE])
ALIKE = [row for day in DAYS for row in victim(day, GROUPS[:WHOLE])]
OFTEN = [*victim(DAYS[0], GROUPS[:1], 1_000), *victim(DAYS[1], GROUPS[1:2], 40)]


@contextmanager
def opened(rows: Sequence[Row]) -> Iterator[Dataset]:
    """A table and its account with windows, in a ledger that is gone afterwards."""
    import pyarrow as pa

    users, groups, times = (list(column) for column in zip(*rows, strict=True))
    table = pa.table(
        {USER: users, GROUP: groups, "time": pa.array(times, pa.timestamp("us", "UTC"))}
    )
    with tempfile.TemporaryDirectory() as folder:
        yield hc.open(
            table,
            user=USER,
            account="audit",
            window=hc.truncate("time", "day", zone=ZONE),
            budget=hc.Budget(rho=1, delta=1e-6, per="day"),
            ledger=Ledger(Path(folder) / "ledger.db", heads=Path(folder) / "heads"),
        )


PARTS = Tally.parts


def in_order(tally: Tally, **_: bool) -> Any:
    """What a tally has, in one order on both of two tables."""
    return PARTS(tally, ordered=True)


def asked(rows: Sequence[Row], ask: Ask, swap: Swap) -> tuple[list[Noise], Windowed, Zcdp, str]:
    """What reached the noise, what was charged for it, and what was said before."""
    recorder = Recorder()
    with opened(rows) as data, swap(), swapped(Tally, "parts", in_order):
        plan = ask(data)
        release = released(plan, recorder, one_key)
        event, paid = plan.work.event, plan.ledger.account("audit").spent
        said = f"{plan}\n{plan.explain()}\n{release.facts.guarantee}\n{release.to_arrow().schema}"
    assert isinstance(event, Windowed)  # noqa: S101  the ledger takes no other
    return [one for one in recorder.asked if isinstance(one, Noise)], event, paid, said


def difference(left: Sequence[Noise], right: Sequence[Noise]) -> Fraction:
    """What telling two tables apart costs by the noise that was asked for: in rho, exactly."""
    if [one.settings for one in left] != [one.settings for one in right]:
        return Fraction(10**6)
    costs = Fraction(0)
    for one, other in zip(left, right, strict=True):
        pairs = zip(one.true_values, other.true_values, strict=True)
        shift = sum((a - b) ** 2 for a, b in pairs)
        costs += Fraction(shift) / (2 * Fraction(one.law.sigma_squared))
    return costs


def compared(
    subject: str, swap: Swap, ask: Ask, tables: tuple[Sequence[Row], Sequence[Row]], whose: str
) -> Finding:
    """Two tables against a claim: on a unit what its window paid, on a person the account's."""
    (left, event, paid, _), (right, *_) = (asked(rows, ask, swap) for rows in tables)
    claims = {"unit": cost(event.event).rho, "person": paid.rho, "elsewhere": Fraction(0)}
    found = difference(left, right)
    return Finding(Tier.GREY_BOX, subject, f"rho of a {whose}", float(claims[whose]), float(found))


def distinct(first: str, last: str) -> Ask:
    """Distinct users of listed groups over windows."""
    return lambda data: data.during(first, last).count_users(
        GROUP, groups=GROUPS, bound=WHOLE, spend=hc.Budget(rho="0.5")
    )


def events(first: str, last: str) -> Ask:
    """Rows of listed groups over windows, with a public bound."""
    return lambda data: data.during(first, last).count_events(
        GROUP, groups=GROUPS, bound=10, spend=hc.Budget(rho="0.5")
    )


USERS, ROWS = distinct(DAYS[0], DAYS[2]), events(DAYS[0], DAYS[2])
BOTH = [*BASE, *MANY, *FEW]
SEVERAL: dict[str, tuple[Ask, tuple[Sequence[Row], Sequence[Row]], str]] = {
    "many groups one day": (USERS, (BOTH, [*BASE, *FEW]), "unit"),
    "few groups one day": (USERS, (BOTH, [*BASE, *MANY]), "unit"),
    "the same groups every day": (USERS, ([*BASE, *ALIKE], BASE), "person"),
    "many rows one day": (ROWS, ([*BASE, *OFTEN], [*BASE, *OFTEN[1_000:]]), "unit"),
    "all rows of a user": (ROWS, ([*BASE, *OFTEN], BASE), "person"),
}
"""Over three windows: by a user's rows in one of them, and by all of a user's rows."""


def several(swap: Swap, *only: str) -> list[Finding]:
    """These comparisons, or all."""
    return [compared(name, swap, *SEVERAL[name]) for name in only or SEVERAL]


def edges(swap: Swap, effort: Effort) -> list[Finding]:
    """One window, and rows of a user as near to it as can be: before, within, and behind."""
    tick = timedelta(microseconds=1)
    window = {SHORT: (at(SHORT, -1), 23), LONG: (at(LONG, -2), 25)}
    findings = []
    for day, (begin, hours) in window.items():
        end = begin + timedelta(hours=hours)
        base = [*others(day), ("u-late", GROUPS[0], end)]
        places = {"before": begin - tick, "first": begin, "last": end - tick, "behind": end}
        chosen = places if effort is Effort.FULL or day == SHORT else {"behind": end}
        for name, moment in chosen.items():
            whose = "elsewhere" if name in ("before", "behind") else "unit"
            row = (VICTIM, GROUPS[1], moment)
            tables = ([*base, row], base)
            found = compared(f"{day}, {name}", swap, distinct(day, day), tables, whose)
            findings.append(found)
            if whose == "unit":
                # A row at either end is in: it reaches the noise.
                missing = float(found.found == 0)
                findings.append(
                    Finding(
                        Tier.GREY_BOX, found.subject, "rows at an edge that are lost", 0, missing
                    )
                )
    return findings


def next_window(swap: Swap, _: Effort) -> list[Finding]:
    """Tables that differ all through the next window: nothing that leaves may differ."""
    tables = ([*BASE, *MANY], BASE)
    later = DAYS[1]
    found = compared("the window before", swap, distinct(later, later), tables, "elsewhere")
    said = {asked(rows, distinct(later, later), swap)[3] for rows in tables}
    return [
        found,
        Finding(Tier.GREY_BOX, "the window before", "texts that differ", 0, len(said) - 1),
        compared(
            "the window behind",
            swap,
            distinct(DAYS[0], DAYS[0]),
            ([*BASE, *FEW], BASE),
            "elsewhere",
        ),
    ]


def by_the_person() -> AbstractContextManager[Any]:
    """The bound is taken over all windows of a user, and one window is claimed."""

    def of_a_person(table: Any, by: Any, bounds: Any, _store: Any, **named: Any) -> Any:
        return bound(table, by, bounds, **named)

    return swapped(count_users, "bound_each_window", of_a_person)


@contextmanager
def added_up() -> Iterator[None]:
    """Windows are added up after each was bounded, and charged as the largest is."""

    def summed(*given: Any, **named: Any) -> Any:
        made = bound_each_window(*given, **named)
        larger = made.expr.mutate(**{VALUE: made.expr[VALUE] * len(DAYS)})
        return replace(made, expr=larger)

    with swapped(count_users, "bound_each_window", summed):
        yield


def one_relation() -> AbstractContextManager[Any]:
    """Sums are bounded by the person, and the noise is that for a user who is added."""
    return swapped(known, "relation_of", lambda _, account: account.neighbours)


def wider() -> AbstractContextManager[Any]:
    """One window more is read than is charged."""
    return swapped(During, "ends", property(lambda one: one.window.begins(one.last + 2)))


def of_24_hours() -> AbstractContextManager[Any]:
    """Every day has 24 hours."""
    ends = property(lambda one: one.begins + timedelta(days=one.n))
    return swapped(During, "ends", ends)


def of_utc() -> AbstractContextManager[Any]:
    """Days are those of UTC, and the account's are those of a zone."""
    ends = property(lambda one: replace(one.window, zone="UTC").begins(one.last + 1))
    return swapped(During, "ends", ends)


def _as_shipped(effort: Effort) -> Sequence[Finding]:
    return [
        *several(NO_SWAP),
        *edges(NO_SWAP, effort),
        *next_window(NO_SWAP, effort),
    ]


TRIAL = Trial(
    "windows",
    (
        Case("as shipped", _as_shipped, is_mutant=False),
        Case(
            "bounded by the person, claimed by the window",
            lambda _: several(by_the_person, "many groups one day"),
        ),
        Case(
            "windows added up, charged as the largest",
            lambda _: several(added_up, "the same groups every day"),
        ),
        Case(
            "sums by the person, noise for one added",
            lambda _: several(one_relation, "many rows one day"),
        ),
        Case("one window more is read than is charged", lambda e: next_window(wider, e)),
        Case("days of 24 hours", lambda e: edges(of_24_hours, e)),
        Case("days of another zone", lambda e: edges(of_utc, e)),
    ),
)
