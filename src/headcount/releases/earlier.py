"""The latest count of the same groups, which is public by now, for those who plan another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.accounting.convert import shown
from headcount.ledger.statement.statement import epsilon_alone
from headcount.releases.expected import OFF, OFF_SDS
from headcount.releases.facts import request_of
from headcount.releases.released_numbers import numbers_of, stored_release

if TYPE_CHECKING:
    from headcount.releases.opened import Opened


@dataclass(frozen=True, slots=True)
class Earlier:
    """One count that was released, and how it was made."""

    method: str
    note: str


def earlier_count(dataset: Opened, verb: str, by: Any) -> Earlier | None:
    """The latest of these rows by these columns; nothing is read or charged."""
    rows = request_of(dataset, dataset.account_name, verb, by).rows
    for entry in reversed(dataset.ledger.entries(dataset.account_name, verb)):
        about = entry.about
        if not entry.has_result or about.get("rows") != rows or {"groups", "top"} & {*about}:
            continue
        release = stored_release(dataset, entry)
        numbers = None if release is None else numbers_of(release, ("count", "sd"))
        if release is not None and numbers is not None:
            epsilon = shown(epsilon_alone(dataset.account, entry.spend))
            before = f"entry {entry.sequence} was such a count at epsilon {epsilon}"
            return Earlier(release.facts.method, f"{before}: {_came_to(*numbers)}")
    return None


def _came_to(counts: Any, sds: Any) -> str:
    shown_rows = counts > 0
    if not shown_rows.any():
        return "it showed no row"
    off = float(np.quantile(OFF_SDS * sds[shown_rows] / counts[shown_rows], OFF))
    return f"{len(counts):,} rows, nine in ten expected to be off by less than {100 * off:.2g} %"
