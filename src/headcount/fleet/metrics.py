"""Numbers for whoever runs a fleet, in the text that Prometheus reads.

None of them depends on what devices answer. How many reports came is said of rounds with cover
alone, in which every device that polls sends as many: without cover it is how many were sampled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

MEDIA = "text/plain; version=0.0.4; charset=utf-8"
Sample = tuple[Mapping[str, str], float]
OUTCOMES = ("taken", "over", "failed")


class Uploads:
    """What came of posts for rounds with cover, since the process began."""

    def __init__(self) -> None:
        self._posts: Counter[str] = Counter()
        self._reports: Counter[str] = Counter()
        self._seconds = 0.0

    def note(self, outcome: str, reports: int, seconds: float) -> None:
        """One post of so many reports, and how long it took until it was answered."""
        self._posts[outcome] += 1
        self._reports[outcome] += reports
        self._seconds += seconds

    def printed(self) -> bytes:
        """All of it."""
        posts = [({"outcome": one}, self._posts[one]) for one in OUTCOMES]
        reports = [({"outcome": one}, self._reports[one]) for one in OUTCOMES]
        count = sum(self._posts.values())
        return b"".join(
            (
                metric("posts_total", "counter", "Posts for rounds with cover.", posts),
                metric("reports_total", "counter", "Reports in these posts.", reports),
                metric("post_seconds_sum", "counter", "Until they were answered.",
                       [({}, self._seconds)]),
                metric("post_seconds_count", "counter", "The same, counted.", [({}, count)]),
            )
        )  # fmt: skip


def metric(name: str, kind: str, words: str, samples: Iterable[Sample]) -> bytes:
    """One metric with its samples."""
    full = f"headcount_fleet_{name}"
    lines = [f"# HELP {full} {words}", f"# TYPE {full} {kind}"]
    lines += [f"{full}{_labels(labels)} {_number(value)}" for labels, value in samples]
    return ("\n".join(lines) + "\n").encode()


def _labels(labels: Mapping[str, str]) -> str:
    said = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{said}}}" if said else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")
