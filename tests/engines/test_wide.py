"""Rows drawn beside the data: one value a group, whatever is lost, and no key in what is logged."""

from __future__ import annotations

import base64
import os
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engines.test_faults import kill_a_worker_while

import headcount as hc
from headcount.contributions import Tally, bound
from headcount.contributions.buckets import Bucket, write_buckets
from headcount.privacy.bounds import Bounds
from headcount.releases import run as door
from headcount.releases.run import new_secret
from headcount.releases.wide import write as writing
from headcount.releases.wide.write import BucketDraw
from headcount.tables.spark_workers import SparkWorkers

SPEND = hc.Budget(epsilon=5)
ODD = "the page, {of} it"


def events(n_groups: int = 400) -> pa.Table:
    """Group 0 has most users; three of all groups have odd names."""
    sizes = [60 - 58 * group // n_groups for group in range(n_groups)]
    names: list[str | None] = [None, "", "déjà\nvu", *(f"g{i}" for i in range(3, n_groups))]
    groups = [name for name, size in zip(names, sizes, strict=True) for _ in range(size)]
    return pa.table({"who": [f"u{i}" for i in range(len(groups))], ODD: groups})


def opened(source: Any, folder: Path) -> hc.Dataset:
    return hc.open(
        source,
        user="who",
        ledger=folder / "ledger.db",
        account="wide",
        budget=hc.Budget(epsilon=10_000, delta=1e-3),
    )


def rows_in(release: hc.WideRelease) -> dict[Any, int]:
    found = [row for file in release.files for row in release.to_arrow(file).to_pylist()]
    rows = {row[ODD]: row["count"] for row in found}
    assert len(rows) == len(found) == release.rows, "a group has two values"
    assert all(row["low"] <= row["count"] <= row["high"] for row in found)
    return rows


def test_every_engine_writes_rows_that_are_near(
    loader_of: Callable[[str], Any], loader: Any, tmp_path: Path
) -> None:
    data = opened(loader.source(events, "wide"), tmp_path)
    plan = data.count_users(ODD, method="laplace", spend=SPEND)
    wide = plan.release(to=tmp_path / "rows, 100%")
    true = {name: 60 - 58 * i // 400 for i, name in enumerate([None, "", "déjà\nvu"])}
    rows = rows_in(wide)
    assert set(rows) >= set(true)
    assert all(abs(rows[name] - size) < 20 for name, size in true.items())
    n_files = 16 if loader.name == "spark" else 1
    names = [f"part-{number:05}.parquet" for number in range(n_files)]
    assert [file.name for file in wide.files] == names == sorted(os.listdir(wide.folder))
    if loader.name == "spark":
        assert wide.to_spark().count() == wide.rows
    assert rows_in(plan.release(to=tmp_path / "rows, 100%")) == rows
    assert len(data.ledger.entries("wide")) == 1


def noting(folder: str, draw: Callable[[Bucket], pa.Table], *, fail: bool) -> Any:
    """A draw that writes down what each attempt drew; attempts of every third task die then."""

    def noted(bucket: Bucket) -> pa.Table:
        import pyarrow.parquet as pq
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        drawn = draw(bucket)
        pq.write_table(drawn, f"{folder}/{bucket.number}-{context.taskAttemptId()}.parquet")
        if fail and context.attemptNumber() == 0 and context.partitionId() % 3 == 0:
            raise RuntimeError("lost")
        return drawn

    return noted


def attempts_in(folder: Path) -> dict[str, list[pa.Table]]:
    attempts = defaultdict(list)
    for path in folder.glob("*.parquet"):
        attempts[path.name.split("-")[0]].append(pq.read_table(path))
    return attempts


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Path]:
    """Has every bucket that a release draws written down, attempt by attempt."""

    def watch(*, fail: bool = False, draw: Any = BucketDraw) -> Path:
        seen = tmp_path / "seen"
        seen.mkdir()
        make = lambda *given: noting(str(seen), draw(*given), fail=fail)  # noqa: E731
        monkeypatch.setattr(writing, "BucketDraw", make)
        return seen

    return watch


@pytest.mark.spark
def test_attempts_that_fail_after_drawing_show_one_value_a_group(
    loader_of: Callable[[str], Any], tmp_path: Path, watched: Callable[..., Path]
) -> None:
    loader = loader_of("spark")
    data = opened(loader.source(events, "wide"), tmp_path)
    seen = watched(fail=True)
    plan = data.count_users(ODD, method="laplace", spend=SPEND)
    wide = plan.release(to=tmp_path / "rows", files=6)
    attempts = attempts_in(seen)
    twice = [tables for tables in attempts.values() if len(tables) > 1]
    assert twice, "no task was lost"
    assert all(table.equals(tables[0]) for tables in twice for table in tables)
    drawn = [row for tables in attempts.values() for row in tables[0].to_pylist()]
    assert rows_in(wide) == {row[ODD]: row["count"] for row in drawn}
    assert len(wide.files) == 6
    assert len(data.ledger.entries("wide")) == 1


@pytest.mark.spark
def test_a_bucket_is_drawn_once_where_nothing_is_lost(
    loader_of: Callable[[str], Any],
    spark_cluster: Any,
    tmp_path: Path,
    watched: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And twice by a count before the write, which is how one would be found."""
    data = opened(loader_of("spark").source(events, "wide"), tmp_path)
    seen = watched()
    plan = data.count_users(ODD, method="laplace", spend=SPEND)
    plan.release(to=tmp_path / "rows", files=2)
    once = {bucket: len(tables) for bucket, tables in attempts_in(seen).items()}
    assert set(once.values()) == {1}
    assert len(once) > 20

    frames = type(spark_cluster.session.range(1))
    shipped = frames.mapInArrow

    def counted(frame: Any, *given: Any) -> Any:
        drawn = shipped(frame, *given)
        drawn.count()
        return drawn

    monkeypatch.setattr(frames, "mapInArrow", counted)
    plan.release(to=tmp_path / "counted", files=2, fresh=True)
    again = {bucket: len(tables) for bucket, tables in attempts_in(seen).items()}
    assert max(again[bucket] - once[bucket] for bucket in once) == 2


def logged(cluster: Any) -> bytes:
    """All that Spark itself has written down of this session."""
    written = (cluster.folder / "events").rglob("*")
    return b"".join(path.read_bytes() for path in written if path.is_file())


def spelled(key: bytes) -> list[bytes]:
    """Parts of a key as a log might have them."""
    texts = [key.hex().encode(), base64.b64encode(key), key, repr(list(key))[1:60].encode()]
    return [part for text in texts for part in (text[:12], text[-12:])]


@pytest.mark.spark
def test_the_key_is_in_no_event_log(
    loader_of: Callable[[str], Any],
    spark_cluster: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys: list[bytes] = []
    sent: list[bytes] = []

    def kept_key() -> bytes:
        keys.append(new_secret())
        return keys[-1]

    def kept_draw(each: Any, schema: Any, key: bytes) -> Any:
        sent.append(key)
        return BucketDraw(each, schema, key)

    monkeypatch.setattr(door.SYSTEM_ENTROPY.__class__, "new_key", property(lambda _: kept_key))
    monkeypatch.setattr(writing, "BucketDraw", kept_draw)
    data = opened(loader_of("spark").source(events, "wide"), tmp_path)
    data.count_users(ODD, method="laplace", spend=SPEND).release(to=tmp_path / "rows", files=2)
    assert len(keys) == 2
    assert sent == keys[1:]
    text = logged(spark_cluster)
    assert b"hc_bucket" in text
    assert b"mapinarrow" in text.lower()
    assert not [part for part in spelled(sent[0]) if part in text]
    # In the text of a statement it would be found.
    spark_cluster.session.sql(f"select '{sent[0].hex()}' as key").collect()
    assert [part for part in spelled(sent[0]) if part in logged(spark_cluster)]


@pytest.mark.spark
def test_the_totals_are_those_of_the_tally(
    loader_of: Callable[[str], Any], tmp_path: Path, key: bytes
) -> None:
    """Without noise, on every kind of group: nothing is lost on the way to the workers."""
    table = events()
    numbers = np.arange(table.num_rows, dtype=np.int32)
    table = table.append_column("day", pa.array(numbers % 900).cast(pa.date32()))
    table = table.append_column("n", pa.array(numbers % 7))
    table = table.append_column("odd", pa.array(numbers % 3 == 0))
    opened_table = loader_of("spark").open(table, "kinds", user="who")
    by = [ODD, "day", "n", "odd"]
    tally = Tally(bound(opened_table, by, Bounds(1, 1), key=key))
    (tmp_path / "seen").write_text("nonce")

    def bare(bucket: Bucket) -> pa.Table:
        totals = bucket.totals.query.ask()
        return bucket.totals.every_name().append_column("true_total", pa.array(totals))

    folder = tmp_path / "files"
    write_buckets(tally, bare, tally.schema, folder, 3)
    want = pa.concat_tables(
        part.every_name().append_column("true_total", pa.array(part.query.ask()))
        for part in tally.parts()
    )
    keys = [(name, "ascending") for name in want.column_names]
    parts = [pq.read_table(path) for path in sorted(folder.glob("part-*.parquet"))]
    assert len(parts) == 3
    assert all(part.schema.names == tally.schema.names for part in parts)
    found = pa.concat_tables(part.cast(tally.schema) for part in parts)
    assert found.sort_by(keys).equals(want.cast(tally.schema).sort_by(keys))


@pytest.mark.spark
def test_executors_that_see_another_folder_are_refused_before_the_charge(
    loader_of: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = opened(loader_of("spark").source(events, "wide"), tmp_path)
    plan = data.count_users(ODD, method="laplace", spend=SPEND)
    shipped = SparkWorkers._write

    def elsewhere(self: Any, rows: Any, task: Any, written: Any, folder: Path, n: int) -> None:
        (folder.parent / "seen").write_text("another")
        shipped(self, rows, task, written, folder, n)

    monkeypatch.setattr(SparkWorkers, "_write", elsewhere)
    with pytest.raises(hc.UsageError, match="have in common"):
        plan.release(to=tmp_path / "rows")
    assert not data.ledger.accounts()
    assert not list((tmp_path / "rows").iterdir())


@pytest.mark.spark
@pytest.mark.skipif(os.environ.get("HEADCOUNT_LONG") != "1", reason="long")
def test_a_killed_worker_changes_no_value(
    spark_cluster: Any, tmp_path: Path, watched: Callable[..., Path]
) -> None:
    source = tmp_path / "events"
    source.mkdir()
    for index in range(4):
        users = [f"u{index} {user}" for user in range(200_000)]
        pages = [f"g{user % 50_000}" for user in range(200_000)]
        pq.write_table(pa.table({"who": users, ODD: pages}), source / f"{index}.parquet")
    data = opened(spark_cluster.session.read.parquet(str(source)), tmp_path)
    seen = watched()
    plan = data.count_users(ODD, method="laplace", spend=SPEND)
    found: list[hc.WideRelease] = []
    kill_a_worker_while(
        threading.Thread(target=lambda: found.append(plan.release(to=tmp_path / "rows"))),
        spark_cluster,
    )
    attempts = attempts_in(seen)
    for tables in attempts.values():
        assert all(table.equals(tables[0]) for table in tables)
    drawn = [row for tables in attempts.values() for row in tables[0].to_pylist()]
    assert rows_in(found[0]) == {row[ODD]: row["count"] for row in drawn}
    assert len(data.ledger.entries("wide")) == 1
