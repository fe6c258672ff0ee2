"""What clipping took from rows: the curve through the classes, and what the classes are asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from headcount.mechanisms.equal_error import loss, tuning
from headcount.mechanisms.equal_error import measuring as measuring_module
from headcount.mechanisms.equal_error.loss import ClassLosses, Losses, Tilts
from headcount.mechanisms.equal_error.measuring import Chosen, Measuring, Round
from headcount.mechanisms.equal_error.plan import EqualErrorPlan
from headcount.privacy.query import Query
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
SIZES = np.geomspace(20_000, 200, 400)
FLAT = Tilts(np.zeros(400), np.ones(400))


def read(true: Floats, tilts: Tilts, classes: Integers | None = None) -> Losses:
    """Losses of rows, from those of classes that were measured well."""
    by_size = loss.size_classes(SIZES)
    classes = by_size if classes is None else classes
    n_each = np.bincount(classes)
    log_sizes = np.log(SIZES)
    nearly_smallest = by_size == by_size.max() - 1
    found = ClassLosses(
        classes,
        np.bincount(classes, log_sizes) / n_each,
        float(log_sizes[nearly_smallest].min()),
        np.bincount(classes, true) / n_each,
        np.full(len(n_each), 0.002),
    )
    return loss.losses_of_rows(found, log_sizes, SIZES, tilts, 0.15)


def off(losses: Losses, true: Floats, some: npt.NDArray[np.bool_]) -> float:
    return float(np.sqrt(np.mean((losses.lost - true)[some] ** 2)))


def test_the_smallest_rows_lose_more_than_a_line_says(monkeypatch: pytest.MonkeyPatch) -> None:
    knee = float(SIZES[loss.size_classes(SIZES) == 2].min())
    true = 0.005 + 0.2 * np.maximum(0, np.log(knee) - np.log(SIZES))
    smallest = knee > SIZES
    bent = off(read(true, FLAT), true, smallest)
    assert bent < 0.15 * true[smallest].mean()
    monkeypatch.setattr(tuning, "KNEES", (1e-6,))
    assert off(read(true, FLAT), true, smallest) > 2 * bent


def tilted() -> tuple[Floats, Tilts, Integers]:
    """Rows of light users lose a third of what those of heavy users do."""
    tilts = np.tile([-1.0, 1.0], 200)
    of_rows = Tilts(tilts, np.ones(400))
    return 0.06 * (1 - 0.5 * tilts), of_rows, of_rows.split(loss.size_classes(SIZES))


def test_rows_of_heavy_users_lose_more(monkeypatch: pytest.MonkeyPatch) -> None:
    true, tilts, classes = tilted()
    assert classes.max() == 7
    assert read(true, tilts, classes).lost == pytest.approx(true, rel=0.15)
    monkeypatch.setattr(tuning, "MOST_TILT", 0.0)
    assert off(read(true, tilts, classes), true, SIZES > 0) > 0.4 * true.mean()


def test_a_tilt_is_read_from_weights_and_counts() -> None:
    chance = np.random.default_rng(7)
    truth = np.tile([0.9, 1.1], 200)
    weights = SIZES * 0.2 * truth * (1 + 0.01 * chance.normal(size=400))
    tilts = Tilts.of(weights, 0.01 * weights, SIZES, np.full(400, 0.02))
    assert (np.sign(tilts.tilts) == np.sign(truth - 1)).mean() > 0.99
    noise = Tilts.of(weights, weights, SIZES, np.full(400, 0.02))
    assert np.abs(noise.tilts).max() < 0.1


@dataclass
class Taken:
    """What heavy users lose of each row they are in, added up as an engine does."""

    lost: Floats

    def taken_away(
        self,
        _second: Any,
        shares: tuple[Integers, Integers],
        classes: Integers,
        norm: int,
        edges: tuple[float, ...],
    ) -> tuple[Query[Integers], Query[Integers]]:
        n_classes = int(classes.max()) + 1
        of_rows = self.lost * (shares[0] + shares[1])
        vectors = np.stack([of_rows[:, classes == i].sum(axis=1) for i in range(n_classes)], 1)
        lengths = np.maximum(np.sqrt((vectors**2).sum(axis=1)), norm)
        hidden = vectors.sum(axis=1) * (1 / norm - 1 / lengths)
        cells = np.bincount(np.searchsorted(edges, hidden, "right"), minlength=len(edges) + 1)[1:]
        totals = np.floor(vectors * (norm / lengths)[:, None]).astype(np.int64).sum(axis=0)
        off = Query(Sensitivity.of_norm(norm**2, n_classes), lambda: totals)
        return off, Query(Sensitivity.of_entries(1), lambda: cells)


def test_who_is_in_every_row_may_say_so_in_every_class(monkeypatch: pytest.MonkeyPatch) -> None:
    n_heavy, share = 40, 0.3
    plan = EqualErrorPlan(Zcdp(1, "1e-6"), 0.10, "equal")
    taken: Any = Taken(np.full((n_heavy, 400), share))
    rounds = (Round(taken, SIZES, 20 / SIZES), Round(taken, SIZES, 20 / SIZES))
    chosen = Chosen(np.arange(400), SIZES, SIZES, np.full(400, 1e9), tau=0.05)
    measuring = Measuring(plan, plan.shares, taken, lambda query, _: (query.ask(), 1.0), print)
    found: list[ClassLosses] = []
    monkeypatch.setattr(measuring_module, "losses_of_rows", lambda one, *_: found.append(one))
    measuring.losses(rounds, SIZES, SIZES, chosen, plan.shares)
    classes = found[0].classes
    true = np.bincount(classes, n_heavy * share / SIZES) / np.bincount(classes)
    assert found[0].lost == pytest.approx(true, rel=0.01)
