"""Files of series, to be edited by tests."""

from __future__ import annotations

from pathlib import Path

PLAIN = """\
source: events/day=*/rows.parquet
user: user_id
window: time:day
budget: {rho: 0.015, delta: 1e-6, per: day}
start: 2026-03-01
lag: 2 days
ready: events/day={window}/_SUCCESS
keep: 90 days
out: published/{release}/day={window}/rows.parquet
account: web
releases:
  pages:  {count_users: {by: page, bound: 10}, spend: {rho: 0.010}}
  weekly: {every: week, count_users: {by: country, groups: [SE, 'NO']}, spend: 1/3}
"""


def written(folder: Path, text: str = PLAIN, **edits: str) -> Path:
    """The file, with lines of some keys in place of those that are there; without, if empty."""
    lines = text.splitlines()
    for key, line in edits.items():
        kept = [one for one in lines if not one.strip().startswith(f"{key}:")]
        at = next((i for i, one in enumerate(lines) if one.strip().startswith(f"{key}:")), 0)
        lines = [*kept[:at], *([line] if line else []), *kept[at:]]
    path = folder / "releases.yaml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
