"""The pairs of a table and what is asked of them, under a limit of memory; the last line is JSON.

Usage: memory_child.py SOURCE SCRATCH MEMORY [killed]
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import stat
import sys
import threading
from pathlib import Path

import numpy as np

from headcount.contributions.pairs import Pairs
from headcount.contributions.store import Store
from headcount.tables import open_table
from headcount.tables.source import Options

ODD = 999


def spilled(folder: Path) -> int:
    """Bytes of files below a folder, some of which go meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        try:
            found = path.stat()
        except OSError:
            continue
        total += found.st_size if stat.S_ISREG(found.st_mode) else 0
    return total


def main(source: str, scratch: str, memory: str, *killed: str) -> None:
    folder, most, done = Path(scratch), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            most[0] = max(most[0], spilled(folder))
            if killed and most[0]:
                os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
    options = Options(memory=None if memory == "all" else memory, scratch=scratch)
    table = open_table(source, user="user_id", options=options)
    digest = hashlib.sha256()
    with table.engine.session(), Store(table.engine) as store:
        pairs = Pairs(table, "item", store, key=bytes(32))
        digest.update(pairs.users_per_cell().ask().tobytes())
        digest.update(np.sort(pairs.largest(ODD).ask()).tobytes())
    done.set()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(json.dumps({"digest": digest.hexdigest(), "spilled": most[0] >> 20, "peak": peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
