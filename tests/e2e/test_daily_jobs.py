"""The lines that the page on daily jobs has for cron, Airflow and dbt, typed as their shells do.

Of Airflow the command and its exit codes are tried, and not its operator.
"""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

PAGE = (Path(__file__).parents[2] / "docs/how-to/daily-jobs.md").read_text("utf-8")
LINES = {
    "cron": r"^15 \* \* \* \*  (.*)$",
    "airflow": r'^    bash_command="(.*)",$',
    "dbt": r"^dbt build && (.*)$",
}
FILE = """\
source: events/day=*/rows.parquet
user: user_id
window: time:day
budget: {{rho: 0.05, delta: 1e-6, per: day}}
start: {start}
ready: events/day={{window}}/_SUCCESS
ledger: ledger.db
account: web
out: published/{{release}}/day={{window}}/rows.parquet
releases:
  pages: {{count_users: {{by: page, bound: 3}}, spend: 1/2}}
"""
TODAY = datetime.now(UTC).date()
START = TODAY - timedelta(days=2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Rows of two days that are over, and of those that may be so before this test is."""
    for number in range(4):
        day = START + timedelta(days=number)
        place = tmp_path / f"web/events/day={day}"
        place.mkdir(parents=True)
        noon = [datetime.combine(day, time(12))] * 400
        rows = {"user_id": range(400), "page": ["/home"] * 400}
        times = pa.array(noon, pa.timestamp("us"))
        pq.write_table(pa.table({**rows, "time": times}), place / "rows.parquet")
        if number != 1:
            (place / "_SUCCESS").touch()
    (tmp_path / "web/releases.yaml").write_text(FILE.format(start=START))
    return tmp_path


def job(who: str, folder: Path, headcount_command: str) -> subprocess.CompletedProcess[str]:
    """A line of the page, by a shell that knows nothing but a home of its own."""
    found = re.search(LINES[who], PAGE, re.MULTILINE)
    assert found is not None, f"the page has no line for {who}"
    home = folder / f"home-of-{who}"
    home.mkdir(exist_ok=True)
    return subprocess.run(
        ["/bin/sh", "-c", found[1].replace("/srv/web", str(folder / "web"))],
        cwd=home,
        env={"HOME": str(home), "PATH": f"{Path(headcount_command).parent}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_each_scheduler_goes_on_where_another_stopped(folder: Path, headcount_command: str) -> None:
    first = job("cron", folder, headcount_command)
    assert first.returncode == 7, first.stderr
    assert f"not ready pages/{START + timedelta(days=1)}" in first.stdout, "cron writes a mail"
    files = sorted((folder / "web/published").rglob("rows.parquet"))
    assert [path.parent.name for path in files] == [f"day={START}"]
    before = files[0].read_bytes()
    (folder / f"web/events/day={START + timedelta(days=1)}/_SUCCESS").touch()
    second = job("airflow", folder, headcount_command)
    assert second.returncode == 0, second.stderr
    assert f"released pages/{START + timedelta(days=1)}" in second.stdout
    files[0].unlink()
    third = job("dbt", folder, headcount_command)
    assert (third.returncode, files[0].read_bytes()) == (0, before), third.stderr
    fourth = job("cron", folder, headcount_command)
    assert (fourth.returncode, fourth.stdout) == (0, ""), "and no mail while all is well"
    lines = (folder / "web/published/manifest.jsonl").read_text().splitlines()
    assert len(lines) >= 2
