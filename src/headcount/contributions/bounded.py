"""Contributions that are bounded: the only thing a tally can be made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from headcount.contributions.groups import Grouped
from headcount.privacy.bounds import Bounds
from headcount.privacy.sensitivity import Sensitivity

VALUE = "true_value"
SEAL: Final = object()


@dataclass(frozen=True, repr=False, eq=False)
class BoundedContributions:
    """What every user gives to every group, no more than ``sensitivity`` allows.

    Made by :func:`headcount.contributions.bound` and the clips beside it, and by nothing else:
    the type is the proof that a bound was applied.
    """

    grouped: Grouped
    expr: Any
    sensitivity: Sensitivity
    lattice_bits: int
    bounds: Bounds | None = None
    constant: int | None = None
    """The value of every row, when all are the same and none is stored."""
    seal: object = field(default=None)

    def __post_init__(self) -> None:
        if self.seal is not SEAL:
            raise TypeError("BoundedContributions are made by bound() and the clips only")

    @property
    def group_names(self) -> tuple[str, ...]:
        """The names of the group columns."""
        return self.grouped.names

    @property
    def rules(self) -> tuple[str, ...]:
        """What is dropped or merged by rule, in sentences."""
        return self.grouped.rules

    def __repr__(self) -> str:
        return (
            f"BoundedContributions(by {', '.join(self.group_names)}, "
            f"on {self.grouped.table.engine.name})"
        )
