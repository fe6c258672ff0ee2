"""What was done to private data, as a record that outlives the code that did it.

The law of this module:

1. An event is never removed. A ledger of any age must still be readable.
2. An event is never re-meant. A different meaning is a different ``kind``.
3. A new field is optional: it has a default, which means what was meant before the field was there.
   A record without it is read as the default, and a field at its default is not written, so that a
   version without the field reads whatever does not use it. A required field stays required.
4. An unknown kind or field is refused, never skipped: what is not understood cannot be paid for.

Events hold parameters, not costs. The cost is derived from them by ``accounting``, so that a
tighter accountant can read the same history again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

from headcount.errors import LedgerError
from headcount.privacy.windows import FARTHEST, MOST


@dataclass(frozen=True, slots=True)
class GaussianNoise:
    """Discrete Gaussian noise of variance ``sigma_squared`` on an integer vector."""

    kind: ClassVar[str] = "gaussian-noise"
    l2_squared: Fraction
    sigma_squared: Fraction


@dataclass(frozen=True, slots=True)
class LaplaceNoise:
    """Discrete Laplace noise of the given scale on an integer vector."""

    kind: ClassVar[str] = "laplace-noise"
    l1: Fraction
    scale: Fraction


@dataclass(frozen=True, slots=True)
class Selection:
    """One draw of the exponential mechanism, of bounded range ``epsilon``."""

    kind: ClassVar[str] = "selection"
    epsilon: Fraction


@dataclass(frozen=True, slots=True)
class GaussianThreshold:
    """Gaussian noise on the groups that were found, of which only large ones leave.

    ``delta`` bounds the chance that any group known through one user alone leaves.
    """

    kind: ClassVar[str] = "gaussian-threshold"
    l2_squared: Fraction
    sigma_squared: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class LaplaceThreshold:
    """Laplace noise on the groups that were found, of which only large ones leave.

    ``delta`` bounds the chance that any group known through one user alone leaves.
    """

    kind: ClassVar[str] = "laplace-threshold"
    l1: Fraction
    scale: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class Filtered:
    """Steps chosen one after the other under a filter that stops before ``rho`` and ``delta``."""

    kind: ClassVar[str] = "filtered"
    rho: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class SampleThreshold:
    """Exact counts of fresh samples, each pair of user and group kept with chance ``rate``.

    Only counts of at least ``threshold`` leave, and one user is in at most ``n_samples`` of them.
    At ``delta`` these parameters were certified to cost ``rho`` when they were chosen; a later
    accountant may find a smaller one from the rest.
    """

    kind: ClassVar[str] = "sample-threshold"
    rate: Fraction
    threshold: Fraction
    n_samples: Fraction
    rho: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class Composed:
    """Several events, each free to depend on what the earlier ones published."""

    kind: ClassVar[str] = "composed"
    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        if any(isinstance(part, Windowed) for part in self.events):
            raise LedgerError(INSIDE)


@dataclass(frozen=True, slots=True)
class Windowed:
    """An event that reads rows of the windows ``first`` to ``last`` alone, both included.

    Each of them pays for ``event``; a user who is in all of them loses ``times`` of it at the most.
    """

    kind: ClassVar[str] = "windowed"
    first: int
    last: int
    times: int
    event: Event

    def __post_init__(self) -> None:
        numbers = (self.first, self.last, self.times)
        if (
            any(type(number) is not int for number in numbers)
            or not -FARTHEST <= self.first <= self.last <= FARTHEST
            or self.last - self.first >= MOST
            or not 1 <= self.times <= MOST**2
        ):
            raise LedgerError(
                "An event names windows that no charge can be for: a first and a last, at most "
                f"{MOST:,} of them, and a whole number of times. It cannot be paid for, so nothing "
                "is released."
            )
        if isinstance(self.event, Windowed):
            raise LedgerError(INSIDE)


INSIDE = (
    "An event names its windows inside another event. Windows are said once, around all of it: it "
    "cannot be paid for otherwise, so nothing is released."
)


@dataclass(frozen=True, slots=True)
class Rounds:
    """The same events in each of ``n`` rounds, each free to depend on what earlier ones published.

    One charge pays for all of them, and for a result of each.
    """

    kind: ClassVar[str] = "rounds"
    events: tuple[Event, ...]
    n: Fraction

    def __post_init__(self) -> None:
        if any(isinstance(part, Windowed) for part in self.events):
            raise LedgerError(INSIDE)


Event = (
    GaussianNoise
    | LaplaceNoise
    | Selection
    | GaussianThreshold
    | Filtered
    | SampleThreshold
    | LaplaceThreshold
    | Composed
    | Windowed
    | Rounds
)

_KINDS: dict[str, type[Any]] = {
    cls.kind: cls
    for cls in (
        GaussianNoise,
        LaplaceNoise,
        Selection,
        GaussianThreshold,
        Filtered,
        SampleThreshold,
        LaplaceThreshold,
        Composed,
        Windowed,
        Rounds,
    )
}


def to_record(event: Event) -> dict[str, Any]:
    """Write an event as plain JSON values; fractions as text, so nothing is rounded."""
    record: dict[str, Any] = {"kind": event.kind}
    for field in fields(event):
        value = getattr(event, field.name)
        if value == field.default:
            continue
        record[field.name] = _written(value)
    return record


def _written(value: Any) -> str | dict[str, Any] | list[dict[str, Any]]:
    if isinstance(value, tuple):
        return [to_record(part) for part in value]
    return str(value) if isinstance(value, int | Fraction) else to_record(value)


def from_record(record: Mapping[str, Any]) -> Event:
    """Read an event back; refuse what this version does not know."""
    kind = record.get("kind")
    cls = _KINDS.get(str(kind))
    if cls is None:
        raise LedgerError(
            f"The ledger holds an event of kind {kind!r} that this version does not know. "
            "It cannot be paid for, so nothing is released. Install the version that wrote it, "
            "or a newer one."
        )
    known = {field.name for field in fields(cls)}
    required = {field.name for field in fields(cls) if field.default is MISSING}
    given = set(record) - {"kind"}
    if not required <= given <= known:
        raise LedgerError(
            f"An event of kind {kind!r} in the ledger has fields this version cannot read: "
            f"{', '.join(sorted((given - known) | (required - given)))}. "
            "Install the version that wrote it."
        )
    event: Event = cls(**{name: _read(cls.kind, name, record[name]) for name in given})
    return event


_ABOVE_ZERO = frozenset({"scale", "sigma_squared"})
"""Noise has a size; all else may be zero."""
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,10}")


def _read(kind: str, name: str, value: Any) -> Any:
    # The parts of an event that has others in it; every other field of every kind is a number.
    number: Any = None
    try:
        if kind in (Composed.kind, Rounds.kind) and name == "events" and isinstance(value, list):
            return tuple(map(from_record, value))
        if kind == Windowed.kind and name == "event":
            return from_record(value)
        if kind == Windowed.kind and name in ("first", "last", "times"):
            number = int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) else None
        elif isinstance(value, str):
            number = Fraction(value)
            if number < 0 or (number == 0 and name in _ABOVE_ZERO):
                number = None
    except (ValueError, ZeroDivisionError, AttributeError, TypeError):
        number = None
    if number is None:
        raise LedgerError(
            f"An event of kind {kind!r} in the ledger has a {name} that no version wrote. "
            "It cannot be paid for, so nothing is released: put the ledger back as it was."
        )
    return number
