"""Which noise counts of events in found groups get; the plan says which, and why."""

from __future__ import annotations

from headcount.errors import UsageError
from headcount.mechanisms.gaussian_threshold import GaussianThreshold
from headcount.mechanisms.laplace_threshold import LaplaceThreshold
from headcount.privacy.bounds import NormBounds
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp

MAX_GROUPS = 1 << 13
LATTICE_BITS = 12

Noise = GaussianThreshold | LaplaceThreshold


def noises_of(spend: Zcdp, neighbours: Neighbours) -> dict[str, Noise]:
    """The ways to add noise, for a bound of one row; every other bound is a multiple of it."""
    noises: dict[str, Noise] = {"laplace": LaplaceThreshold.calibrate(1, spend, neighbours)}
    if neighbours is Neighbours.ADD_REMOVE:
        noises["gaussian"] = GaussianThreshold.calibrate(NormBounds(MAX_GROUPS, 1), spend)
    return noises


def noise_for(asked: str, noises: dict[str, Noise]) -> tuple[str, str]:
    """Which of them, and why."""
    if "gaussian" not in noises:
        if asked == "gaussian":
            raise UsageError(
                "method='gaussian' is for add-remove accounts, and this one is replace. Use "
                "method='laplace'. Nothing was charged."
            )
        return "laplace", "the account is for replacement, where this is the one with a proof"
    return asked, "as asked"


def least_count(noise: Noise) -> float:
    """The threshold of a bound of one row."""
    if isinstance(noise, LaplaceThreshold):
        return float(noise.threshold)
    return noise.with_norm(1, LATTICE_BITS).threshold / (1 << LATTICE_BITS)


def scaled(noise: Noise, bound: int) -> Noise:
    """The same noise for another bound, in whole rows."""
    if isinstance(noise, GaussianThreshold):
        return noise.with_norm(bound, 0)
    return noise.with_rows(bound)
