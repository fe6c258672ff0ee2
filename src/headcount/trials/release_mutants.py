"""Releases broken by the smallest edit: a step of the pipeline swapped for one that leaks."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from headcount.contributions.bound import bound as bound_contributions
from headcount.contributions.group_totals import GroupTotals
from headcount.contributions.groups import TOTAL
from headcount.contributions.tally import Tally
from headcount.mechanisms.chance import Chance
from headcount.mechanisms.gaussian_threshold import GaussianThreshold
from headcount.privacy.bounds import Bounds
from headcount.releases import rows, run
from headcount.releases.count_users import plan as count_users
from headcount.trials.seam import swapped
from headcount.trials.tables import GROUP


def unbounded() -> AbstractContextManager[None]:
    """No bound on the groups of a user."""

    def all_groups(table: Any, by: Any, bounds: Bounds, **options: Any) -> Any:
        loose = Bounds(1 << 20, (1 << 20) - 1, bounds.lattice_bits)
        claimed = bound_contributions(table, by, bounds, **options).sensitivity
        return replace(bound_contributions(table, by, loose, **options), sensitivity=claimed)

    return swapped(count_users, "bound_contributions", all_groups)


def ordered_by_true_count() -> AbstractContextManager[Any]:
    """Rows in the order of their true counts, as an engine may well deliver them."""

    def draw_found(true_tally: Tally, mechanism: GaussianThreshold, chance: Chance) -> Any:
        class Ordered:
            schema = true_tally.schema

            @staticmethod
            def parts(**_options: Any) -> Any:
                for part in true_tally.parts(ordered=True):
                    by_total = partial(part._read().sort_by, [(TOTAL, "descending")])
                    yield GroupTotals(part.query.sensitivity, by_total)

        return shipped_found(Ordered, mechanism, chance)

    def unsorted(groups: Any, noisy_totals: Any, *options: Any) -> Any:
        numbered = groups.select([]).append_column("n", [np.arange(len(noisy_totals))])
        table = shipped_rows(numbered, noisy_totals, *options).drop_columns(["n"])
        for name in reversed(groups.column_names):
            table = table.add_column(0, name, groups.column(name))
        return table

    shipped_found, shipped_rows = rows.draw_found, rows.with_error_bars
    stack = ExitStack()
    stack.enter_context(swapped(rows, "draw_found", draw_found))
    stack.enter_context(swapped(rows, "with_error_bars", unsorted))
    return stack


def errors_passed_on() -> AbstractContextManager[None]:
    """What the engine says reaches the caller."""

    def passed_on(_work: Any, draw: Any, _stages: Any, _entry: int, _checked: Any) -> Any:
        return draw().to_bytes()

    return swapped(run, "_withholding_engine_errors", passed_on)


def groups_logged() -> AbstractContextManager[None]:
    """A debug line that names what was found."""
    shipped = rows.draw_found

    def draw_found(true_tally: Tally, mechanism: GaussianThreshold, chance: Chance) -> Any:
        for part in true_tally.parts(ordered=True):
            names = part.every_name().column(GROUP).to_pylist()
            logging.getLogger("headcount").debug("groups %s", names)
        return shipped(true_tally, mechanism, chance)

    return swapped(rows, "draw_found", draw_found)


def uncharged_choice() -> AbstractContextManager[None]:
    """A choice made on the true totals, exactly drawn and never declared."""
    shipped = rows.draw_found

    def draw_found(true_tally: Tally, mechanism: GaussianThreshold, chance: Chance) -> Any:
        true_sum = sum(int(part.query.ask().sum()) for part in true_tally.parts(ordered=True))
        scores = np.array([-abs(true_sum - (k << 16)) for k in range(4)], dtype=np.int64)
        chance.select(scores, Fraction(1, 2))
        return shipped(true_tally, mechanism, chance)

    return swapped(rows, "draw_found", draw_found)
