"""Trial of the discrete Laplace sampler: epsilon of a count that one user moves by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from headcount.audit.blackbox import audit_epsilon
from headcount.audit.divergence import pure_epsilon
from headcount.audit.exact import read_words, walk
from headcount.audit.law import Law, independent
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms.chance import Drawn
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.noise.entropy import Entropy
from headcount.noise.table import InversionTable, table_for
from headcount.noise.weights import RatioLaw
from headcount.trials.trial import EPSILONS, Case, Effort, Trial

Draw = Callable[[int, Entropy], npt.NDArray[np.int64]]

NARROW = 4
RESIDUAL = 1e-12
WIDE = 1 << 12
"""A count in units so fine that the noise is too wide for one table."""
SCALES = tuple(Fraction(k, 40) for k in (4, 5, 6, 8, 10, 13, 16, 20, 24, 28)) + tuple(
    Fraction(k, 8) for k in (7, 8, 9, 10, 11, 12, 13, 14, 16, 20)
)
"""Twenty scales that the walk of all coins takes; 20 times as much is read by 64-bit words."""


def walked_law(draw: Draw) -> Law:
    """The law of a draw from narrow words, by walking all of its coins."""
    return walk(lambda script: int(draw(1, script)[0]), width=NARROW, residual=RESIDUAL)


def table_law(table: InversionTable) -> Law:
    """The law of a draw from 64-bit words, by trying it around every bound of its table."""
    return read_words(lambda script, n: table.draw(n, script), table.bounds)


def zero_twice(scale: Fraction, n: int, entropy: Entropy) -> npt.NDArray[np.int64]:
    """A magnitude and a sign: zero is reached with either sign, so it has twice its mass."""
    return sign(n, entropy) * table_for(_magnitude(scale)).draw(n, entropy)


def zero_twice_law(scale: Fraction) -> Law:
    """The law of that, put together from the coins of the sign and those of the magnitude."""
    signs = walk(lambda script: int(sign(1, script)[0]), width=NARROW, residual=RESIDUAL)
    magnitudes = walked_law(table_for(_magnitude(scale), NARROW).draw)
    return independent([signs, magnitudes]).mapped(lambda both: both[0] * both[1])


def sign(n: int, entropy: Entropy) -> npt.NDArray[np.int64]:
    """The highest bit of a word, as a sign."""
    return 1 - 2 * (entropy.words(n) >> np.uint64(63)).astype(np.int64)


def _magnitude(scale: Fraction) -> RatioLaw:
    return RatioLaw(1 / scale, two_sided=False)


def _exact(law: Law, claimed: Fraction, subject: str) -> Finding:
    least = max(1e7 * float(law.residual), 1e-12)
    found = pure_epsilon(law.shifted(1), law, least)
    return Finding(Tier.EXACT, subject, "epsilon", float(claimed), found.low)


def sampled(
    draw: Draw, epsilon: float, delta: float, n: int, subject: str, unit: int = 1
) -> Finding:
    """Outputs of a count that one user moves by ``unit``, looked at in eighths of a unit."""
    entropy = Drawn().entropy
    step = max(1, unit // 8)
    with_user, without_user = (draw(n, entropy) + unit) // step, draw(n, entropy) // step
    return audit_epsilon(
        with_user[:, None], without_user[:, None], epsilon=epsilon, delta=delta, subject=subject
    )


def _as_shipped(effort: Effort) -> Sequence[Finding]:
    scales = SCALES if effort is Effort.FULL else SCALES[2::6]
    findings = []
    for scale in scales:
        narrow = DiscreteLaplace(scale).tables(NARROW)[0]
        findings.append(_exact(walked_law(narrow.draw), 1 / scale, f"scale {scale}, all coins"))
        (wide,) = DiscreteLaplace(20 * scale).tables()
        findings.append(_exact(table_law(wide), 1 / (20 * scale), f"scale {20 * scale}, 64 bits"))
    for epsilon in EPSILONS:
        law = DiscreteLaplace(1 / Fraction(epsilon))
        findings.append(sampled(law.draw, epsilon, 0.0, 40_000, f"epsilon {epsilon}"))
        fine = DiscreteLaplace(WIDE / Fraction(epsilon))
        subject = f"epsilon {epsilon}, scale {float(fine.scale):.0f}"
        findings.append(sampled(fine.draw, epsilon, 0.0, 40_000, subject, WIDE))
    return findings


def _too_little(factor: Fraction) -> Callable[[Effort], Sequence[Finding]]:
    def examined(_effort: Effort) -> Sequence[Finding]:
        findings = []
        for epsilon in EPSILONS:
            (table,) = DiscreteLaplace(factor / Fraction(epsilon)).tables()
            findings.append(_exact(table_law(table), Fraction(epsilon), f"epsilon {epsilon}"))
            findings.append(sampled(table.draw, epsilon, 0.0, 10_000, f"epsilon {epsilon}"))
        return findings

    return examined


def _zero_twice(_effort: Effort) -> Sequence[Finding]:
    scale = Fraction(1)
    return [
        _exact(zero_twice_law(scale), scale, "scale 1, all coins"),
        sampled(partial(zero_twice, scale), 1.0, 0.0, 10_000, "scale 1"),
    ]


TRIAL = Trial(
    "discrete_laplace",
    (
        Case("as shipped", _as_shipped, is_mutant=False),
        Case("half the noise", _too_little(Fraction(1, 2))),
        Case("5 % too little noise", _too_little(Fraction(20, 21))),
        Case("zero counted twice", _zero_twice),
    ),
)
