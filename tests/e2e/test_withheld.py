"""Rows that a target leaves out are told, named and kept: they were paid for."""

from __future__ import annotations

from pathlib import Path

import pytest

import headcount as hc
from headcount.mechanisms.equal_error import reading
from headcount.results.release import Release


def released(demo_file: Path, folder: Path) -> Release:
    data = hc.open(demo_file, user="user_id", budget=hc.Budget(rho=1), ledger=folder / "l.db")
    return data.count_users("page", within=0.1, method="equal", spend="1").release()


@pytest.fixture
def too_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar of the largest row is too wide, whatever is drawn."""
    shipped = reading.rows_or_second_best

    def without_the_largest(counts, sds, within):  # type: ignore[no-untyped-def]
        rows = shipped(counts, sds, within)
        return rows[rows != counts.argmax()]

    monkeypatch.setattr(reading, "rows_or_second_best", without_the_largest)


@pytest.mark.usefixtures("too_wide")
def test_rows_that_cannot_keep_the_target_are_told(demo_file: Path, tmp_path: Path) -> None:
    release = released(demo_file, tmp_path)
    withheld = release.withheld
    assert withheld is not None
    assert withheld.column_names == release.to_arrow().column_names
    assert not {*withheld["page"].to_pylist()} & {*release.to_arrow()["page"].to_pylist()}
    (told,) = [note for note in release.facts.notes if "are withheld" in note]
    assert told.startswith(f"{withheld.num_rows:,} measured rows are withheld")
    largest = max(withheld.to_pylist(), key=lambda row: row["count"])
    assert repr(largest["page"]) in told
    again = Release.from_bytes(release.to_bytes())
    assert again.withheld is not None
    assert again.withheld.equals(withheld)


@pytest.mark.usefixtures("too_wide")
def test_a_large_one_is_told_first(demo_file: Path, tmp_path: Path) -> None:
    assert "are withheld" in released(demo_file, tmp_path).facts.notes[0]


def test_nothing_is_said_where_nothing_is_withheld(demo_file: Path, tmp_path: Path) -> None:
    data = hc.open(demo_file, user="user_id", budget=hc.Budget(rho=1), ledger=tmp_path / "l.db")
    release = data.count_users("page", spend="1").release()
    assert release.withheld is None
    assert Release.from_bytes(release.to_bytes()).withheld is None
