"""What reached the noise and the selections on two neighbouring tables, against what was declared.

A recording holds every call to a primitive: its settings (law, scale, threshold), and the true
values by group, or the true scores by candidate. Settings must be those declared and must not
differ between neighbours; values may differ by no more than the declared distance; candidates must
be the same on both sides. No chance is involved, so one run of each side is enough.

**Reference.** Cebere, Desfontaines and others 2026 (Re:cord-play) for the approach.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from headcount.audit.verdict import Finding, Tier

Settings = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Declared:
    """What one call claims: its settings, and how far one user can move its input."""

    settings: Settings
    l0: float = math.inf
    l1: float = math.inf
    l2_squared: float = math.inf
    linf: float = math.inf
    score_range: float | None = None
    """For a selection: how much the change of one score may differ from that of another."""

    @property
    def is_selection(self) -> bool:
        """Whether the call chooses among candidates."""
        return self.score_range is not None


@dataclass(frozen=True, slots=True)
class Call:
    """One call to a primitive, as it was seen."""

    settings: Settings
    true_values: Mapping[Any, int]


@dataclass(frozen=True, slots=True)
class Recording:
    """All calls of one release, and whatever else of it must not depend on the table."""

    calls: tuple[Call, ...]
    public: Mapping[str, str]


def compare(
    with_user: Recording, without_user: Recording, declared: Sequence[Declared], subject: str
) -> list[Finding]:
    """Hold two recordings against what was declared."""

    def finding(measure: str, claimed: float, found: float) -> Finding:
        return Finding(Tier.GREY_BOX, subject, measure, claimed, found)

    public = _differences(with_user.public, without_user.public)
    findings = [finding(f"{name} that depends on the table", 0, 1) for name in public] or [
        finding("facts that depend on the table", 0, 0)
    ]
    n_calls = sorted((len(with_user.calls), len(without_user.calls)))
    findings.append(finding("calls that were not declared", 0, max(0, n_calls[1] - len(declared))))
    findings.append(finding("calls that depend on the table", 0, n_calls[1] - n_calls[0]))
    for claim, left, right in zip(declared, with_user.calls, without_user.calls, strict=False):
        for call in (left, right):
            for name in _differences(call.settings, claim.settings):
                findings.append(finding(f"{name} that is not what was declared", 0, 1))
        findings += [finding(*distance) for distance in _distances(claim, left, right)]
    return findings


def _distances(claim: Declared, left: Call, right: Call) -> list[tuple[str, float, float]]:
    names = {*left.true_values, *right.true_values}
    if claim.is_selection:
        changed = len(names) - len({*left.true_values} & {*right.true_values})
        shifts = [left.true_values.get(n, 0) - right.true_values.get(n, 0) for n in names]
        assert claim.score_range is not None  # noqa: S101  a selection has one
        return [
            ("candidates that depend on the table", 0, changed),
            ("range of score changes", claim.score_range, max(shifts) - min(shifts)),
        ]
    shifts = [abs(left.true_values.get(n, 0) - right.true_values.get(n, 0)) for n in names]
    # An entry of 0 that is there on one side only is still noised there, and may leave.
    moved = [n for n in names if left.true_values.get(n) != right.true_values.get(n)]
    return [
        ("l0", claim.l0, len(moved)),
        ("l1", claim.l1, sum(shifts)),
        ("l2 squared", claim.l2_squared, float(sum(Fraction(shift) ** 2 for shift in shifts))),
        ("linf", claim.linf, max(shifts, default=0)),
    ]


def _differences(left: Settings, right: Settings) -> list[str]:
    return sorted(n for n in {*left, *right} if left.get(n) != right.get(n))
