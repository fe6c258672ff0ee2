"""Numbers of a result that was stored before, for whoever plans by them.

Whoever may store results may store anything, so what does not have the numbers that its verb shows
is left aside: a plan without it is as good as one before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headcount.errors import LedgerError
from headcount.results.release import Release

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.ledger.account import Entry
    from headcount.releases.opened import Opened


def released_numbers(
    dataset: Opened, entry: Entry, columns: tuple[str, ...]
) -> list[NDArray[np.float64]] | None:
    """These columns of what an entry has stored, if each is of finite numbers."""
    release = stored_release(dataset, entry)
    return None if release is None else numbers_of(release, columns)


def stored_release(dataset: Opened, entry: Entry) -> Release | None:
    """What an entry has stored, if it is a release of its verb."""
    stored = dataset.ledger.stored_result(entry.sequence)
    if stored is None:
        return None
    try:
        release = Release.from_bytes(stored)
    except LedgerError:
        return None
    return release if release.facts.verb == entry.verb else None


def numbers_of(release: Release, columns: tuple[str, ...]) -> list[NDArray[np.float64]] | None:
    """These columns, if each is there and of finite numbers."""
    import pyarrow as pa

    table = release.to_arrow()
    if not {*columns} <= {*table.column_names}:
        return None
    kept = [table.column(name) for name in columns]
    if not all(pa.types.is_integer(one.type) or pa.types.is_floating(one.type) for one in kept):
        return None
    numbers = [one.to_numpy().astype(np.float64) for one in kept if not one.null_count]
    is_sound = len(numbers) == len(kept) and all(np.isfinite(one).all() for one in numbers)
    return numbers if is_sound else None
