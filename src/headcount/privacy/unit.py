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
class UserWithin:
    """One user with all their rows within one window of time, as an account with windows has it."""

    column: str
    window: str
    """One of the windows: ``day``."""
    clock: str
    """Whose clock it is, behind a word: `` (UTC)``; nothing where the table has one of its own."""

    @property
    def whom(self) -> str:
        """The same in a sentence on two tables."""
        return f"one user with all their rows within one {self.window}{self.clock}"

    def __str__(self) -> str:
        return (
            f"one user (a value of {self.column!r}) with all their rows within one "
            f"{self.window}{self.clock}"
        )


@dataclass(frozen=True, slots=True)
class Device:
    """One device of a population with all its answers in one period of rounds."""

    population: str
    whom: ClassVar[str] = "one device with all its answers"

    def __str__(self) -> str:
        return f"one device of {self.population!r} with all its answers in the period"


Unit = User | UserWithin | Device
