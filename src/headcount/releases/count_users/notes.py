"""What a release without a bound says of its rows: how sure they are, and which are withheld."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headcount.mechanisms.equal_error.steps import TOO_MUCH_LOST
from headcount.releases.rows import with_error_bars
from headcount.results.cells import label
from headcount.results.facts import BAR_SDS, CONFIDENCE, LEFT_OUT, WITHHELD

if TYPE_CHECKING:
    import pyarrow as pa

    from headcount.mechanisms.equal_error.plan import EqualErrorPlan
    from headcount.mechanisms.equal_error.steps import Counted

BAR = (
    "low to high covers the noise, and what counting heavy users for less leaves out, as measured "
    "privately"
)
MOST_NAMED = 5
MOST_REACHED = 0.99
"""Beyond, nine in ten rows are expected within nothing that is worth saying."""
SHARED = (
    "Rows share a part of their error: an average of many rows is less exact than their bars say"
)


def percent(share: float, digits: int = 3) -> str:
    """A relative error as people say it: 10%, and not 0.1."""
    return f"{100 * share:.{digits}g}%"


def promise_of(plan: EqualErrorPlan) -> str:
    """What is promised of the rows, before any is read."""
    if not plan.withholds:
        return (
            f"{CONFIDENCE:.0%} of the error bars hold the true count; small rows may have wide bars"
        )
    return f"about nine in ten rows within {percent(plan.within)} of the true count"


def shown_and_withheld(groups: pa.Table, counted: Counted) -> tuple[pa.Table, pa.Table]:
    """Rows to print, and rows that were measured too; ``groups`` are those of the positions."""
    shown, withheld = (
        with_error_bars(groups.take(some.positions), some.counts, 1, some.sds, BAR_SDS * some.sds)
        for some in (counted, counted.withheld)
    )
    return shown, withheld


def notes_of(
    counted: Counted,
    withheld: pa.Table,
    unmeasured: pa.Table,
    plan: EqualErrorPlan,
    rules: tuple[str, ...],
) -> tuple[str, ...]:
    """What is withheld comes first where it is larger than what is shown."""
    method = f"Method {counted.method!r}: {counted.why}."
    rest = (
        _expected(counted, plan),
        BAR + ".",
        *_left_out(counted, plan),
        *_unmeasured(unmeasured),
        *rules,
    )
    if not withheld.num_rows:
        return (method, *rest)
    largest = withheld.take([int(np.argmax(withheld["count"]))]).to_pylist()[0]
    name = ", ".join(repr(label(largest[column])) for column in list(largest)[:-4])
    half_width = (largest["high"] - largest["low"]) / 2
    told = (
        f"{withheld.num_rows:,} {WITHHELD}, so that nine in ten of those shown can be within "
        f"{percent(plan.within)} of the true count. The largest is {name}, about "
        f"{largest['count']:,} ± {half_width:,.0f}. They are paid for: look at "
        "release.withheld. A count without within= is another question, and is charged."
    )
    middle = float(np.median(counted.counts)) if len(counted.counts) else 0.0
    if largest["count"] > middle:
        return (told, method, *rest)
    return (method, told, *rest)


def _expected(counted: Counted, plan: EqualErrorPlan) -> str:
    within = percent(plan.within)
    if counted.why == TOO_MUCH_LOST:
        return f"{LEFT_OUT}: too much of every count was left out."
    if not plan.withholds:
        if not len(counted.counts):
            return "No group stands out from the noise at this spend. Spend more."
        if counted.reached > MOST_REACHED:
            return "Many rows are smaller than their noise: a bar that reaches 0 says so."
        return (
            f"Nine in ten rows are expected within {percent(counted.reached, 2)} of the true count."
        )
    if not len(counted.counts):
        return f"No group can be counted within {within} at this spend: spend more, or aim lower."
    share = (
        f"Expected share of rows within {within} of the true count: {counted.expected_within:.1%}"
    )
    if counted.expected_within >= 0.9:
        return share + "."
    return (
        f"{share}, less than nine in ten: nine in ten are expected within "
        f"{percent(counted.reached, 2)}. A few users are in very many groups; spend more."
    )


def _unmeasured(groups: pa.Table) -> tuple[str, ...]:
    """Names of groups that were found and not measured, where they are few; else how many."""
    if not groups.num_rows:
        return ()
    rows = groups.slice(0, MOST_NAMED).to_pylist()
    names = ", ".join(repr(", ".join(label(value) for value in row.values())) for row in rows)
    of_these = names if groups.num_rows <= MOST_NAMED else f"{names} and others"
    return (
        f"{groups.num_rows:,} more groups were found and are not shown, since to count them too "
        f"would make the others less exact: {of_these}. They may be large, where few users make "
        "them so.",
    )


def _left_out(counted: Counted, plan: EqualErrorPlan) -> tuple[str, ...]:
    lost = counted.lost
    if lost is None or not len(counted.counts):
        return ()
    return (
        f"Counting heavy users for less left out {lost.mean:.1%} of a count. That is estimated and "
        f"added back: {lost.largest:.1%} of the largest rows, {lost.smallest:.1%} of the smallest. "
        f"Fewer than about {plan.least_heavy:,.0f} users who have very much more than all others "
        "are not seen at this spend, and what they lose is not in it.",
        f"{SHARED}.",
    )
