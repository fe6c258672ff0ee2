"""Groups and their totals, as one query of the engine reads them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from headcount.contributions.groups import TOTAL
from headcount.privacy.query import Query

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from headcount.privacy.sensitivity import Sensitivity


class GroupTotals:
    """The totals as a question; and the names of those groups that a mechanism let out."""

    def __init__(self, sensitivity: Sensitivity, read: Callable[[], pa.Table]) -> None:
        self._read = cache(read)
        self.query: Query[NDArray[np.int64]] = Query(sensitivity, self._ask)

    def _ask(self) -> NDArray[np.int64]:
        return np.asarray(self._read().column(TOTAL), np.int64)

    def names(self, positions: NDArray[np.intp]) -> pa.Table:
        """The groups at these positions, which may be published by now."""
        import pyarrow as pa

        return self._read().drop_columns([TOTAL]).take(pa.array(positions))

    def every_name(self) -> pa.Table:
        """All groups, where they are public: a list that was given."""
        return self._read().drop_columns([TOTAL])
