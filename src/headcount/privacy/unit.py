"""Who is protected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class User:
    """One user with all their rows: everything that shares a value in ``column``."""

    column: str
    whom: ClassVar[str] = "one user with all their rows"

    def __str__(self) -> str:
        return f"one user (a value of {self.column!r}) with all their rows"


@dataclass(frozen=True, slots=True)
class Device:
    """One device of a population with all its answers in one period of rounds."""

    population: str
    whom: ClassVar[str] = "one device with all its answers"

    def __str__(self) -> str:
        return f"one device of {self.population!r} with all its answers in the period"


Unit = User | Device
