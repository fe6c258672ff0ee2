"""The limit a person sets."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from headcount.errors import UsageError
from headcount.privacy.argument import number_of, refused
from headcount.privacy.exact import Number
from headcount.privacy.windows import UNITS

DEFAULT_DELTA = Fraction(1, 10**6)
MOST = 10**7
"""An epsilon or a rho beyond this protects nobody and fits no ledger."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that may be learned about any one user: epsilon and delta, or rho and delta.

    ``delta`` is always the delta of the final statement. Half of it pays for thresholds, the other
    half for turning rho into epsilon. When it is not said, an account is opened at one in a
    million, and a spend takes as large a share of the account's delta as of its rho.

    ``per="day"`` makes it the budget of each day, for an account with windows: ``hc.open``.

    >>> Budget(epsilon=1, delta=1e-6)
    Budget(epsilon=1, delta=1e-06)
    """

    epsilon: Fraction | None
    """As it was given, or nothing where rho was."""
    rho: Fraction | None
    """As it was given, or nothing where epsilon was."""
    delta: Fraction | None
    """As it was given, or nothing."""
    per: str | None
    """Of what each may spend so much: ``day``; nothing for a budget for all time."""

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        per: str | None = None,
    ) -> None:
        if (epsilon is None) == (rho is None):
            raise UsageError(
                "A budget takes either epsilon or rho. Write hc.Budget(epsilon=1, delta=1e-6). "
                "Nothing was charged."
            )
        object.__setattr__(self, "epsilon", _within(epsilon, "epsilon", MOST, "epsilon=1"))
        object.__setattr__(self, "rho", _within(rho, "rho", MOST, "rho=0.1"))
        number = _within(delta, "delta", 1, "delta=1e-6, which is a usual choice")
        if number == 1:
            raise refused("delta", "below 1", delta, "delta=1e-6")
        object.__setattr__(self, "delta", number)
        said: object = per
        if per is not None and not (isinstance(said, str) and said in UNITS):
            raise refused("per", f"one of {', '.join(UNITS)}", per, "per='day', or leave it out")
        object.__setattr__(self, "per", per)

    @property
    def stated_delta(self) -> Fraction:
        """The delta of the statement: as said, or one in a million."""
        return DEFAULT_DELTA if self.delta is None else self.delta

    def __repr__(self) -> str:
        said = (("epsilon", self.epsilon), ("rho", self.rho), ("delta", self.delta))
        parts = [f"{name}={float(value):g}" for name, value in said if value is not None]
        if self.per is not None:
            parts.append(f"per={self.per!r}")
        return f"Budget({', '.join(parts)})"


def _within(value: Number | None, name: str, most: int, instead: str) -> Fraction | None:
    if value is None:
        return None
    number = number_of(value)
    if number is None or not 0 < number <= most:
        dotted = value.replace(",", ".") if isinstance(value, str) and value.count(",") == 1 else ""
        if dotted.replace(".", "", 1).isdecimal():
            instead = f"{name}={dotted}, with a point"
        raise refused(name, f"a number greater than 0 and at most {most:,}", value, instead)
    return number
