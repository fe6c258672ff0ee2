"""What to count by: columns as they are, times cut to a calendar unit, numbers cut into bins.

Written without any engine, so that ``headcount.truncate`` and ``headcount.bins`` cost nothing to
import.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from headcount.errors import UsageError
from headcount.privacy.argument import number_of, refused, text

UNITS = ("year", "quarter", "month", "week", "day", "hour")
MAX_WIDTH_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Truncate:
    """A date or time column, cut down to the start of its calendar unit.

    zone:  whose midnight it is, for the windows of an account; groups are cut in UTC
    """

    column: str
    to: str
    zone: str | None = None

    def __post_init__(self) -> None:
        text("hc.truncate('time', 'day')")(self.column, "the column of truncate")
        if self.zone is not None:
            text("zone='Europe/Stockholm', or leave it out")(self.zone, "zone")
        to: object = self.to
        if not isinstance(to, str) or to not in UNITS:
            needed = f"one of {', '.join(UNITS)}"
            raise refused("to", needed, to, f"hc.truncate({self.column!r}, 'day')")

    def __str__(self) -> str:
        return f"{self.column}:{self.to}"


@dataclass(frozen=True, slots=True)
class Bins:
    """A number column, cut into bins of one width: bin ``k`` holds ``k*width <= x < (k+1)*width``.

    The width is kept as the decimal that was written. At most 15 digits, so that every engine
    reads the same double from it.
    """

    column: str
    width: Decimal

    def __post_init__(self) -> None:
        text("hc.bins('price', 10)")(self.column, "the column of bins")
        width: object = self.width
        if not isinstance(width, Decimal) or not width.is_finite():
            raise refused(
                "the width of a bin", "a finite decimal number", width, "hc.bins('price', 10)"
            )
        digits = len(self.width.as_tuple().digits)
        if not Decimal("1e-9") <= self.width <= Decimal("1e9") or digits > MAX_WIDTH_DIGITS:
            raise UsageError(
                f"The width of a bin must be a number from 1e-9 to 1e9 with at most "
                f"{MAX_WIDTH_DIGITS} digits, not {self.width}. Nothing was charged."
            )

    def __str__(self) -> str:
        return f"{self.column}:{self.width:f}"


GroupBy = str | Truncate | Bins
By = GroupBy | Sequence[GroupBy]
"""What to count by: one column, or several."""


def truncate(column: str, to: str, *, zone: str | None = None) -> Truncate:
    """A date or time column, cut to a year, quarter, month, week, day or hour.

    To count by, or as the ``window`` of an account.

    zone:  for a window of times with a zone: whose days they are, such as ``"Europe/Stockholm"``;
           UTC when not given. Groups are always cut in UTC
    """
    return Truncate(column, to, zone)


def bins(column: str, width: int | float | str | Decimal | Fraction) -> Bins:
    """Count by a number column, cut into bins of the given width."""
    fraction = number_of(width)
    if fraction is None or Fraction(number := _decimal(fraction)) != fraction:
        raise refused(
            "the width of a bin", "a finite decimal number", width, "hc.bins('price', 10)"
        )
    return Bins(column, number)


def _decimal(fraction: Fraction) -> Decimal:
    """The decimal that is this fraction; another one if none is, to the digits there are."""
    number = Decimal(fraction.numerator) / Decimal(fraction.denominator)
    return number.normalize() if number != number.to_integral_value() else Decimal(int(number))


def parse_group(text: str) -> GroupBy:
    """Read one group as a shell writes it: ``word``, ``time:month`` or ``price:10``.

    Only a part after the last colon that is a calendar unit or a number is read as a cut; any
    other colon belongs to the column's name.
    """
    column, colon, cut = text.rpartition(":")
    if not colon or not column:
        return text
    if cut in UNITS:
        return Truncate(column, cut)
    try:
        width = Decimal(cut)
    except InvalidOperation:
        return text
    return bins(column, width)


def as_groups(by: By) -> tuple[GroupBy, ...]:
    """One group or several, as a tuple without repeated names."""
    groups = (by,) if isinstance(by, str | Truncate | Bins) else tuple(by)
    if not groups:
        raise UsageError("Say what to count by: one column or several. Nothing was charged.")
    for group in groups:
        if not isinstance(group, str | Truncate | Bins):
            raise UsageError(
                "A group is a column's name, headcount.truncate(...) or headcount.bins(...), "
                f"not a {type(group).__name__}. Nothing was charged."
            )
        if isinstance(group, Truncate) and group.zone is not None:
            raise UsageError(
                "zone= is for window=hc.truncate(...), which says whose days an account's windows "
                f"are; groups are cut in UTC. Leave zone={group.zone!r} out. Nothing was charged."
            )
    names = [column_of(group) for group in groups]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"The column {name!r} appears twice in what to count by; the result would have "
                "two columns of that name. Nothing was charged."
            )
    return groups


def column_of(group: GroupBy) -> str:
    """The column a group is read from, which is also its name in the result."""
    return group if isinstance(group, str) else group.column
