"""A question to the private rows: how far one user can move the answer, and how to ask it.

Queries are made where the rows are known, in ``contributions`` and ``streams``. A mechanism takes
a query and never bare numbers, so what is asked and what the noise is made for cannot come apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Generic, TypeVar

from headcount.privacy.sensitivity import Sensitivity

T = TypeVar("T")


@dataclass(frozen=True, slots=True, repr=False)
class Query(Generic[T]):
    """One question; nothing is read before it is asked."""

    sensitivity: Sensitivity
    """How far one user can move the answer."""
    ask: Callable[[], T]
    """Reads the rows; the answer is private."""

    def answer(self, claimed: Sensitivity) -> T:
        """Ask, for noise that was made for ``claimed``; refused if one user can move it further."""
        if not claimed.covers(self.sensitivity):
            raise ValueError("one user can move this answer further than its noise is made for")
        return self.ask()


def together(
    sensitivities: Sequence[Sensitivity], ask: Callable[[], Sequence[T]]
) -> tuple[Query[T], ...]:
    """Several questions that one reading answers, which is when the first of them is asked."""
    read = cache(ask)
    return tuple(
        Query(sensitivity, partial(_entry, read, index))
        for index, sensitivity in enumerate(sensitivities)
    )


def _entry(read: Callable[[], Sequence[T]], index: int) -> T:
    return read()[index]
