"""Every answer about events is the same, to the last unit, on every engine."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa

from headcount.contributions.events import Events, users_of
from headcount.contributions.store import Store
from headcount.mechanisms.clip_choice import candidates, ratio_cap
from headcount.privacy.bounds import Bounds
from headcount.privacy.length import Length, Norm

GROUPS = [None, *(f"straße {g:02d}" for g in range(40))]


def events() -> pa.Table:
    chooser = random.Random(7)
    users, items = [], []
    for user in range(300):
        for _ in range(min(2000, int(chooser.paretovariate(0.5)))):
            users.append(user)
            group = min(45, int(chooser.expovariate(0.15)))
            items.append(None if group == 3 else f"straße {group:02d}")
    return pa.table({"user": users, "item": items})


def answers(table: Any, tally_of: Any) -> list[Any]:
    found: list[Any] = [users_of(table).ask().tolist()]
    with Store(table.engine) as store:
        asked = Events(table, "item", GROUPS, store)
        for norm in Norm:
            cap = ratio_cap(norm, asked.n_groups)
            found.append(asked.weight_curve(candidates(norm), cap, 20).ask().tolist())
            for bound in (2.5, 1 << 26):
                length = Length.of(norm, bound)
                found.append(tally_of(asked.clipped(length)).to_pydict())
                found.append(asked.clipped_off(length, 3.7 * bound, 1 << 20).ask().tolist())
        found.append(asked.far_beyond((3, 9, 200), Bounds(64, 1, 20)).ask().tolist())
    return found


def test_answers_agree(loader: Any, duckdb_loader: Any, tally_of: Any) -> None:
    table = events()
    got, want = (
        answers(where.open(table, "counted_events", user="user"), tally_of)
        for where in (loader, duckdb_loader)
    )
    assert got == want
    assert max(got[1]) > 0
