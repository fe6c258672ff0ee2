"""The public units that shares are kept in, so that sums of them are sums of integers."""

from __future__ import annotations

SHARE_BITS = 22
"""A share of one is ``2**SHARE_BITS``."""
WEIGHT_BITS = 16
"""A weight of one, the largest, is ``2**WEIGHT_BITS``."""
KEPT_BITS = 9
"""A user who is not shortened counts ``2**KEPT_BITS`` times."""
MAX_GROUPS = 1 << 20
FIRST_OCTAVE, LAST_OCTAVE, PER_OCTAVE = 16, 2 * SHARE_BITS + 1, 8


def length_edges() -> list[int]:
    """The upper ends of the cells of squared lengths; one more cell has no end."""
    return [
        (1 << octave - 3) * (PER_OCTAVE + part)
        for octave in range(FIRST_OCTAVE, LAST_OCTAVE + 1)
        for part in range(PER_OCTAVE)
    ]
