"""A folder of daily Parquet files, what to release of them, and what came of it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headcount.ledger.ledger import Ledger

START = date(2026, 3, 2)
"""A Monday."""
FILE = """\
source: events/day=*/rows.parquet
user: user_id
window: time:day
budget: {rho: 0.015, delta: 1e-6, per: day}
start: 2026-03-02
lag: 1 day
ready: events/day={window}/_SUCCESS
ledger: ledger.db
account: web
out: out/{release}/day={window}/rows.parquet
releases:
  pages:  {count_users: {by: page, bound: 10}, spend: {rho: 0.010}}
  total:  {count_users: {by: country, groups: [SE, US], bound: 1}, spend: {rho: 0.002}}
  weekly: {every: week, count_users: {by: country, groups: [SE, US], bound: 1}, spend: {rho: 0.003}}
"""


@dataclass
class World:
    """Where a series runs."""

    folder: Path
    runner: subprocess.Popen[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    n_started: int = 0

    def day(
        self, number: int, users: Sequence[int] | Any, *, sign: bool = True, seed: int = 7
    ) -> None:
        """The rows of one day: a few pages each, at noon."""
        dice, day = np.random.default_rng([seed, number]), START + timedelta(days=number)
        user = np.repeat(np.asarray(users, np.int64), 3)
        page = np.minimum(dice.geometric(0.15, len(user)), 30)
        rows = {
            "user_id": user,
            "page": pa.array([f"/page/{one}" for one in page], pa.string()),
            "country": pa.array(np.where(user % 3 == 0, "SE", "US").tolist(), pa.string()),
            "time": pa.array([datetime.combine(day, time(12))] * len(user), pa.timestamp("us")),
        }
        place = self.folder / f"events/day={day}"
        place.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(rows), place / "rows.parquet")
        if sign:
            self.sign(number)

    def sign(self, number: int) -> None:
        """Say that a day is complete."""
        (self.folder / f"events/day={START + timedelta(days=number)}/_SUCCESS").touch()

    def write(self, text: str = FILE) -> None:
        (self.folder / "releases.yaml").write_text(text)

    def start(
        self,
        *options: str,
        step: int = 0,
        full: str = "",
        written_over: str = "",
        environment: Mapping[str, str] = {},
    ) -> int:
        """Start a run; its number.

        step:          the one at which it is killed
        full:          a folder whose disk is full
        written_over:  a file of the source that is written anew after the first charge
        """
        self.n_started += 1
        own = {"HEADCOUNT_HEADS": str(self.folder / "heads"), **self.environment, **environment}
        return self._ask(
            command=["run", str(self.folder / "releases.yaml"), *options],
            said=str(self.folder / f"said-{self.n_started}"),
            told=str(self.folder / f"told-{self.n_started}"),
            folder=str(self.folder),
            environment=own,
            step=step,
            full=full,
            written_over=written_over,
        )

    def wait(self, run: int) -> int:
        """How a run ended; below zero where it was killed."""
        code = self._ask(wait=run)
        imports = self.folder / f"said-{self.n_started}-imports"
        if code == 0 and imports.exists():
            self._ask(imports=str(imports))
        return code

    def run(self, *options: str, **given: Any) -> int:
        return self.wait(self.start(*options, **given))

    @property
    def said(self) -> str:
        """What the last run printed."""
        return (self.folder / f"said-{self.n_started}").read_text()

    @property
    def died_at(self) -> str:
        return (self.folder / f"told-{self.n_started}").read_text()

    def _ask(self, **asked: Any) -> int:
        assert self.runner.stdin is not None
        assert self.runner.stdout is not None
        self.runner.stdin.write(json.dumps(asked) + "\n")
        self.runner.stdin.flush()
        return int(self.runner.stdout.readline())

    def ledger(self) -> Ledger:
        return Ledger(self.folder / "ledger.db", heads=self.folder / "heads")

    def kinds(self, kind: str) -> Counter[str]:
        """How often each key was charged, or has a result."""
        return Counter(one["key"] for one in self.ledger().journal() if one["kind"] == kind)

    def files(self) -> dict[str, str]:
        """What was published, each by its hash."""
        found = sorted(path for path in (self.folder / "out").rglob("*") if path.is_file())
        return {
            str(path.relative_to(self.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in found
        }

    def manifest(self) -> list[dict[str, Any]]:
        text = (self.folder / "out/manifest.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def balances(self, days: int) -> Counter[float]:
        """What the days paid, and how many of them so much; each is the sum of its charges."""
        book, first = self.ledger(), (START - date(1970, 1, 1)).days
        found = book.window_balances("web", first, first + days - 1)
        charges = book.window_charges("web")
        for one in found:
            paid = [two.spend for two in charges if two.first <= one.number <= two.last]
            assert one.spent.rho == sum(spend.rho for spend in paid)
            assert one.spent.delta == sum(spend.delta for spend in paid)
            assert one.spent <= one.limit
        return Counter(round(float(one.spent.rho), 8) for one in found)

    def forget_files(self) -> None:
        shutil.rmtree(self.folder / "out")


def new_runner() -> subprocess.Popen[str]:
    """A process that starts runs."""
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("series_runner.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def killed(run: int) -> None:
    """kill -9, if it is still there."""
    try:
        os.kill(run, signal.SIGKILL)
    except ProcessLookupError:
        return
