"""What to expect of a plan before it is released: how far rows are off, and how many there are.

Everything here follows from arguments, from the account, and from what was released before. Nothing
asks the table: tables of the same columns, whoever is in them, have the same to expect.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, overload

from headcount.accounting.convert import shown
from headcount.accounting.tail import upper_point
from headcount.errors import BudgetError, UsageError
from headcount.privacy.argument import items, number_of
from headcount.privacy.budget import Budget
from headcount.releases import arguments
from headcount.releases.face import percent, share_of_limit
from headcount.results.output import PICTURES, check_output, write_whole
from headcount.screens import visible

if TYPE_CHECKING:
    import pyarrow as pa

    from headcount.ledger.account import Account
    from headcount.privacy.spend import Zcdp

OFF = 0.9
"""The share of rows that are expected to be off by less than the error that is told."""
OFF_SDS = upper_point((1 - OFF) / 2)
USERS, EVENTS, OF_COUNT, BOUNDS = "users", "events", "of the count", "times the bound"
RANKS, OF_COUNTS = "users in rank", "of all counts"
MOST_BUDGETS = 1_000
N_SWEPT = 7
BAR = 16
MEANING = "error: nine rows in ten are expected to be off by less"
NO_ROWS_KNOWN = "rows: can be told once a profile and frequencies by the same columns were released"
SMALLEST = (
    "groups: the smallest that are shown half of the time, about; a smaller epsilon shows fewer"
)
NOT_LEFT_OUT = "the error is that of the noise; what the bound leaves out is not in it"
OF_RELEASED = "rows, by the sizes in entry {entry}, which was released before"
READ_NOTHING = "From public facts alone: nothing was read and nothing was charged."
Spends = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Case:
    """What to expect of the rows, in one case of what users are like.

    error:  nine rows in ten are expected to be off by less; ``None`` where nobody can tell
    unit:   what the error is counted in
    rows:   how many rows, where public facts or an earlier release say
    more:   whether there may be more rows: an earlier count shows the largest groups alone
    least:  how many users, or what else is counted, a group has that is shown half of the time
    of:     what that is: users, or events
    below:  how many users there are at most, in all, where the case depends on it
    bound:  whether the error is the least that it can be: noise alone
    when:   the case, where there are several
    notes:  what the error does not cover, and what would tell more
    sizes:  the entry that told the sizes of groups, if one did
    """

    error: float | None
    unit: str = USERS
    rows: int | None = None
    more: bool = False
    least: float | None = None
    of: str = USERS
    below: float | None = None
    bound: bool = False
    when: str = ""
    notes: tuple[str, ...] = ()
    sizes: int | None = None


Expects = Callable[[], tuple[Case, ...]]


class Planned(Protocol):
    """What is asked of a plan here."""

    @property
    def title(self) -> str:
        """What is counted."""

    @property
    def account(self) -> Account:
        """Who pays."""

    @property
    def spend(self) -> Zcdp:
        """What the ledger will be charged."""

    @property
    def epsilon(self) -> Fraction:
        """The release's own epsilon."""

    @property
    def expects(self) -> Expects:
        """The cases there are."""


@dataclass(frozen=True, slots=True)
class Line:
    """One case of one spend; ``refused`` says why there is none."""

    epsilon: Fraction | None
    share: Fraction | None
    case: Case
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Expected:
    """A small table of what to expect, for one spend or several. Print it, or ``plot`` it."""

    title: str
    """The question, in a few words."""
    lines: tuple[Line, ...]
    """One for each spend and case."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for line in self.lines:
            case = line.case
            yield {
                "epsilon": _rounded(line.epsilon),
                "share": _rounded(line.share),
                "case": case.when,
                "error": case.error,
                "unit": case.unit if case.error is not None else "",
                "rows": case.rows,
                "smallest": case.least,
                "below": case.below,
                "note": line.refused or "; ".join(case.notes),
            }

    def __len__(self) -> int:
        return len(self.lines)

    def to_arrow(self) -> pa.Table:
        """One row for each spend and case."""
        import pyarrow as pa

        real, text = pa.float64(), pa.string()
        kinds = (real, real, text, real, text, pa.int64(), real, real, text)
        names = ("epsilon", "share", "case", "error", "unit", "rows", "smallest", "below", "note")
        return pa.Table.from_pylist(list(self), pa.schema(list(zip(names, kinds, strict=True))))

    @overload
    def plot(self) -> Any: ...
    @overload
    def plot(self, path: str | Path) -> Path: ...
    def plot(self, path: str | Path | None = None) -> Any:
        """Curves of error and rows over epsilon: the chart, or a file: .svg, .png or .html."""
        from headcount.results.chart import save_chart
        from headcount.results.chart_expected import expected_chart

        if path is None:
            return expected_chart(self.to_arrow(), visible(self.title))
        place = Path(path)
        check_output(place, PICTURES, name="path")
        drawn = expected_chart(self.to_arrow(), visible(self.title))
        return write_whole(place, lambda draft: save_chart(drawn, draft))

    def __str__(self) -> str:
        words = [f"Expected: {visible(self.title)}"]
        for when in dict.fromkeys(line.case.when for line in self.lines):
            some = [line for line in self.lines if line.case.when == when]
            words += [f"  if {when}:"] * bool(when)
            words += [f"  {text}" for text in _aligned(some)]
        return "\n".join([*words, *(f"  {note}" for note in self._notes()), f"  {READ_NOTHING}"])

    def _notes(self) -> list[str]:
        cases = [line.case for line in self.lines if not line.refused]
        known = [MEANING] if any(case.error is not None for case in cases) else []
        sizes = {case.sizes for case in cases} - {None}
        told = [OF_RELEASED.format(entry=entry) for entry in sizes]
        least = [SMALLEST] if any(case.rows is None and case.least for case in cases) else []
        own = [note for case in cases for note in case.notes]
        return [*known, *least, *told, *dict.fromkeys(own)]


def expected(own: Planned, at: Callable[[Any], Planned] | None, budgets: Spends | None) -> Expected:
    """What a plan expects at its own spend, or at others."""
    if budgets is None or at is None:
        return Expected(own.title, tuple(_lines(own)))
    lines: list[Line] = []
    for spend in _spends(budgets):
        try:
            lines += _lines(at(spend))
        except (BudgetError, UsageError) as error:
            said = str(error).split(". ")[0]
            epsilon = spend.epsilon if isinstance(spend, Budget) else None
            lines.append(Line(epsilon, None, Case(None), refused=said))
    return Expected(own.title, tuple(lines))


def swept(own: Planned) -> list[Any]:
    """Epsilons of 1, 2 and 5 times powers of ten that the account could pay now."""
    left = own.account.epsilon_left
    whole = [
        Fraction(digit) * Fraction(10) ** power for power in range(-3, 4) for digit in (1, 2, 5)
    ]
    fits = [epsilon for epsilon in whole if epsilon <= left]
    return [Budget(epsilon=epsilon) for epsilon in fits[-N_SWEPT:]]


def _lines(plan: Planned) -> list[Line]:
    share = share_of_limit(plan.account, plan.spend)
    return [Line(plan.epsilon, share, case) for case in plan.expects() or (Case(None),)]


def _spends(budgets: Any) -> list[Any]:
    """Budgets and shares as verbs take them; a plain number is an epsilon."""
    instead = "budgets=[0.5, 1, 2], or a list of hc.Budget(epsilon=1) and of shares such as '1/10'"
    given = items(budgets, "budgets", MOST_BUDGETS, instead)
    return [_spend(one) for one in given]


def _spend(one: Any) -> Any:
    if not isinstance(one, str | Fraction | Budget) and number_of(one) is not None:
        return Budget(epsilon=one)
    return arguments.spend(one, "a spend in budgets")


def _rounded(number: Fraction | None) -> float | None:
    """Without the crumbs of the ledger's units."""
    return None if number is None else float(f"{float(number):.6g}")


def _aligned(lines: list[Line]) -> list[str]:
    errors = [line.case.error for line in lines]
    with_rows = any(line.case.rows is not None for line in lines)
    sizes = [line.case.rows if with_rows else line.case.least for line in lines]
    is_several = len(lines) > 1
    named = "rows" if with_rows or not any(sizes) else "groups"
    table = [("epsilon", "of the budget", "error", "", named, "", "")]
    for line, size in zip(lines, sizes, strict=True):
        case = line.case
        table.append(
            (
                "?" if line.epsilon is None else shown(line.epsilon),
                "" if line.share is None else percent(line.share),
                line.refused or error_words(case),
                _bar(case.error, errors) if is_several else "",
                "" if line.refused else rows_words(case),
                _bar(size, sizes) if is_several else "",
                _below(case),
            )
        )
    # A refusal is a sentence: it takes the rest of its line.
    short = [cells for cells, line in zip(table[1:], lines, strict=True) if not line.refused]
    widths = [max(map(len, column)) for column in zip(table[0], *short, strict=True)]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()
        for cells in table
    ]


def _bar(value: float | None, of: Sequence[float | None]) -> str:
    known = {one for one in of if one is not None}
    return "#" * math.ceil(BAR * value / max(known)) if value and len(known) > 1 else ""


def error_words(case: Case) -> str:
    """How far off, for people."""
    if case.error is None:
        return "not known"
    if case.unit == OF_COUNT and case.error >= 1:
        return "more than the count"
    if case.unit in (OF_COUNT, OF_COUNTS):
        return f"{100 * case.error:.2g} % {case.unit}{' or more' if case.bound else ''}"
    return (
        f"{case.error:,.3g} {case.unit}" if case.error < 1000 else f"{case.error:,.0f} {case.unit}"
    )


def rows_words(case: Case) -> str:
    """How many rows, for people."""
    if case.rows is None:
        return "" if case.least is None else f"from {case.least:,.0f} {case.of}"
    from_least = ""
    if case.least is not None and case.sizes is None:
        from_least = f", if the last has {case.least:,.0f} {case.of}"
    return f"{case.rows:,}{' or more' if case.more else ''}{from_least}"


def _below(case: Case) -> str:
    return "" if case.below is None else f"if there are fewer than {case.below:,.0f} users"


def limited(case: Case, top: int | None) -> Case:
    """The same where only so many rows are asked for."""
    if top is None or (case.rows is not None and case.rows <= top):
        return case
    return replace(case, rows=top, more=False)
