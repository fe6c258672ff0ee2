"""Releases into files on DuckDB: the same rows, once, private until they are stored."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.ledger.ledger import Ledger
from headcount.mechanisms.chance import Drawn
from headcount.releases import run
from headcount.releases.run import Entropy, new_secret
from headcount.releases.stored import stored_release
from headcount.releases.wide import write as writing
from headcount.releases.wide.place import START, sweep
from headcount.tables.scratch import private_folder

SPEND = hc.Budget(epsilon=1)
PAGES = [f"page {number:03}" for number in range(100)]


class NoNoise(Drawn):
    """A chance that adds nothing, so that rows can be compared."""

    def noisy(self, true_counts: Any, law: Any) -> Any:
        return np.asarray(true_counts)


def events() -> pa.Table:
    """Page 0 has 500 users, page 1 has 495, and so on down to 5."""
    users = [f"u{page // 4} {user}" for page in range(100) for user in range(500 - 5 * page)]
    pages = [PAGES[page] for page in range(100) for _ in range(500 - 5 * page)]
    return pa.table({"user": users, "page": pages})


def opened(folder: Path, **more: Any) -> hc.Dataset:
    return hc.open(
        events(),
        user="user",
        account="events",
        budget=hc.Budget(epsilon=100, delta=1e-3),
        ledger=folder / "ledger.db",
        **more,
    )


WAYS: dict[str, dict[str, Any]] = {
    "threshold": {"method": "threshold"},
    "laplace": {"method": "laplace"},
    "laplace, bounded": {"method": "laplace", "bound": 3},
    "known": {"method": "threshold", "groups": [*PAGES[::7], "nobody"]},
    "known, bounded": {"bound": 2, "groups": PAGES},
}


def rows_in(release: hc.WideRelease) -> pa.Table:
    return pa.concat_tables(release.to_arrow(file) for file in release.files)


@pytest.mark.parametrize("way", WAYS)
def test_the_rows_are_those_of_a_release_in_memory(way: str, tmp_path: Path) -> None:
    plans = [opened(tmp_path).count_users("page", **WAYS[way], spend=SPEND) for _ in range(2)]
    # Which pages a user keeps is chosen by a secret: the same one for both.
    plans = [replace(plan, _entropy=Entropy(NoNoise(), lambda: bytes(32))) for plan in plans]
    narrow = plans[0].release(fresh=True)
    wide = plans[1].release(to=tmp_path / "rows", fresh=True)
    table = narrow.to_arrow().replace_schema_metadata(None)
    assert table.num_rows > 5
    assert rows_in(wide).equals(table)
    assert wide.rows == len(wide) == table.num_rows
    for name in ("method", "guarantee", "rho", "delta", "bounds", "noise", "notes", "bars"):
        assert getattr(wide.facts, name) == getattr(narrow.facts, name)
    entries = plans[0].ledger.entries("events")
    assert len(entries) == 2
    assert entries[0].spend == entries[1].spend


def test_the_files_are_listed_and_shown_again_free(tmp_path: Path) -> None:
    plan = opened(tmp_path).count_users("page", method="laplace", spend=SPEND)
    wide = plan.release(to=tmp_path / "rows", key="monday")
    (file,) = wide.files
    assert sorted(os.listdir(tmp_path / "rows")) == ["part-00000.parquet"] == [file.name]
    assert (tmp_path / "rows" / file.name).stat().st_size == file.bytes
    assert pq.read_metadata(tmp_path / "rows" / file.name).num_rows == file.rows
    again = opened(tmp_path).count_users("page", method="laplace", spend=SPEND)
    shown = again.release(to=str(tmp_path / "elsewhere"), key="monday")
    assert shown.files == wide.files
    assert shown.folder == wide.folder
    assert shown.again is not None
    assert "shown again" in repr(shown)
    assert not (tmp_path / "elsewhere").exists()
    assert len(again.ledger.entries("events")) == 1
    stored = stored_release(again.ledger, "monday")
    assert isinstance(stored, hc.WideRelease)
    assert stored.files == wide.files
    assert '"digest"' in stored.receipt()
    assert str(file.rows) in str(wide)


@pytest.mark.parametrize("change", ["gone", "changed", "other rows"])
def test_files_that_are_not_as_released_are_refused(change: str, tmp_path: Path) -> None:
    plan = opened(tmp_path).count_users("page", method="laplace", spend=SPEND)
    wide = plan.release(to=tmp_path / "rows")
    place = wide.folder / wide.files[0].name
    if change == "gone":
        place.unlink()
    elif change == "changed":
        place.write_bytes(place.read_bytes() + b" ")
    else:
        pq.write_table(rows_in(wide).slice(1), place)
    with pytest.raises(hc.OutputError, match="fresh=True draws new rows"):
        plan.release(to=tmp_path / "rows")
    with pytest.raises(hc.OutputError):
        wide.to_arrow(wide.files[0])
    with pytest.raises(hc.OutputError, match="no file"):
        wide.to_arrow("../ledger.db")


REFUSED: dict[str, dict[str, Any]] = {
    "adaptive": {},
    "top": {"method": "threshold", "top": 5},
    "within": {"within": 0.1},
    "few listed groups": {"groups": PAGES[:9]},
    "many listed groups": {"groups": PAGES},
    "peel": {"method": "peel"},
    "sample": {"method": "sample"},
}


@pytest.mark.parametrize("way", REFUSED)
def test_what_needs_all_rows_in_one_place_is_refused(way: str, tmp_path: Path) -> None:
    data = opened(tmp_path)
    with pytest.raises(hc.UsageError, match="all of them in one place"):
        data.count_users("page", **REFUSED[way], spend=SPEND).release(to=tmp_path / "rows")
    assert not (tmp_path / "rows").exists()
    assert not data.ledger.accounts()


def test_other_verbs_are_refused(tmp_path: Path) -> None:
    data = opened(tmp_path)
    plans = [
        data.frequencies("page", spend=SPEND),
        data.count_events("page", spend=SPEND),
        data.profile("page", spend=SPEND),
        data.distribution("page", spend=SPEND),
    ]
    for plan in plans:
        with pytest.raises(hc.UsageError, match="all of them in one place"):
            plan.release(to=tmp_path / "rows")


def test_places_that_cannot_be_made_safe_are_refused(tmp_path: Path) -> None:
    data = opened(tmp_path)
    plan = data.count_users("page", method="laplace", spend=SPEND)
    full, file = tmp_path / "full", tmp_path / "file"
    full.mkdir()
    (full / "other.parquet").touch()
    file.touch()
    for place, words in {
        full: "not empty",
        file: "cannot be written to",
        tmp_path / "no" / "rows": "cannot be written to",
        "s3://bucket/rows": "object store",
        "hdfs://host/rows": "object store",
        "file:///tmp/rows": "object store",
        "": "folder",
        7: "folder",
    }.items():
        with pytest.raises(hc.UsageError, match=words):
            plan.release(to=place)  # type: ignore[call-overload]
    for files, words in {2: "for Spark", 0: "whole number", "x": "whole number"}.items():
        with pytest.raises(hc.UsageError, match=words):
            plan.release(to=tmp_path / "rows", files=files)  # type: ignore[call-overload]
    with pytest.raises(hc.UsageError, match="say where"):
        plan.release(files=1)  # type: ignore[call-overload]
    assert not data.ledger.accounts()


def test_one_answer_whether_in_files_or_not(tmp_path: Path) -> None:
    data = opened(tmp_path)
    first = data.count_users("page", method="laplace", spend=SPEND)
    first.release(to=tmp_path / "rows")
    with pytest.raises(hc.UsageError, match="in files"):
        first.release()
    second = data.count_users("page", method="threshold", spend=SPEND)
    second.release()
    with pytest.raises(hc.UsageError, match="in the ledger"):
        second.release(to=tmp_path / "other")
    assert len(data.ledger.entries("events")) == 2


def test_two_releases_do_not_share_a_folder(tmp_path: Path) -> None:
    data = opened(tmp_path)
    plan = data.count_users("page", method="laplace", spend=SPEND)
    other = data.count_users("page", method="threshold", spend=SPEND)
    seen: list[str] = []

    def meanwhile(stage: str) -> None:
        if stage != run.READING:
            return

        def ask() -> None:
            try:
                other.release(to=tmp_path / "rows")
            except hc.UsageError as error:
                seen.append(str(error))

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()

    wide = plan.release(to=tmp_path / "rows", progress=meanwhile)
    assert len(seen) == 1
    assert "Another release is being written" in seen[0]
    wide.check()


def test_nothing_is_outside_before_it_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[O3] in the ledger first; until then in a folder that nobody else can open."""
    place, seen = tmp_path / "rows", []
    shipped = Ledger.store_result

    def store_result(self: Ledger, sequence: int, payload: bytes) -> bytes:
        (only,) = place.iterdir()
        seen.append((only.name[: len(START)], stat.S_IMODE(only.stat().st_mode)))
        return shipped(self, sequence, payload)

    monkeypatch.setattr(Ledger, "store_result", store_result)
    opened(tmp_path).count_users("page", method="laplace", spend=SPEND).release(to=place)
    assert seen == [(START, 0o700)]
    assert [path.name for path in place.iterdir()] == ["part-00000.parquet"]
    assert list(private_folder().glob("*.staging")) == []


def test_an_engine_that_fails_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> Any:
        raise OSError(28, "no space left, and a group: page 7")

    plan = opened(tmp_path).count_users("page", method="laplace", spend=SPEND)
    with monkeypatch.context() as patch:
        patch.setattr(writing, "_as_it_lies", failing)
        with pytest.raises(hc.EngineError) as caught:
            plan.release(to=tmp_path / "rows")
    assert "page 7" not in str(caught.value)
    assert list((tmp_path / "rows").iterdir()) == []
    wide = plan.release(to=tmp_path / "rows")
    assert wide.rows
    assert len(plan.ledger.entries("events")) == 1


CHILD = """
import os, signal, sys
from pathlib import Path
import headcount as hc
from headcount.releases.wide import place
sys.path.insert(0, sys.argv[3])
from tests.unit.releases.test_wide import SPEND, opened

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

folder, when = Path(sys.argv[1]), sys.argv[2]
if when == "before it is stored":
    from headcount.ledger.ledger import Ledger
    Ledger.store_result = die
else:
    place.deliver = die
opened(folder).count_users("page", method="laplace", spend=SPEND).release(to=folder / "rows")
"""


@pytest.mark.parametrize("when", ["before it is stored", "before it is moved"])
def test_a_killed_process_leaves_nothing_that_is_not_paid_for(when: str, tmp_path: Path) -> None:
    root = str(Path(__file__).parents[3])
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), when, root], capture_output=True, check=False
    )
    assert child.returncode == -signal.SIGKILL, child.stderr.decode()
    (left,) = (tmp_path / "rows").iterdir()
    drawn = {path.name: path.read_bytes() for path in (left / "files").iterdir()}
    # Another ledger knows nothing of it, and leaves it alone.
    sweep(Ledger(tmp_path / "other.db"))
    assert left.exists()
    data = opened(tmp_path)
    assert left.exists() == (when == "before it is moved")
    wide = data.count_users("page", method="laplace", spend=SPEND).release(to=tmp_path / "rows")
    found = {path.name: path.read_bytes() for path in (tmp_path / "rows").iterdir()}
    assert (found == drawn) == (when == "before it is moved")
    assert len(data.ledger.entries("events")) == 1
    assert wide.rows
    assert [path for path in private_folder().glob("*.staging") if left.name in path.name] == []


def test_row_groups_are_cut_by_rows_that_are_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "ROWS_PER_GROUP", 16)
    plan = opened(tmp_path).count_users("page", method="laplace", spend=SPEND)
    wide = plan.release(to=tmp_path / "rows")
    parquet = pq.ParquetFile(wide.folder / wide.files[0].name)
    sizes = [parquet.metadata.row_group(i).num_rows for i in range(parquet.num_row_groups)]
    assert sizes[:-1] == [16] * (wide.rows // 16) or sizes == [16] * (wide.rows // 16)
    assert sum(sizes) == wide.rows > 32


def test_a_key_for_workers_is_made_after_the_charge(tmp_path: Path) -> None:
    plan = opened(tmp_path).count_users("page", method="laplace", spend=SPEND)
    charged: list[int] = []

    def new_key() -> bytes:
        charged.append(len(plan.ledger.entries("events")))
        return new_secret()

    replace(plan, _entropy=Entropy(Drawn(), new_key)).release(to=tmp_path / "rows")
    assert charged == [1, 1]
