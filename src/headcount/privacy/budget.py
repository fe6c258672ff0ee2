"""The limit a person sets."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from headcount.errors import UsageError
from headcount.privacy.exact import Number, positive
from headcount.privacy.spend import read_delta

DEFAULT_DELTA = Fraction(1, 10**6)


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that may be learned about any one user: epsilon and delta, or rho and delta.

    ``delta`` is always the delta of the final statement. Half of it pays for thresholds, the other
    half for turning rho into epsilon. When it is not said, an account is opened at one in a
    million, and a spend takes as large a share of the account's delta as of its rho.

    >>> Budget(epsilon=1, delta=1e-6)
    Budget(epsilon=1, delta=1e-06)
    """

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction | None

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
    ) -> None:
        if (epsilon is None) == (rho is None):
            raise UsageError("A budget takes either epsilon or rho: Budget(epsilon=1, delta=1e-6).")
        number = None if delta is None else read_delta(delta)
        if number == 0:
            raise UsageError("A budget's delta must be greater than 0; 1e-6 is a usual choice.")
        object.__setattr__(self, "delta", number)
        object.__setattr__(
            self, "epsilon", None if epsilon is None else positive(epsilon, "epsilon")
        )
        object.__setattr__(self, "rho", None if rho is None else positive(rho, "rho"))

    @property
    def stated_delta(self) -> Fraction:
        """The delta of the statement: as said, or one in a million."""
        return DEFAULT_DELTA if self.delta is None else self.delta

    def __repr__(self) -> str:
        said = (("epsilon", self.epsilon), ("rho", self.rho), ("delta", self.delta))
        parts = [f"{name}={float(value):g}" for name, value in said if value is not None]
        return f"Budget({', '.join(parts)})"
