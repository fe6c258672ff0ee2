"""What was claimed, what was found, and whether the one refutes the other."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

ROUNDING = 1e-9
"""Findings are doubles made from exact numbers by a handful of operations."""


class Tier(StrEnum):
    """How a finding was made."""

    EXACT = "exact"
    """From the law itself: no chance is involved."""

    GREY_BOX = "grey box"
    """From what reached the noise: no chance is involved."""

    BLACK_BOX = "black box"
    """From outputs alone: a correct mechanism is flagged with a chance below alpha."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One number that a mechanism claims not to exceed, and what it was at least found to be."""

    tier: Tier
    subject: str
    measure: str
    claimed: float
    found: float

    @property
    def violated(self) -> bool:
        """Whether the claim is refuted."""
        return self.found > self.claimed + ROUNDING * abs(self.claimed)

    @property
    def excess(self) -> float:
        """How far beyond the claim, as a ratio; for ordering only."""
        if self.claimed > 0:
            return self.found / self.claimed
        return float("inf") if self.violated else 0.0

    def __str__(self) -> str:
        sign = ">" if self.violated else "<="
        numbers = f"{self.found:.6g} {sign} {self.claimed:.6g}"
        return f"{self.tier}, {self.subject}: {self.measure} {numbers}"


def worst(findings: Iterable[Finding]) -> Finding:
    """The finding that goes farthest beyond its claim; a measured bound before a yes or no."""

    def weight(finding: Finding) -> tuple[bool, bool, bool, float]:
        is_measured = math.isfinite(finding.excess)
        return (finding.violated, is_measured, finding.tier is not Tier.GREY_BOX, finding.excess)

    return max(findings, key=weight)


def any_violated(findings: Iterable[Finding]) -> bool:
    """Whether one of the claims is refuted."""
    return any(finding.violated for finding in findings)
