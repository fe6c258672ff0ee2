"""Numbers of a trial's own, as the answer to a question."""

from __future__ import annotations

from typing import TypeVar

from headcount.privacy.query import Query
from headcount.privacy.sensitivity import Sensitivity

T = TypeVar("T")


def given(sensitivity: Sensitivity, true_values: T) -> Query[T]:
    """A question that these numbers answer."""
    return Query(sensitivity, lambda: true_values)
