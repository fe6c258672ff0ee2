"""What a round with noise shows: counts with noise of a law that was charged, and nothing else.

The only part of the core that needs NumPy, and the only one that draws [FN3].
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headcount.fleet.noise_rounds import NoiseRounds, moved
from headcount.fleet.task import Task
from headcount.mechanisms.chance import Chance, Drawn
from headcount.mechanisms.laplace import Laplace
from headcount.privacy.query import Query


def noisy(
    task: Task, true_counts: Mapping[str, int], chance: Chance | None = None
) -> tuple[tuple[str, int], ...]:
    """Groups and their noisy counts: all that are public, or those found above the threshold."""
    mechanism, drawn = NoiseRounds.of(task).one, Drawn() if chance is None else chance
    # By name: an order that says nothing of who answered when.
    known = task.file.question.groups
    names = sorted(known) if known else sorted(true_counts)
    counts = [true_counts.get(name, 0) for name in names]
    query = Query(moved(task.file), lambda: np.array(counts, np.int64))
    if isinstance(mechanism, Laplace):
        shown = zip(names, mechanism.draw(query, drawn).tolist(), strict=True)
        return tuple((name, int(count)) for name, count in shown)
    kept, noisy_counts = mechanism.draw(query, drawn)
    found = zip(kept.tolist(), noisy_counts.tolist(), strict=True)
    return tuple((names[at], int(count)) for at, count in found)
