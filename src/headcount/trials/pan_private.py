"""Trial of pan-private counters: whoever seizes a stream at one moment, and reads its output.

A stream has many pairs of counters, ``a`` and ``b``, and each pair is one run: what is true of one
event in one pair is tried in thousands of them at once.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headcount.audit.binomial import lower
from headcount.audit.blackbox import ALPHA, audit_epsilon
from headcount.audit.divergence import pure_epsilon
from headcount.audit.exact import Script, Words, read_words
from headcount.audit.law import Law
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms import draw
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.privacy.exact import exact
from headcount.privacy.neighbours import Neighbours
from headcount.streams.stream import Stream
from headcount.trials.pan_private_mutants import (
    copies_share_noise,
    merge_forgets,
    no_first_noise,
    no_output_noise,
    noise_of_add_remove,
    noise_when_touched,
    seized,
)
from headcount.trials.seam import swapped
from headcount.trials.trial import EPSILONS, Case, Effort, Trial

Integers = npt.NDArray[np.int64]
Change = Callable[[], AbstractContextManager[None]]

LEAST = 1e-9
FIXED_WORD = 0x9E3779B97F4A7C15
N_PARTS = 5
CONFIDENCE = 0.95
NEAR = 3


@dataclass(frozen=True, slots=True)
class Life:
    """The events of one pair: those of others, the victim's before the intrusion, and after it.

    Each is a string of counters: "ab" is one event in either. Those of others come twice, once on
    each side of the intrusion.
    """

    name: str
    others: str = "ab"
    early: str = ""
    late: str = ""


ADDED = (
    (Life("an event before", early="a"), Life("no event")),
    (Life("an event after", late="a"), Life("no event")),
    (Life("the first event of all", others="", early="a"), Life("no event", others="")),
)
REPLACED = (
    (Life("a before", early="a"), Life("b before", early="b")),
    (Life("a after", late="a"), Life("b after", late="b")),
    (Life("a before", early="a"), Life("b after", late="b")),
)


def sides(neighbours: Neighbours) -> list[tuple[Life, Life]]:
    """The neighbouring streams of events."""
    return list(REPLACED if neighbours is Neighbours.REPLACE else ADDED)


@lru_cache(maxsize=16)
def names(n: int) -> tuple[str, ...]:
    """The groups of ``n`` pairs, all of ``a`` first."""
    return tuple(f"{letter}{i:07d}" for letter in "ab" for i in range(n))


@lru_cache(maxsize=16)
def values(letters: str, n: int) -> pa.Array:
    """The events of every pair."""
    return pa.array([f"{letter}{i:07d}" for letter in letters for i in range(n)], pa.string())


def lived(
    life: Life, n: int, epsilon: float, neighbours: Neighbours, folder: Path | None = None
) -> tuple[Integers, Integers, Integers]:
    """What is seen of a life: a copy at the moment, the state at it or soon after, the output."""
    with Stream(groups=names(n), epsilon=epsilon, neighbours=neighbours) as stream:
        stream.update(values(life.others + life.early, n))
        seen = copy = seized(stream)
        if folder is None:
            stream.update(values(life.others + life.late, n))
        else:
            left = stream.snapshot(folder / "copy.hcs")
            copy = read_state(left, 2 * n)
            left.unlink()
            stream.update(values(life.others + life.late, n))
            seen = seized(stream)
            stream.update(values(life.others, n))
        output = stream.finish().to_arrow().column("count").to_numpy()
    return copy, seen, output


def read_state(path: Path, n_counters: int) -> Integers:
    """The counters of a file, as whoever holds it reads them."""
    return np.frombuffer(path.read_bytes()[-8 * n_counters :], "<i8").astype(np.int64)


def features(seen: Sequence[Integers]) -> Integers:
    """One row a pair: every view of either counter, their differences, and the near ones jointly.

    Steps from one view to the next hold what was counted in between.
    """
    steps = [seen[0], *(late - early for early, late in pairwise(seen))]
    columns = []
    for view in (*seen, *steps[1:]):
        a, b = np.split(view, 2)
        columns += [a, a - b]
    code = np.zeros(len(columns[0]), np.int64)
    for step in steps:
        for part in np.split(step, 2):
            code = code * (2 * NEAR + 1) + np.clip(part, -NEAR + 1, NEAR + 1)
    return np.stack([*columns, code], axis=1)


def _sampled(n: int, epsilon: float, neighbours: Neighbours, folder: Path | None) -> list[Finding]:
    findings = []
    for one, other in sides(neighbours):
        rows = [
            features(lived(life, n, epsilon, neighbours, folder)[folder is None :])
            for life in (one, other)
        ]
        copied = "copy, state and output" if folder else "state and output"
        subject = f"epsilon {epsilon}, {neighbours}, {copied}, {one.name} or {other.name}"
        findings.append(
            audit_epsilon(rows[0], rows[1], epsilon=epsilon, delta=0.0, subject=subject)
        )
    return findings


class Following:
    """An entropy that gives one word for the first draws, and a script's words after."""

    def __init__(self, n_before: int, script: Script) -> None:
        self._before = n_before
        self._script = script

    def words(self, n: int) -> Words:
        """The next ``n`` words."""
        if self._before >= n:
            self._before -= n
            return np.full(n, FIXED_WORD, dtype=np.uint64)
        return self._script.words(n)


def state_law(epsilon: float, neighbours: Neighbours, n_events: int) -> Law:
    """The exact law of one counter in the file of a stream that counts, from 64-bit words."""

    def run(script: Script, n: int) -> Integers:
        groups = [f"{i:07d}" for i in range(n)]
        with tempfile.TemporaryDirectory() as folder, swapped(draw, "SYSTEM", script):
            path = Path(folder) / "state.hcs"
            stream = Stream(groups=groups, epsilon=epsilon, neighbours=neighbours, path=path)
            stream.update(groups * n_events)
            dump = read_state(path, n)
            stream.close()
        return dump

    return read_words(run, _edges(epsilon, neighbours))


def step_law(epsilon: float, neighbours: Neighbours, n_events: int) -> Law:
    """The exact law of output less state, for events that came between."""

    def run(script: Script, n: int) -> Integers:
        groups = [f"{i:07d}" for i in range(n)]
        with swapped(draw, "SYSTEM", Following(n, script)):
            stream = Stream(groups=groups, epsilon=epsilon, neighbours=neighbours)
            state = seized(stream)
            stream.update(groups * n_events)
            output: Integers = stream.finish().to_arrow().column("count").to_numpy()
        return output - state

    return read_words(run, _edges(epsilon, neighbours))


def _edges(epsilon: float, neighbours: Neighbours) -> Words:
    """Where a draw of the noise that the terms ask for may change its mind."""
    scale = Fraction(1 if neighbours is Neighbours.ADD_REMOVE else 2) / exact(epsilon)
    every = [DiscreteLaplace(part).tables()[0].bounds for part in (scale, scale / 2)]
    return np.concatenate(every)


def _exact(epsilon: float, neighbours: Neighbours) -> list[Finding]:
    found = []
    moment = secrets.randbelow(6)
    for law_of in (state_law, step_law):
        laws = [law_of(epsilon, neighbours, moment + victim) for victim in (0, 1)]
        found.append(pure_epsilon(laws[0], laws[1], LEAST).low)
    # Draws are independent, so the losses of two counters, or of state and step, add up.
    times = 1 if neighbours is Neighbours.ADD_REMOVE else 2
    subject = f"epsilon {epsilon}, {neighbours}"
    findings = [
        Finding(Tier.EXACT, f"{subject}, {what}", "epsilon", epsilon, times * one)
        for what, one in zip(("dump of the file", "output less state"), found, strict=True)
    ]
    if times == 2:
        crossing = f"{subject}, from before the intrusion to after"
        findings.append(Finding(Tier.EXACT, crossing, "epsilon", epsilon, sum(found)))
    return findings


def _merged(n: int, epsilon: float) -> Finding:
    """Whether error bars hold for parts that were added up: how much noise there is, is a claim."""
    groups = [f"{i:07d}" for i in range(n)]
    with Stream(groups=groups, epsilon=epsilon) as whole:
        whole.merge(*(Stream.like(whole) for _ in range(N_PARTS - 1)))
        rows = whole.finish(confidence=CONFIDENCE).to_arrow()
    missed = np.count_nonzero((rows["low"].to_numpy() > 0) | (rows["high"].to_numpy() < 0))
    return Finding(
        Tier.BLACK_BOX,
        f"epsilon {epsilon}, {N_PARTS} parts",
        f"chance that a {CONFIDENCE:.0%} error bar misses",
        1 - CONFIDENCE,
        lower(int(missed), n, ALPHA),
    )


def _as_shipped(effort: Effort) -> Sequence[Finding]:
    findings: list[Finding] = []
    n = 10_000
    with tempfile.TemporaryDirectory() as folder:
        for epsilon in EPSILONS if effort is Effort.FULL else EPSILONS[1:2]:
            findings.append(_merged(n, epsilon))
            for neighbours in Neighbours:
                findings += _sampled(n, epsilon, neighbours, None)
                findings += _sampled(n, epsilon, neighbours, Path(folder))
                findings += _exact(epsilon, neighbours)
    return findings


def _only(
    change: Change, *checks: Callable[[Path], Sequence[Finding]]
) -> Callable[[Effort], Sequence[Finding]]:
    """A mutant under the checks that are about it."""

    def examined(_effort: Effort) -> Sequence[Finding]:
        with change(), tempfile.TemporaryDirectory() as folder:
            return [finding for check in checks for finding in check(Path(folder))]

    return examined


def _seized(_folder: Path) -> Sequence[Finding]:
    return _sampled(4_000, 1.0, Neighbours.ADD_REMOVE, None)


def _copied(folder: Path) -> Sequence[Finding]:
    return _sampled(4_000, 1.0, Neighbours.ADD_REMOVE, folder)


def _read(_folder: Path) -> Sequence[Finding]:
    return _exact(1.0, Neighbours.ADD_REMOVE)


def _replaced(_folder: Path) -> Sequence[Finding]:
    return [
        *_sampled(10_000, 1.0, Neighbours.REPLACE, None),
        *_exact(1.0, Neighbours.REPLACE),
    ]


def _added_up(_folder: Path) -> Sequence[Finding]:
    return [_merged(4_000, 1.0)]


TRIAL = Trial(
    "pan_private",
    (
        Case("as shipped", _as_shipped, is_mutant=False),
        Case("state without first noise", _only(no_first_noise, _seized, _read)),
        Case("output without noise of its own", _only(no_output_noise, _seized, _read)),
        Case("noise on touched counters alone", _only(noise_when_touched, _seized)),
        Case("a copy that shares its noise with the state", _only(copies_share_noise, _copied)),
        Case("merge that forgets the noise of parts", _only(merge_forgets, _added_up)),
        Case("noise of add/remove for replacement", _only(noise_of_add_remove, _replaced)),
    ),
)
