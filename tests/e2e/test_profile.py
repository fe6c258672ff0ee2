"""``profile`` as people call it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import headcount as hc


def test_a_profile_tells_how_many_groups_users_are_in(tmp_path: Path) -> None:
    n_groups = np.array([1] * 5000 + [2] * 3000 + [3] * 1000 + [4] * 1000 + [9] * 800)
    user = np.repeat(np.arange(len(n_groups)), n_groups)
    group = np.concatenate([np.arange(n) for n in n_groups])
    table = pa.table({"user": user, "group": group}).take(
        pa.array(np.tile(np.arange(len(user)), 2))
    )
    budget = hc.Budget(epsilon=2)
    data = hc.open(table, user="user", account="p", budget=budget, ledger=tmp_path / "l.db")
    plan = data.profile(by="group", spend=hc.Budget(epsilon=1))
    assert plan.spend.delta == 0
    rows = plan.release().to_arrow()
    assert rows.column_names == ["at_least", "at_most", "count", "low", "high", "sd"]
    assert rows.column("at_least").to_pylist()[:4] == [1, 2, 3, 5]
    assert rows.column("at_most").to_pylist()[-1] is None
    counts = rows.column("count").to_pylist()
    expected = [5000, 3000, 2000, 0, 800] + [0] * 16
    assert counts == pytest.approx(expected, abs=6 * rows.column("sd").to_pylist()[0])
    assert len(counts) == 21
    assert data.account.spent == plan.spend or data.account.spent.rho > 0
