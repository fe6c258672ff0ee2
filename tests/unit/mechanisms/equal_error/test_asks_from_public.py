"""What an equal-error release asks follows from what was published, and from nothing else.

The same noisy answers are given on two tables: every weight, clip, class and norm must be the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headcount.contributions.equal_error.known import KnownPairs
from headcount.contributions.pairs import Pairs
from headcount.contributions.store import Store
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.equal_error import measuring
from headcount.mechanisms.equal_error.mechanism import EqualError
from headcount.privacy.spend import Zcdp
from headcount.tables import open_table

N_GROUPS, N_USERS = 120, 1500
LIMIT = Zcdp(2, "1e-3")


def table(seed: int) -> pa.Table:
    chooser = random.Random(seed)
    rows = []
    for user in range(N_USERS):
        n = min(N_GROUPS, 3 + int(chooser.paretovariate(0.9)))
        weights = [1 / (group + 3) for group in range(N_GROUPS)]
        rows += [(user, group) for group in chooser.choices(range(N_GROUPS), weights, k=n)]
    rows += [(user, group) for user in range(60) for group in range(N_GROUPS)]
    return pa.table({"u": [u for u, _ in rows], "g": [g for _, g in rows]})


@dataclass(frozen=True, slots=True)
class Replayed(Drawn):
    """Draws as told before, once there is something to tell; else draws, and writes it down."""

    told: list[Any] = field(default_factory=list)
    at: list[int] = field(default_factory=list)

    def _next(self, drawn: Callable[[], Any]) -> Any:
        if not self.at:
            self.told.append(drawn())
            return self.told[-1]
        self.at[0] += 1
        return self.told[self.at[0] - 1]

    def noisy(self, true_counts: Any, law: Any) -> Any:
        return self._next(lambda: Drawn.noisy(self, true_counts, law))

    def select(self, scores: Any, epsilon_over_range: Any) -> int:
        return int(self._next(lambda: Drawn.select(self, scores, epsilon_over_range)))


def asked(seed: int, chance: Drawn, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """All public numbers that came with the questions of one release."""
    seen: list[Any] = []
    with (
        monkeypatch.context() as patch,
        Store((source := open_table(table(seed), user="u")).engine) as store,
    ):
        for name in ("class_totals", "clipped_share", "clipped"):
            shipped = getattr(KnownPairs, name)

            def noted(self: Any, *given: Any, _shipped: Any = shipped, **named: Any) -> Any:
                seen.extend(np.array(x).tolist() for x in (*given, *named.values()))
                return _shipped(self, *given, **named)

            patch.setattr(KnownPairs, name, noted)
        taken = measuring.Measuring.losses

        def losses(self: Any, rounds: Any, *given: Any) -> Any:
            found = taken(self, rounds, *given)
            seen.extend((found.lost.tolist(), found.sds.tolist()))
            return found

        patch.setattr(measuring.Measuring, "losses", losses)
        pairs = Pairs(source, "g", store, key=bytes(32))
        EqualError.calibrate(LIMIT, 0.10, "equal").draw(pairs, chance)
    return seen


def test_other_people_and_the_same_answers_give_the_same_questions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = Replayed()
    told = asked(1, first, monkeypatch)
    assert len(told) > 15
    assert asked(2, Replayed(told=first.told, at=[0]), monkeypatch) == told


def test_classes_from_true_counts_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Replayed()
    told = asked(1, first, monkeypatch)
    shipped = measuring.Measuring.losses

    def peeked(self: Any, rounds: Any, mean: Any, sizes: Any, chosen: Any, rho: Any) -> Any:
        true = self.known._true_counts[chosen.index].astype(float)
        return shipped(self, rounds, mean, np.maximum(true, 1), chosen, rho)

    monkeypatch.setattr(measuring.Measuring, "losses", peeked)
    assert asked(2, Replayed(told=first.told, at=[0]), monkeypatch) != told
