"""Whole releases through the one door, with a chance and a key of the auditor's.

What is audited is what a user gets: the same plan, charge, read and draw. Only where noise, choices
and the secret of the release come from is said to the door.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import headcount as hc
from headcount.ledger.ledger import Ledger
from headcount.mechanisms.chance import Chance
from headcount.releases.dataset import Dataset
from headcount.releases.plan import Plan
from headcount.releases.run import new_secret, run
from headcount.releases.stages import Progress
from headcount.results.release import Release
from headcount.trials.seam import Recorder
from headcount.trials.tables import GROUP, USER

ACCOUNT = "audit"


@contextmanager
def opened(
    source: Any, *, user: str = USER, epsilon: float = 1, delta: float = 1e-2, **options: Any
) -> Iterator[Dataset]:
    """A table and an account of its own, in a ledger that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        yield hc.open(
            source,
            user=user,
            account=ACCOUNT,
            budget=hc.Budget(epsilon=epsilon, delta=delta),
            ledger=Ledger(Path(folder) / "ledger.db", heads=Path(folder) / "heads"),
            **options,
        )


def released(
    plan: Plan,
    chance: Chance,
    new_key: Callable[[], bytes] = new_secret,
    *,
    fresh: bool = False,
    progress: Progress = lambda _stage: None,
) -> Release:
    """What ``plan.release()`` gives, drawn from this chance under this key."""
    return run(
        plan.work,
        plan.ledger,
        plan.opening,
        key=None,
        fresh=fresh,
        progress=progress,
        chance=chance,
        new_key=new_key,
    )


def shown_in(release: Release, recorder: Recorder) -> dict[int, Any]:
    """The group that each entry was released for.

    Results are as large as their entries are late, and the largest is that of the last one: this
    tells how large a step is in the units of the release.
    """
    table = release.to_arrow()
    groups, counts = table.column(GROUP).to_pylist(), table.column("count").to_pylist()
    step = max([1, *counts]) / max(1, recorder.n_drawn)
    return {round(count / step) - 1: group for group, count in zip(groups, counts, strict=True)}


def one_key() -> bytes:
    """A key for both of two tables, so that what everyone else brings is kept alike."""
    return bytes(32)
