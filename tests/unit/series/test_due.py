"""What is to be done for each window: from the calendar, the ledger's charges and files' names."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from tests.unit.series.files import written

from headcount.errors import LedgerError
from headcount.privacy.spend import Zcdp
from headcount.series.calendar import window_of
from headcount.series.due import Due, State, due
from headcount.series.file import SeriesFile, read_file
from headcount.series.paid import KEY, Named, Paid, key_of
from headcount.series.ran import Ran, look_at
from headcount.series.renamed import refused

NOW = datetime(2026, 3, 12, 6, tzinfo=UTC)  # with a lag of 2 days the 9th is the last


def paid(*keys: str, every: str = "day", stored: bool = True) -> dict[Named, list[Paid]]:
    """Charges under these keys, with rows or without."""
    found: dict[Named, list[Paid]] = {}
    for entry, key in enumerate(keys, 1):
        named = KEY.fullmatch(key)
        assert named is not None
        first, spend = date.fromisoformat(named[2]), Zcdp(Fraction(1, 100))
        one = Paid(
            *(key, named[1], int(named[3] or 1), window_of(every, first), entry, "", "", spend, {}),
            result="digest" if stored else None,
        )
        found.setdefault((named[1], first), []).append(one)
    return found


@pytest.fixture
def file(tmp_path: Path) -> SeriesFile:
    return read_file(written(tmp_path, ready="", keep=""))


def states(found: list[Due]) -> dict[str, State]:
    return {one.key: one.state for one in found}


def put(file: SeriesFile, release: str, first: str) -> Path:
    path = file.out_of(release, date.fromisoformat(first))
    path.parent.mkdir(parents=True)
    path.touch()
    return path


def test_all_that_is_over_is_due_oldest_first(file: SeriesFile) -> None:
    found = due(file, {}, NOW)
    assert [one.key for one in found] == [
        *(f"pages/2026-03-0{day}" for day in range(1, 9)),
        *("weekly/2026-03-02", "pages/2026-03-09"),
    ]
    assert {one.state for one in found} == {State.DRAW}
    assert due(file, {}, datetime(2026, 3, 2, tzinfo=UTC)) == []


def test_what_is_stored_is_never_drawn_again(file: SeriesFile) -> None:
    there = paid("pages/2026-03-01", "pages/2026-03-02")
    put(file, "pages", "2026-03-01")
    found = states(due(file, there, NOW))
    assert found["pages/2026-03-01"] is State.DONE
    assert found["pages/2026-03-02"] is State.WRITE
    assert found["pages/2026-03-03"] is State.DRAW
    assert states(due(file, paid("pages/2026-03-01", stored=False), NOW - timedelta(9))) == {}


def test_what_was_charged_and_not_drawn_is_drawn(file: SeriesFile) -> None:
    found = due(file, paid("pages/2026-03-01", stored=False), NOW)
    assert (found[0].state, found[0].revision) == (State.DRAW, 1)


def test_a_file_that_the_ledger_knows_nothing_of_is_no_reason_to_pay(file: SeriesFile) -> None:
    put(file, "pages", "2026-03-04")
    with pytest.raises(LedgerError, match="Another ledger has"):
        due(file, {}, NOW)


def test_a_window_waits_for_the_signs_of_all_its_days(tmp_path: Path) -> None:
    file = read_file(written(tmp_path, keep=""))
    for day in range(2, 9):
        assert states(due(file, {}, NOW))["weekly/2026-03-02"] is State.WAIT
        sign = tmp_path / f"events/day=2026-03-0{day}/_SUCCESS"
        sign.parent.mkdir(parents=True)
        sign.touch()
    found = states(due(file, {}, NOW))
    assert found["weekly/2026-03-02"] is State.DRAW
    assert found["pages/2026-03-01"] is State.WAIT


def test_rows_that_are_kept_no_more_are_not_released(tmp_path: Path) -> None:
    file = read_file(written(tmp_path, ready="", keep="keep: 9 days"))
    found = {one.key: one for one in due(file, {}, NOW)}
    # The 2nd is over on the 3rd, and its rows are kept until the 12th.
    assert found["pages/2026-03-02"].state is State.LOST
    assert found["weekly/2026-03-02"].state is State.LOST, "its first day is gone"
    assert found["pages/2026-03-03"].state is State.DRAW
    stored = due(file, paid("pages/2026-03-02"), NOW)
    assert states(stored)["pages/2026-03-02"] is State.WRITE, "what is stored is kept for good"


def test_danger_is_said_fourteen_days_before(tmp_path: Path) -> None:
    file = read_file(written(tmp_path, ready="", keep="keep: 20 days"))
    found = {one.key: one for one in due(file, {}, NOW)}
    ran = Ran()
    for one in found.values():
        look_at(ran, one, NOW)
    assert [*ran.in_danger] == [f"pages/2026-03-0{day}" for day in range(1, 6)] + [
        "weekly/2026-03-02"
    ]
    assert ran.exit_code == 6


def test_a_revision_is_a_new_key_and_the_newest_is_what_is_shown(file: SeriesFile) -> None:
    once = paid("pages/2026-03-01")
    put(file, "pages", "2026-03-01")
    again = ("pages", date(2026, 3, 1))
    # The file is no release: what is stored has not reached it, and is written first.
    assert due(file, once, NOW, again)[0].state in (State.DONE, State.WRITE)
    begun = paid("pages/2026-03-01") | {
        again: [*once[again], *paid("pages/2026-03-01/2", stored=False)[again]]
    }
    found = due(file, begun, NOW)[0]
    assert (found.key, found.state) == ("pages/2026-03-01/2", State.DRAW)
    assert due(file, begun, NOW, again)[0].key == "pages/2026-03-01/2", "begun is finished"


def test_keys_are_read_as_they_are_written() -> None:
    assert key_of("pages", date(2026, 3, 1)) == "pages/2026-03-01"
    assert KEY.fullmatch(key_of("pages", date(2026, 3, 1), 12)) is not None
    for other in ("pages/2026-03-01/1", "pages/2026-03", "pages", "a/b/2026-03-01"):
        assert KEY.fullmatch(other) is None


def test_a_new_name_does_not_pay_for_what_an_old_one_paid(file: SeriesFile) -> None:
    old = paid("seiten/2026-03-01", "seiten/2026-03-02")
    found = due(file, old, NOW)
    reasons = refused(file, old, found, backfill=False)
    assert [*reasons] == ["pages"], "weekly has other windows, and is no new name of days"
    assert "seiten" in str(reasons["pages"])
    assert "--backfill" in str(reasons["pages"])
    assert refused(file, old, found, backfill=True) == {}
    both = old | paid("pages/2026-03-01")
    assert refused(file, both, due(file, both, NOW), backfill=False) == {}


def test_a_release_that_comes_later_than_others_is_no_new_name(file: SeriesFile) -> None:
    there = paid(*(f"pages/2026-03-0{day}" for day in range(1, 9)))
    assert refused(file, there, due(file, there, NOW), backfill=False) == {}


def test_windows_of_two_lengths_have_two_names(file: SeriesFile) -> None:
    there = paid("weekly/2026-03-02", every="day")
    reasons = refused(file, there, due(file, there, NOW), backfill=True)
    assert "now comes every week" in str(reasons["weekly"])
