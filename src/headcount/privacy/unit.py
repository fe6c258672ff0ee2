"""Who is protected."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class User:
    """One user with all their rows: everything that shares a value in ``column``."""

    column: str

    def __str__(self) -> str:
        return f"one user (a value of {self.column!r}) with all their rows"
