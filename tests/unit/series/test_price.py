"""What a year costs, from the file alone."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from pathlib import Path

from tests.unit.series.files import written

from headcount.series.file import read_file
from headcount.series.price import dry_run


def test_a_year_of_days_and_weeks_fits_one_window_exactly(tmp_path: Path) -> None:
    planned = dry_run(read_file(written(tmp_path)), date(2026, 3, 1), 365)
    assert planned.fits
    assert planned.exit_code == 0
    assert planned.dearest.rho == Fraction("0.015")
    assert "365 windows in 365 days" in planned.lines[0]
    assert "52 windows" in planned.lines[1]
    table = {one.words: (float(one.rho), round(float(one.epsilon), 2)) for one in planned.presence}
    assert table["a day"] == (0.015, 0.80)
    assert table["a week"] == (0.105, 2.27)
    assert table["30 days"] == (0.45, 5.05)
    assert round(table["a year"][1], 1) == 22.2
    said = str(planned)
    assert "Facts that are the same every day" in said
    assert "Nothing was opened, read or charged" in said


def test_what_does_not_fit_is_said_with_the_first_window(tmp_path: Path) -> None:
    line = "  pages: {count_users: {by: page}, spend: {rho: 0.011}}"
    planned = dry_run(read_file(written(tmp_path, pages=line)), date(2026, 3, 1), 30)
    assert planned.first_over == date(2026, 3, 2)  # the first week
    assert planned.exit_code == 3
    assert "from 2026-03-02 on" in str(planned)


def test_a_week_outside_the_days_that_are_looked_at_costs_nothing(tmp_path: Path) -> None:
    planned = dry_run(read_file(written(tmp_path)), date(2026, 3, 3), 5)
    assert planned.dearest.rho == Fraction("0.01")


def test_months_pay_too(tmp_path: Path) -> None:
    line = "  pages: {every: month, count_users: {by: page}, spend: 1/2}"
    planned = dry_run(read_file(written(tmp_path, pages=line)), date(2026, 3, 1), 62)
    assert planned.lines[0].startswith("pages: count_users every month, 2 windows")
    assert planned.dearest.rho == Fraction("0.0125")
