"""Releases broken by the smallest edit: a step of the pipeline swapped for one that leaks."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, ExitStack
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow.compute as pc

from headcount.contributions.bound import bound as bound_contributions
from headcount.contributions.groups import TOTAL
from headcount.contributions.tally import Tally
from headcount.mechanisms.gaussian_threshold import GaussianThreshold
from headcount.noise import selection
from headcount.noise.entropy import OsEntropy
from headcount.privacy.bounds import Bounds
from headcount.releases import count_users, rows, run
from headcount.trials.seam import swapped
from headcount.trials.tables import GROUP


def unbounded() -> AbstractContextManager[None]:
    """No bound on the groups of a user."""

    def all_groups(table: Any, by: Any, bounds: Bounds, **options: Any) -> Any:
        loose = Bounds(1 << 20, (1 << 20) - 1, bounds.lattice_bits)
        return bound_contributions(table, by, loose, **options)

    return swapped(count_users, "bound_contributions", all_groups)


def ordered_by_true_count() -> AbstractContextManager[Any]:
    """Rows in the order of their true counts, as an engine may well deliver them."""

    def found(true_tally: Tally, mechanism: GaussianThreshold) -> Any:
        class Ordered:
            schema = true_tally.schema

            @staticmethod
            def batches(**_options: Any) -> Any:
                batches = list(true_tally.batches(ordered=True))
                return [b.sort_by([(TOTAL, "descending")]) for b in batches]

        return shipped_found(Ordered, mechanism)  # type: ignore[arg-type]

    def unsorted(groups: Any, noisy_totals: Any, *options: Any) -> Any:
        numbered = groups.select([]).append_column("n", [np.arange(len(noisy_totals))])
        table = shipped_rows(numbered, noisy_totals, *options).drop_columns(["n"])
        for name in reversed(groups.column_names):
            table = table.add_column(0, name, groups.column(name))
        return table

    shipped_found, shipped_rows = rows.found, rows.with_error_bars
    stack = ExitStack()
    stack.enter_context(swapped(count_users, "found", found))
    stack.enter_context(swapped(count_users, "with_error_bars", unsorted))
    return stack


def errors_passed_on() -> AbstractContextManager[None]:
    """What the engine says reaches the caller."""

    def passed_on(work: Any, sequence: int, progress: Any) -> Any:
        return work.read_and_draw(bytes(32), sequence, progress)

    return swapped(run, "_withholding_engine_errors", passed_on)


def groups_logged() -> AbstractContextManager[None]:
    """A debug line that names what was found."""
    shipped = rows.found

    def found(true_tally: Tally, mechanism: GaussianThreshold) -> Any:
        for batch in true_tally.batches():
            logging.getLogger("headcount").debug("groups %s", batch.column(GROUP).to_pylist())
        return shipped(true_tally, mechanism)

    return swapped(count_users, "found", found)


def uncharged_choice() -> AbstractContextManager[None]:
    """A choice made on the true totals, exactly drawn and never declared."""
    shipped = rows.found

    def found(true_tally: Tally, mechanism: GaussianThreshold) -> Any:
        true_sum = sum(int(pc.sum(b.column(TOTAL)).as_py()) for b in true_tally.batches())
        scores = np.array([-abs(true_sum - (k << 16)) for k in range(4)], dtype=np.int64)
        selection.select(scores, Fraction(1, 2), OsEntropy())
        return shipped(true_tally, mechanism)

    return swapped(count_users, "found", found)
