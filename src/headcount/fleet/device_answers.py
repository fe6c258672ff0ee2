"""Where a device's answers come from: a function of the app, or the task's SELECT over SQLite.

Whatever goes wrong here is an abstention, which is sent like any answer: a device that fell silent
because of what it would say would tell it. So would one that is slow because of it: a query takes
the same time whatever it finds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from headcount.fleet.task import Task

SECONDS = 5.0
"""That a query takes: it is ended by then, and who is done before waits."""
SELECT = Path(__file__).with_name("device_select.py")
Said = str | Sequence[str | None] | None
Source = Callable[[Task], Said]


def answers_of(source: Source, task: Task) -> list[str | None]:
    """What a source says, as many answers as the task asks for; nothing where it fails."""
    try:
        said: Any = source(task)
        listed = [said] if said is None or isinstance(said, str) else said
        found = list(islice(listed, task.file.question.answers))
    except Exception:
        return []
    return [one if isinstance(one, str) else None for one in found]


def calling(function: Callable[[], Said]) -> Source:
    """A function of the app, which is told nothing of the task."""
    return lambda _: function()


def selecting(place: str | Path) -> Source:
    """The first texts that the task's SELECT finds in a file of SQLite, which it cannot change."""
    return lambda task: _select(Path(place), task)


def _select(place: Path, task: Task) -> Said:
    question = task.file.question
    asked = {
        "address": f"{place.absolute().as_uri()}?mode=ro",
        "sql": question.sql,
        "answers": question.answers,
    }
    begun = time.monotonic()
    try:
        ended = subprocess.run(  # noqa: S603  our own file, by our own Python
            [sys.executable, "-I", str(SELECT)],
            input=json.dumps(asked).encode(),
            capture_output=True,
            timeout=SECONDS,
            check=True,
        )
        found: Said = json.loads(ended.stdout)
        return found
    finally:
        # Whoever wrote the task could make it slow for some answers alone.
        time.sleep(max(0.0, begun + SECONDS - time.monotonic()))
