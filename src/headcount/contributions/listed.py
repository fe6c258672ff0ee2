"""A public list of groups: checked, brought to the same form as the table's, and sorted."""

from __future__ import annotations

import operator
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from headcount.errors import UsageError
from headcount.privacy.argument import shown
from headcount.tables.by import Bins, GroupBy, Truncate, column_of
from headcount.tables.kinds import Kind

if TYPE_CHECKING:
    import pyarrow as pa

NOTHING = "Nothing was read and nothing was charged."
INT64 = range(-(1 << 63), 1 << 63)

Groups = tuple[tuple[Any, ...], ...]
"""Public groups in the form that is counted, one value for each column."""

# Lists often come from text files: numbers and dates may be written out.
READERS: dict[Kind, Callable[[str], Any]] = {
    Kind.INTEGER: int,
    Kind.DATE: date.fromisoformat,
    Kind.TIME: datetime.fromisoformat,
}


@dataclass(frozen=True, slots=True)
class GroupList:
    """Public groups in the order of a tally: by bytes, column by column, missing values last."""

    groups: Groups
    kinds: tuple[Kind, ...]
    has_missing: tuple[bool, ...]

    def __len__(self) -> int:
        return len(self.groups)

    def arrow(self, columns: tuple[str, ...], extra: dict[str, list[Any]]) -> pa.Table:
        """The list as a table, with integer or text columns beside it."""
        import pyarrow as pa

        arrays = {
            column: pa.array([group[index] for group in self.groups], arrow_type(kind))
            for index, (column, kind) in enumerate(zip(columns, self.kinds, strict=True))
        }
        for name, values in extra.items():
            is_text = isinstance(values[0], str)
            arrays[name] = pa.array(values, pa.string() if is_text else pa.int64())
        return pa.table(arrays)


def arrow_type(kind: Kind) -> Any:
    """The Arrow type of a group column of this kind, the same from every engine."""
    import pyarrow as pa

    return {
        Kind.INTEGER: pa.int64(),
        Kind.TEXT: pa.string(),
        Kind.BOOLEAN: pa.bool_(),
        Kind.DATE: pa.date32(),
        Kind.TIME: pa.timestamp("us"),
    }[kind]


def group_list(
    groups: Iterable[Any], by: tuple[GroupBy, ...], kinds: tuple[Kind, ...]
) -> GroupList:
    """Check a public list against the columns it names, and sort it."""
    return _in_order([normal_group(group, by, kinds) for group in groups], kinds)


def _in_order(normal: list[tuple[Any, ...]], kinds: tuple[Kind, ...]) -> GroupList:
    if not normal:
        raise UsageError(f"The list of groups is empty; leave it out to find them. {NOTHING}")
    if len(set(normal)) < len(normal):
        seen: set[tuple[Any, ...]] = set()
        twice = next(g for g in normal if g in seen or seen.add(g))  # type: ignore[func-returns-value]
        raise UsageError(
            f"The list of groups holds {_shown(twice)} twice, after Unicode normalisation. "
            f"Each group may be listed once. {NOTHING}"
        )
    normal.sort(key=lambda group: [(v is None, _order(v)) for v in group])
    missing = tuple(any(g[i] is None for g in normal) for i in range(len(kinds)))
    return GroupList(tuple(normal), kinds, missing)


def _order(value: Any) -> Any:
    if value is None:
        return b""
    return value.encode() if isinstance(value, str) else value


def said(group: Any) -> str:
    """A listed group as a message repeats it."""
    if isinstance(group, tuple) and group:
        return f"({', '.join(shown(value) for value in group[:8])})"
    return str(group) if isinstance(group, date) else shown(group)


def _shown(group: tuple[Any, ...]) -> str:
    return repr(group[0] if len(group) == 1 else group)


def normal_group(group: Any, by: tuple[GroupBy, ...], kinds: tuple[Kind, ...]) -> tuple[Any, ...]:
    """One group in the form the table's rows take."""
    values = (group,) if len(by) == 1 and not isinstance(group, tuple) else group
    if not isinstance(values, tuple) or len(values) != len(by):
        names = ", ".join(column_of(part) for part in by)
        raise UsageError(
            f"The listed group {said(group)} does not have one value for each of {names}: a "
            f"group of several columns is a tuple. {NOTHING}"
        )
    return tuple(
        _normal(value, part, kind) for value, part, kind in zip(values, by, kinds, strict=True)
    )


def _normal(value: Any, by: GroupBy, kind: Kind) -> Any:
    if value is None:
        return None
    try:
        if isinstance(value, str) and kind in READERS:
            value = READERS[kind](value)
        if kind is Kind.TEXT and isinstance(value, str):
            value = str.__str__(value)  # of a kind of text, such as an enum: the text itself
            value.encode()
            return value if "\0" in value else unicodedata.normalize("NFC", value)
        if kind is Kind.BOOLEAN and isinstance(value, bool):
            return value
        if kind is Kind.INTEGER and not isinstance(value, bool):
            number = operator.index(value)
            if number in INT64:
                return number
        if kind is Kind.DATE and type(value) is date:
            if not isinstance(by, Truncate) or starts_unit(value, by.to):
                return value
        elif kind is Kind.TIME and type(value) is datetime and _is_hour(value):
            return value
    except Exception:  # noqa: S110  whatever a strange value does when asked, it is refused
        pass
    wanted = "the number of a bin" if isinstance(by, Bins) else f"a group of kind {kind}"
    if isinstance(by, Truncate):
        wanted = f"the start of a {by.to}"
    raise UsageError(
        f"The listed group {said(value)} is not {wanted}, which the column "
        f"{column_of(by)!r} needs. {NOTHING}"
    )


def _is_hour(time: datetime) -> bool:
    return time.tzinfo is None and time == time.replace(minute=0, second=0, microsecond=0)


def starts_unit(day: date, to: str) -> bool:
    """Whether a date is the first of its calendar unit; any other could never be counted."""
    first_months = {"year": (1,), "quarter": (1, 4, 7, 10)}
    if to == "week":
        return day == day - timedelta(days=day.weekday())
    if to == "day":
        return True
    return day.day == 1 and day.month in first_months.get(to, range(1, 13))
