"""``distribution`` as people call it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import headcount as hc
from headcount.cli.commands import app

GENRES = ["rock", "pop", "folk", "jazz", None]
TRUTH = np.array([0.4, 0.3, 0.15, 0.1, 0.05])


def plays(n_users: int = 4_000) -> pa.Table:
    rng = np.random.default_rng(5)
    counts = rng.multinomial(60, TRUTH, size=n_users)
    users, groups = np.nonzero(counts)
    n_each = counts[users, groups]
    names = pa.array(GENRES).take(pa.array(np.repeat(groups, n_each)))
    return pa.table({"user": np.repeat(users, n_each), "genre": names})


def opened(tmp_path: Path, table: pa.Table, **more: Any) -> Any:
    return hc.open(
        table,
        user="user",
        account="plays",
        budget=hc.Budget(epsilon=4),
        ledger=tmp_path / "ledger.db",
        **more,
    )


def shares_of(release: Any) -> dict[Any, float]:
    rows = release.to_arrow()
    return dict(zip(rows["genre"].to_pylist(), rows["share"].to_pylist(), strict=True))


def test_shares_of_known_groups(tmp_path: Path) -> None:
    data = opened(tmp_path, plays())
    plan = data.distribution("genre", groups=GENRES, samples=60, spend=hc.Budget(epsilon=1))
    assert plan.spend.delta == 0
    assert "averaged over users" in plan.explain()
    assert "dense, 5 groups" in plan.explain()
    assert "few users" in plan.explain()
    release = plan.release()
    rows = release.to_arrow()
    assert rows.column_names == ["genre", "share", "low", "high", "sd"]
    assert rows["genre"].to_pylist() == ["folk", "jazz", "pop", "rock", None]
    found = shares_of(release)
    assert [found[g] for g in GENRES] == pytest.approx(TRUTH, abs=0.01)
    assert sum(found.values()) == pytest.approx(1)
    low, high = (np.array(rows[name]) for name in ("low", "high"))
    assert ((low >= 0) & (high <= 1) & (low < high)).all()
    assert release.facts.value == "share"
    assert data.account.spent.rho == plan.spend.rho


def test_rows_of_groups_that_are_not_listed_are_dropped_first(tmp_path: Path) -> None:
    data = opened(tmp_path, plays())
    release = data.distribution("genre", groups=["rock", "pop"], users=4_000, spend="1").release()
    assert shares_of(release)["rock"] == pytest.approx(4 / 7, abs=0.01)


def test_found_groups_and_all_others_as_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    rare = pa.table(
        {"user": np.arange(4_000), "genre": [f"own {i}" for i in rng.permutation(4_000)]}
    )
    table = pa.concat_tables([plays(), rare])
    plan = opened(tmp_path, table).distribution("genre", spend="1")
    assert plan.spend.delta > 0
    rows = plan.release().to_arrow().to_pylist()
    assert [row["genre"] for row in rows] == ["folk", "jazz", "pop", "rock", None, None]
    assert [row["other"] for row in rows] == [False] * 5 + [True]
    assert rows[4]["share"] == pytest.approx(0.05 * 60 / 61, abs=0.01)
    assert rows[5]["share"] == pytest.approx(1 / 61, abs=0.01)


def test_an_account_of_replacement(tmp_path: Path) -> None:
    data = opened(tmp_path, plays(), neighbours="replace")
    release = data.distribution("genre", groups=GENRES, spend=hc.Budget(epsilon=2)).release()
    assert "replacing one user" in release.guarantee
    assert shares_of(release)["rock"] == pytest.approx(0.4, abs=0.02)
    with pytest.raises(hc.UsageError, match="Name the groups"):
        data.distribution("genre", spend="1")


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    data = opened(tmp_path, plays(50).rename_columns(["user", "share"]))
    with pytest.raises(hc.UsageError, match="column 'share' of its own"):
        data.distribution("share", spend="1")
    data = opened(tmp_path, plays(50))
    with pytest.raises(hc.UsageError, match="method must be one of"):
        data.distribution("genre", method="best", spend="1")
    with pytest.raises(hc.UsageError, match="users must be"):
        data.distribution("genre", users=0, spend="1")
    with pytest.raises(hc.UsageError, match="at least about epsilon"):
        data.distribution("genre", spend=hc.Budget(rho="0.00001"))
    assert data.account.spent.rho == 0


def test_with_nobody_there_shares_still_leave(tmp_path: Path) -> None:
    table = plays(50).slice(0, 0)
    release = (
        opened(tmp_path, table).distribution("genre", groups=["rock", "pop"], spend="1").release()
    )
    assert sum(shares_of(release).values()) == pytest.approx(1)


def test_from_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet as pq

    monkeypatch.setenv("HEADCOUNT_LEDGER", str(tmp_path / "ledger.db"))
    pq.write_table(plays(2_000), tmp_path / "plays.parquet")
    source, drawn = str(tmp_path / "plays.parquet"), tmp_path / "plays.svg"
    command = ["distribution", source, "--user", "user", "--by", "genre", "--plot", str(drawn)]
    ran = CliRunner().invoke(app, [*command, "--users", "2000", "--epsilon", "1", "--budget", "1"])
    assert ran.exit_code == 0, ran.output
    assert "rock" in ran.output
    assert "other groups" in drawn.read_text(encoding="utf-8")
