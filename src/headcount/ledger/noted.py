"""Balances of windows, from two notes a charge: where they rise, and where they fall back [TW3]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

from headcount.ledger.costs import Asked


@dataclass(slots=True)
class Noted:
    """What the windows of one account are, and what its charges noted of them."""

    fixed: list[Any]
    """The unit, the column, the zone, the stated delta, and the limits of each window."""
    notes: dict[int, list[int]] = field(default_factory=dict)
    """By window: how far rho, delta and the number of charges rise there."""

    def add(self, asked: Asked, rho: int, delta: int) -> None:
        """Take one more charge into account, however many windows it is for."""
        for at, sign in ((asked.first, 1), (asked.last + 1, -1)):
            note = self.notes.setdefault(at, [0, 0, 0])
            note[0] += sign * rho
            note[1] += sign * delta
            note[2] += sign

    def balances(self) -> Iterator[tuple[int, int, int]]:
        """Every window that was charged, with what it spent of rho and delta."""
        rho = delta = n_charges = before = 0
        for at in sorted(self.notes):
            if n_charges:
                for number in range(before, at):
                    yield number, rho, delta
            rise, other, charges = self.notes[at]
            rho, delta, n_charges, before = rho + rise, delta + other, n_charges + charges, at

    @property
    def record(self) -> list[Any]:
        """The same as JSON has it."""
        return [self.fixed, [[at, *note] for at, note in self.notes.items()]]

    @classmethod
    def of(cls, record: list[Any]) -> Self:
        """Read back what was kept."""
        fixed, notes = record
        return cls(fixed, {at: note for at, *note in notes})
