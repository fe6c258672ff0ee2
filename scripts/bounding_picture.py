"""Draw docs/pictures/bias-against-noise.svg: what a bound leaves out, its noise, and the choice.

Data are synthetic: 20,000 users, lognormal numbers of events over 500 groups.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.clip_choice import RATIO_BITS, ClipChoice
from headcount.privacy.length import Norm
from headcount.privacy.spend import Zcdp
from headcount.trials.given import given

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "bias-against-noise.svg"
N_USERS, N_GROUPS, N_CHOICES = 20_000, 500, 99
RHO = Fraction(165, 10_000)  # about epsilon 1 at delta 1e-6
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 340, 64, 20, 20, 52
FIRST, LAST, HIGHEST = 2.0, 400.0, 1.0

Floats = NDArray[np.float64]


def norms() -> tuple[Floats, Floats]:
    """The l1 and l2 norms of users."""
    rng = np.random.default_rng(11)  # noqa: TID251  data, not noise
    sizes = np.maximum(1, rng.lognormal(2.5, 1.4, N_USERS)).astype(np.int64)
    popularity = np.cumsum(1 / (np.arange(N_GROUPS) + 10.0))
    users = np.repeat(np.arange(N_USERS), sizes)
    groups = np.searchsorted(popularity, rng.random(len(users)) * popularity[-1])
    pairs, counts = np.unique(users * N_GROUPS + groups, return_counts=True)
    owner = pairs // N_GROUPS
    weights = counts.astype(np.float64)
    l1 = np.bincount(owner, weights).astype(np.float64)
    return l1, np.sqrt(np.bincount(owner, weights**2))


def choices(l1: Floats, l2: Floats, noise: float) -> list[float]:
    """Many private choices, sorted."""
    choice = ClipChoice.calibrate(Norm.L2, N_GROUPS, noise, Zcdp(RHO * Fraction(7, 100)))
    bounds = [0.0, *(float(length.value) for length in choice.candidates)]
    ratios = np.minimum(np.floor(l1 / l2 * (1 << RATIO_BITS)), choice.cap)
    true_weights = np.array([ratios[l2 > bound].sum() for bound in bounds]).astype(np.int64)
    return sorted(
        bounds[choice.draw(given(choice.sensitivity, true_weights), Drawn())]
        for _ in range(N_CHOICES)
    )


def across(bound: float) -> float:
    """Where a bound is drawn, on a logarithmic scale."""
    share = math.log(bound / FIRST) / math.log(LAST / FIRST)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def down(loss: float) -> float:
    """Where a loss is drawn."""
    return TOP + (1 - loss / HIGHEST) * (HEIGHT - TOP - BOTTOM)


def line(bounds: Floats, losses: Floats, colour: str, width: float) -> str:
    """One curve, as far as it is within the picture."""
    points = " ".join(
        f"{across(x):.1f},{down(y):.1f}"
        for x, y in zip(bounds, losses, strict=True)
        if y <= HIGHEST
    )
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def text(x: float, y: float, words: str, anchor: str = "start", colour: str = "#333") -> str:
    """A label."""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


def main() -> None:
    """Compute and draw."""
    l1, l2 = norms()
    noise = N_GROUPS / math.sqrt(2 * RHO * Fraction(88, 100)) * math.sqrt(2 / math.pi)
    bounds = np.geomspace(FIRST, LAST, 160)
    ratios = l1 / l2
    left_out = np.array([(ratios * np.maximum(l2 - bound, 0)).sum() for bound in bounds]) / l1.sum()
    added = bounds * noise / l1.sum()
    drawn = choices(l1, l2, noise)
    low, chosen, high = (drawn[round(part * (len(drawn) - 1))] for part in (0.05, 0.5, 0.95))
    bottom = HEIGHT - BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="13">',
        "<title>What a bound leaves out falls as the bound grows, the noise it needs grows; the "
        "private choice lies where their sum is least.</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<rect x="{across(low):.1f}" y="{TOP}" width="{across(high) - across(low):.1f}" '
        f'height="{bottom - TOP}" fill="#e9e2f4"/>',
        f'<path d="M{LEFT} {TOP}V{bottom}H{WIDTH - RIGHT}" fill="none" stroke="#333"/>',
        f'<path d="M{across(chosen):.1f} {TOP}V{bottom}" stroke="#5b2a9d" stroke-dasharray="5 4"/>',
        line(bounds, left_out, "#c2571a", 2),
        line(bounds, added, "#1a6fb0", 2),
        line(bounds, left_out + added, "#222", 3),
        text(across(2.2), down(0.3), "left out by the bound", colour="#c2571a"),
        text(across(95), down(0.22), "noise", colour="#1a6fb0"),
        text(across(115), down(0.54), "both", "end", "#222"),
        text(across(chosen) + 6, TOP + 14, "chosen privately", colour="#5b2a9d"),
        *(text(across(x), bottom + 18, str(x), "middle") for x in (2, 5, 10, 20, 50, 100, 200)),
        *(text(LEFT - 8, down(y) + 4, f"{y:.0%}", "end") for y in (0, 0.25, 0.5, 0.75, 1)),
        text((LEFT + WIDTH) / 2, HEIGHT - 12, "bound on a user's events (l2 norm)", "middle"),
        "</svg>",
    ]
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
