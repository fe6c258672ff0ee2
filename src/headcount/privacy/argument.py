"""Reading one argument: what it must be, and the sentence that says what to write instead.

A check takes whatever a person wrote and gives back the value in one form, or refuses it. It calls
no method of a value that it does not know, beyond asking for its items, and repeats no value that
could be a table: a message holds short texts and numbers, and else the name of a type.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from pathlib import Path
from typing import Any

from headcount.errors import UsageError
from headcount.privacy.exact import exact
from headcount.screens import WITHHELD, is_address_like

NOTHING = "Nothing was charged."
LONGEST_SHOWN = 60
MAX_BITS = 4096
"""Numbers that need more bits than this mean nothing here, and would take for ever."""

Check = Callable[[Any, str], Any]
"""Takes a value and the argument's name; gives the value in one form, or raises."""


def shown(value: object) -> str:
    """A value as a message repeats it: short, and never the cells of a table."""
    if value is None or isinstance(value, bool):
        return repr(value)
    if type(value) is int and value.bit_length() > 4 * LONGEST_SHOWN:
        return f"a number of {value.bit_length():,} bits"
    if isinstance(value, str | Path) and is_address_like(value):
        return WITHHELD
    if isinstance(value, str | bytes | float | Decimal | Path) or type(value) is int:
        text = repr(str(value) if isinstance(value, Path) else value)
        return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 2]} …"
    if isinstance(value, list | tuple | dict | set | frozenset) and not value:
        return f"an empty {type(value).__name__}"
    return f"a {type(value).__name__}"


def refused(name: str, needed: str, value: object, instead: str) -> UsageError:
    """The refusal of an argument, with what to write instead."""
    return UsageError(f"{name} must be {needed}, not {shown(value)}. Write {instead}. {NOTHING}")


def optional(check: Check) -> Check:
    """The same check, of an argument that may be left out."""
    return lambda value, name: None if value is None else check(value, name)


def whole(least: int, most: int, instead: str) -> Check:
    """A whole number; NumPy's are taken, truth values are not."""

    def read(value: Any, name: str) -> int:
        number = None
        if not isinstance(value, bool | str | bytes):
            try:
                number = operator.index(value)
            except Exception:
                number = None
        if number is None or not least <= number <= most:
            raise refused(name, f"a whole number from {least:,} to {most:,}", value, instead)
        return number

    return read


def number_of(value: Any) -> Fraction | None:
    """A finite number as the fraction that was meant, or None for what is not one."""
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        parts = (value.numerator, value.denominator)
        large = max(part.bit_length() for part in parts) > MAX_BITS
        return None if large else Fraction(*parts)
    # NumPy's numbers are real ones too; their texts are shorter than their doubles.
    if not isinstance(value, str | Decimal | Real) or isinstance(value, bool):
        return None
    try:
        return exact(value if isinstance(value, str | Decimal | float) else str(value))
    except UsageError:
        return None


def real(least: Fraction | int | str, most: Fraction | int | str, instead: str) -> Check:
    """A finite number, kept as the fraction that was meant: 0.1 is one tenth."""
    low, high = Fraction(least), Fraction(most)

    def read(value: Any, name: str) -> Fraction:
        number = number_of(value)
        if number is None or not low <= number <= high:
            needed = f"a number from {float(low):g} to {float(high):g}"
            raise refused(name, needed, value, instead)
        return number

    return read


def as_float(check: Check) -> Check:
    """The same check, for what is not part of a proof."""
    return lambda value, name: float(check(value, name))


def one_of(*choices: str) -> Check:
    """One of a few words."""

    def read(value: Any, name: str) -> str:
        if not isinstance(value, str) or value not in choices:
            instead = f"{name}={choices[0]!r}"
            raise refused(name, f"one of {', '.join(choices)}", value, instead)
        return str(value)

    return read


def flag(value: Any, name: str) -> bool:
    """True or False, and nothing that merely counts as one."""
    if not isinstance(value, bool):
        raise refused(name, "True or False", value, f"{name}=True, or leave it out")
    return value


def text(instead: str, most: int = 2_000) -> Check:
    """A text that is not empty and can be stored: Unicode, without the character NUL."""

    def read(value: Any, name: str) -> str:
        if not is_text(value) or not 0 < len(value) <= most:
            raise refused(name, f"a text of 1 to {most:,} characters", value, instead)
        return str(value)

    return read


def is_text(value: object) -> bool:
    """Whether this is a text that every engine and store takes as it is."""
    if not isinstance(value, str) or "\x00" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def items(value: Any, name: str, most: int, instead: str) -> list[Any]:
    """The items of a list: Python's, or a column of NumPy, pandas, Polars or Arrow."""
    found = _items_of(value, most)
    if found is None:
        raise refused(name, "a list", value, instead)
    if not 0 < len(found) <= most:
        how_many = "an empty one" if not found else f"one of {len(found):,}"
        raise UsageError(
            f"{name} must be a list of 1 to {most:,} items, not {how_many}. Write {instead}. "
            f"{NOTHING}"
        )
    return found


def _items_of(value: Any, most: int) -> list[Any] | None:
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, range):
        return list(value[: most + 1])
    package = type(value).__module__.split(".")[0]
    if package not in ("numpy", "pandas", "polars", "pyarrow"):
        return None
    if package == "numpy" and getattr(value, "dtype", None) is not None:
        if value.dtype.kind == "M":  # NumPy gives nanoseconds as bare integers
            value = value.astype("datetime64[us]")
        elif value.ndim == 0:
            return None
    for method in ("to_pylist", "to_list", "tolist"):
        if callable(getattr(value, method, None)):
            try:
                column = getattr(value, method)()
            except Exception:
                return None
            # A frame or a table gives rows or records, and a scalar gives itself.
            is_column = isinstance(column, list) and not any(isinstance(x, dict) for x in column)
            return [plain(item) for item in column] if is_column else None
    return None


def plain(item: Any) -> Any:
    """An item as Python has it, where NumPy or pandas have their own."""
    package = type(item).__module__.split(".")[0]
    if package == "numpy" and hasattr(item, "item"):
        return item.item()
    if package == "pandas" and hasattr(item, "to_pydatetime"):
        return item.to_pydatetime()
    return item


def checked_by(table: dict[str, Check], given: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """All arguments of a call in one form, each by its line of a table of checks."""
    return {name: table[name](value, name) for name, value in given}
