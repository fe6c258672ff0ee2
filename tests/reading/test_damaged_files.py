"""No damaged file brings a traceback, a cell in a message, or a charge that ends without a result.

150 files here; ``just test-damaged`` makes 2,000, or as many as it is told.
"""

from __future__ import annotations

import logging
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.reading.damaged import CANARY, damaged_csv, damaged_file, damaged_parquet

import headcount as hc

N_FILES = int(os.environ.get("HEADCOUNT_DAMAGED", "150"))
N_COMMANDS = 6
SPEND = hc.Budget(epsilon=1)
VERBS: list[Any] = [
    lambda d: d.count_users(by="g", spend=SPEND),
    lambda d: d.count_users(by="g", groups=["a", "b"], spend=SPEND),
    lambda d: d.count_users(by="g", within=0.1, spend=SPEND),
    lambda d: d.count_users(by="g", method="sample", bound=1, spend=SPEND),
    lambda d: d.count_events(by="g", spend=SPEND),
    lambda d: d.count_users(by=hc.truncate("t", "day"), spend=SPEND),
    lambda d: d.count_users(by=hc.bins("x", 10), spend=SPEND),
    lambda d: d.quantiles("x", bounds=(0, 100), spend=SPEND),
    lambda d: d.distribution(by="g", spend=SPEND),
    lambda d: d.frequencies(by="g", bound=2, spend=SPEND),
    lambda d: d.profile(by="g", spend=SPEND),
]


@pytest.mark.parametrize("part", range(10))
def test_a_damaged_file_is_refused_or_counted(
    part: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ended = {"refused": 0, "counted": 0}
    for number in range(part, N_FILES, 10):
        chooser = random.Random(f"damaged {number}")
        folder = tmp_path / str(number)
        folder.mkdir()
        source = damaged_file(folder, chooser)
        types = {"x": "number", "t": "timestamp"} if "csv" in str(source) else None
        with caplog.at_level(logging.DEBUG):
            ended[outcome(source, folder, chooser, types)] += 1
        assert CANARY not in caplog.text, number
        caplog.clear()
    assert ended["counted"] > 0, ended


def outcome(source: Any, folder: Path, chooser: random.Random, types: Any) -> str:
    refusal = ""
    try:
        data = hc.open(source, user="u", account="a", budget=hc.Budget(epsilon=2, delta=1e-4),
                      ledger=folder / "l.db", types=types)  # fmt: skip
        plan = chooser.choice(VERBS)(data)
    except hc.UsageError as error:
        refusal = str(error)
    assert CANARY not in refusal
    if refusal:
        return "refused"
    release = plan.release()
    assert CANARY not in repr(release)
    return "counted"


@pytest.mark.parametrize("number", range(N_COMMANDS))
def test_a_damaged_file_at_the_command_line(
    number: int, tmp_path: Path, headcount_command: str
) -> None:
    chooser = random.Random(f"command {number}")
    source = (damaged_csv if number % 2 else damaged_parquet)(tmp_path, chooser)
    command = [headcount_command, "count-users", str(source), "--user", "u", "--by", "g",
               "--ledger", str(tmp_path / "l.db"), "--account", "a", "--epsilon", "1",
               "--budget", "1"]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode in (0, 2), ran.stderr
    assert "Traceback" not in ran.stderr
    assert CANARY not in ran.stdout + ran.stderr
