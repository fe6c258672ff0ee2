"""Events a second of ``headcount stream add`` beside reading the same lines without counting.

Reading and counting take turns on the same pipes in one run, and CPU time is compared. The mark is
five million events a second, or the speed of reading where that is lower. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from headcount.streams.lines import add_lines
from headcount.streams.stream import Stream

MARK = 5e6
BUCKETS = 1 << 20
GROUPS = 1_000
REPEATS = 5
COMMAND_TIMES = 5
"""The command reads the lines so often: its start is as long as a million of them."""


def through_a_pipe(text: bytes, read: Callable[[int], object]) -> float:
    """CPU seconds this thread spends on reading; another one writes."""
    out, into = os.pipe()

    def write() -> None:
        with os.fdopen(into, "wb", buffering=0) as pipe:
            view = memoryview(text)
            while view:
                view = view[pipe.write(view[: 1 << 20]) :]

    writer = threading.Thread(target=write)
    writer.start()
    started = time.thread_time()
    read(out)
    took = time.thread_time() - started
    writer.join()
    os.close(out)
    return took


def only_read(descriptor: int) -> None:
    """The bar: Python reads the lines and does nothing with them."""
    with os.fdopen(os.dup(descriptor), "rb") as lines:
        for _line in lines:
            pass


def words(n: int) -> list[bytes]:
    """Words with a few very common ones and many rare ones."""
    dice = np.random.default_rng(8)
    return [b"word%d" % number for number in dice.zipf(1.2, n) % 5_000_000]


def measure(texts: dict[str, bytes], n: int, folder: Path) -> dict[str, float]:
    """Events a second of every way, in turns."""
    states = {
        "buckets": Stream(buckets=BUCKETS, epsilon=1),
        "buckets_file": Stream(buckets=BUCKETS, epsilon=1, path=folder / "buckets.hcs"),
        "groups": Stream(groups=[f"word{i}" for i in range(GROUPS)], epsilon=1),
        "json_buckets": Stream(buckets=BUCKETS, epsilon=1),
    }
    ways: dict[str, tuple[str, Callable[[int], object]]] = {"read": ("lines", only_read)}
    for name, stream in states.items():
        field = "page" if name.startswith("json") else None
        kind = "lines" if field is None else "json"
        ways[name] = (kind, partial(add_lines, stream, field=field))
    ways["json_read"] = ("json", only_read)
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(REPEATS):
        for name, (kind, read) in ways.items():
            took[name].append(through_a_pipe(texts[kind], read))
    for stream in states.values():
        stream.close()
    return {name: n / statistics.median(times) for name, times in took.items()}


def command(text: bytes, n: int, folder: Path) -> float:
    """Events a second of the command itself, in CPU time of its process beyond an empty input."""
    state = folder / "command.hcs"
    Stream(buckets=BUCKETS, epsilon=1, path=state).close()
    program = str(Path(sys.executable).with_name("headcount"))
    lines = folder / "lines"
    lines.write_bytes(text * COMMAND_TIMES)

    def took(source: Path) -> float:
        before = os.times()
        with source.open("rb") as file:
            subprocess.run([program, "stream", "add", str(state)], stdin=file, check=True)
        after = os.times()
        own = after.children_user + after.children_system
        return own - before.children_user - before.children_system

    empty = statistics.median(took(Path(os.devnull)) for _ in range(3))
    return COMMAND_TIMES * n / max(1e-9, took(lines) - empty)


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    n = 1_000_000 if options.parse_args().quick else 10_000_000
    values = words(n)
    texts = {
        "lines": b"\n".join(values) + b"\n",
        "json": b"".join(b'{"user": 7, "page": "%s", "ms": 12.5}\n' % value for value in values),
    }
    with tempfile.TemporaryDirectory() as folder:
        rates = measure(texts, n, Path(folder))
        rates["command"] = command(texts["lines"], n, Path(folder))
    bar = min(MARK, rates["read"])
    for name, rate in rates.items():
        print(f"  {name:14} {rate / rates['read']:6.2f} of reading   {rate / bar:6.2f} of the bar")
    kept = ("buckets", "buckets_file", "groups", "command")
    report = {f"{name}_over_bar": round(rates[name] / bar, 3) for name in kept}
    report |= {f"{name}_over_read": round(rates[name] / rates["read"], 3) for name in kept}
    report["json_over_bar"] = round(rates["json_buckets"] / min(MARK, rates["json_read"]), 3)
    report["json_over_read"] = round(rates["json_buckets"] / rates["json_read"], 3)
    report["worst_over_bar"] = min(report[f"{name}_over_bar"] for name in kept[:3])
    print(json.dumps({"events": n, **report}))


if __name__ == "__main__":
    main()
