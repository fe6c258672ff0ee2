"""What reaches the choice and the noise of counts of events is the same on every engine."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa

from headcount.contributions import Limits
from headcount.contributions.bound_losses import CandidateBounds, bound_losses
from headcount.contributions.clip import N_ROWS, rows_per_group
from headcount.contributions.groups import group_rows
from headcount.contributions.kept_rows import rows_of_pairs, sample_rows
from headcount.contributions.lost_rows import lost_and_kept
from headcount.contributions.store import Store

BOUNDS = (1, 2, 5, 9, 30, 1000)
THRESHOLDS = (9, 20, 61, 118, 333, 4000)


def events() -> pa.Table:
    chooser = random.Random(7)
    users, items = [], []
    for user in range(150):
        for _ in range(min(300, 1 + int(chooser.paretovariate(0.7)))):
            group = int(chooser.paretovariate(0.5)) % 40
            users.append(user)
            items.append(None if group == 7 else f"straße {group:02d}")
    return pa.table({"user": users, "item": items})


def test_sampled_rows_agree(
    loader: Any, duckdb_loader: Any, key: bytes, tally_of: Any, digest_of: Any
) -> None:
    table = events()
    got, want = (
        tally_of(sample_rows(where.open(table, "events_found", user="user"), "item", 5, key=key))
        for where in (loader, duckdb_loader)
    )
    assert digest_of(got) == digest_of(want)
    per_user = Counter(table["user"].to_pylist())
    assert sum(got["true_total"].to_pylist()) == sum(min(5, n) for n in per_user.values())
    assert max(per_user.values()) > 100


def test_losses_agree(loader: Any, duckdb_loader: Any, key: bytes) -> None:
    answers = []
    for where in (loader, duckdb_loader):
        table = where.open(events(), "events_found", user="user")
        grouped = group_rows(table, "item")
        with Store(table.engine) as store:
            for values, ratio in (
                (rows_of_pairs(grouped), None),
                (rows_per_group(grouped, Limits(50, 12), key), 2),
            ):
                candidates = CandidateBounds(BOUNDS, THRESHOLDS, ratio)
                kept = store.keep(values)
                losses = bound_losses(store, kept, grouped.columns, N_ROWS, candidates)
                answers.append([loss.ask() for loss in losses])
                by_norm = ratio is not None
                both = lost_and_kept(store, kept, N_ROWS, 4, by_norm=by_norm, cap=30)
                answers.append(both.ask().tolist())
    assert answers[:4] == answers[4:]
    assert all(len(set(part)) == len(part) for part in answers)
