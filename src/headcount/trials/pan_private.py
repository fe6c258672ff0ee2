"""Trial of pan-private counters: whoever seizes a stream, its files and memory, and its output.

The lives that are tried are in ``pan_private_lives``, the mutants in ``pan_private_mutants``, and
what becomes of both by the clock in ``pan_private_clock``.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from pathlib import Path

import numpy as np

from headcount.audit.binomial import lower
from headcount.audit.blackbox import ALPHA
from headcount.audit.divergence import pure_epsilon
from headcount.audit.exact import Script, Words, read_words
from headcount.audit.law import Law
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms.chance import Drawn
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.noise.entropy import Entropy
from headcount.privacy.exact import exact
from headcount.privacy.neighbours import Neighbours
from headcount.streams.stream import Stream
from headcount.trials import pan_private_clock as clock
from headcount.trials import pan_private_lives as lives
from headcount.trials import pan_private_mutants as mutants
from headcount.trials.pan_private_lives import WAYS, Way, read_counters, sampled
from headcount.trials.pan_private_mutants import seized
from headcount.trials.seam import Integers
from headcount.trials.trial import EPSILONS, Case, Effort, Trial

Change = Callable[[], AbstractContextManager[None]]
Check = Callable[[], Sequence[Finding]]

LEAST = 1e-9
FIXED_WORD = 0x9E3779B97F4A7C15
N_PARTS = 5
CONFIDENCE = 0.95


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


def drawing_from(entropy: Entropy) -> type[Stream]:
    """Streams whose noise comes from this entropy, also when they are loaded, made alike or merged.

    They are shipped streams in all else: mutants of those are mutants of these.
    """

    class Scripted(Stream):
        _chance = Drawn(entropy)

    return Scripted


def state_law(epsilon: float, neighbours: Neighbours, n_events: int) -> Law:
    """The exact law of one counter in the file that a stream leaves, from 64-bit words."""

    def run(script: Script, n: int) -> Integers:
        groups = [f"{i:07d}" for i in range(n)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state.hcs"
            kind = drawing_from(script)
            stream = kind(groups=groups, epsilon=epsilon, neighbours=neighbours, path=path)
            stream.update(groups * n_events)
            stream.close()
            return read_counters(path, n)

    return read_words(run, _edges(epsilon, neighbours))


def step_law(epsilon: float, neighbours: Neighbours, n_events: int) -> Law:
    """The exact law of output less state, for events that came between."""

    def run(script: Script, n: int) -> Integers:
        groups = [f"{i:07d}" for i in range(n)]
        kind = drawing_from(Following(n, script))
        stream = kind(groups=groups, epsilon=epsilon, neighbours=neighbours)
        state = seized(stream)
        stream.update(groups * n_events)
        output: Integers = stream.finish().to_arrow().column("count").to_numpy()
        return output - state

    return read_words(run, _edges(epsilon, neighbours))


def opened_law(epsilon: float, neighbours: Neighbours, n_events: int) -> Law:
    """The exact law of memory less file, for events that came after the file was opened."""

    def run(script: Script, n: int) -> Integers:
        groups = [f"{i:07d}" for i in range(n)]
        kind = drawing_from(Following(n, script))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state.hcs"
            kind(groups=groups, epsilon=epsilon, neighbours=neighbours, path=path).close()
            stream = kind.load(path)
            stream.update(groups * n_events)
            step = seized(stream) - read_counters(path, n)
            stream.close()
        return step

    return read_words(run, _edges(epsilon, neighbours))


def _edges(epsilon: float, neighbours: Neighbours) -> Words:
    """Where a draw of the noise that the terms ask for may change its mind."""
    scale = Fraction(1 if neighbours is Neighbours.ADD_REMOVE else 2) / exact(epsilon)
    every = [DiscreteLaplace(part).tables()[0].bounds for part in (scale, scale / 2)]
    return np.concatenate(every)


LAWS = {
    "dump of the file": state_law,
    "output less state": step_law,
    "memory less file": opened_law,
}


def _exact(epsilon: float, neighbours: Neighbours) -> list[Finding]:
    found = []
    moment = secrets.randbelow(6)
    for law_of in LAWS.values():
        laws = [law_of(epsilon, neighbours, moment + victim) for victim in (0, 1)]
        found.append(pure_epsilon(laws[0], laws[1], LEAST).low)
    # Draws are independent, so the losses of two counters, or of a state and a step, add up.
    times = 1 if neighbours is Neighbours.ADD_REMOVE else 2
    subject = f"epsilon {epsilon}, {neighbours}"
    findings = [
        Finding(Tier.EXACT, f"{subject}, {what}", "epsilon", epsilon, times * one)
        for what, one in zip(LAWS, found, strict=True)
    ]
    if times == 2:
        crossing = f"{subject}, from before the intrusion to after"
        worst = found[0] + max(found[1:])
        findings.append(Finding(Tier.EXACT, crossing, "epsilon", epsilon, worst))
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
    findings = [clock.draws_after_the_end()]
    n = 6_000
    for epsilon in EPSILONS if effort is Effort.FULL else EPSILONS[1:2]:
        findings.append(_merged(n, epsilon))
        for neighbours in Neighbours:
            findings += sampled(n, epsilon, neighbours, WAYS)
            findings += _exact(epsilon, neighbours)
    return findings


def _only(change: Change, *checks: Check) -> Callable[[Effort], Sequence[Finding]]:
    """A mutant under the checks that are about it."""

    def examined(_effort: Effort) -> Sequence[Finding]:
        with change():
            return [finding for check in checks for finding in check()]

    return examined


def _lived(*ways: Way) -> Check:
    return lambda: sampled(4_000, 1.0, Neighbours.ADD_REMOVE, ways)


def _read() -> Sequence[Finding]:
    return _exact(1.0, Neighbours.ADD_REMOVE)


def _replaced() -> Sequence[Finding]:
    return [
        *sampled(10_000, 1.0, Neighbours.REPLACE, [lives.memory_alone]),
        *_exact(1.0, Neighbours.REPLACE),
    ]


def _added_up() -> Sequence[Finding]:
    return [_merged(4_000, 1.0)]


def _timed() -> Sequence[Finding]:
    return [clock.draws_after_the_end()]


def _waiting(way: Way) -> Case:
    after = way.__name__.replace("_", " ")
    return Case(
        f"noise that waits for an event after {after}",
        _only(mutants.noise_waits_for_an_event, _lived(way)),
    )


TRIAL = Trial(
    "pan_private",
    (
        Case("as shipped", _as_shipped, is_mutant=False),
        Case(
            "state without first noise",
            _only(mutants.no_first_noise, _lived(lives.memory_alone), _read),
        ),
        Case(
            "output without noise of its own",
            _only(mutants.no_output_noise, _lived(lives.memory_alone), _read),
        ),
        Case(
            "noise on touched counters alone",
            _only(mutants.noise_when_touched, _lived(lives.memory_alone)),
        ),
        Case(
            "a copy that shares its noise with the state",
            _only(mutants.seen_states_share_noise, _lived(lives.a_snapshot)),
        ),
        Case(
            "a file that shares its noise with the memory",
            _only(mutants.seen_states_share_noise, _lived(lives.a_checkpoint)),
        ),
        Case(
            "an opening without noise of its own",
            _only(mutants.opened_without_noise, _lived(lives.an_opening), _read),
        ),
        *map(_waiting, WAYS[1:]),
        Case(
            "events that touch the file",
            _only(mutants.events_touch_the_file, _lived(lives.a_checkpoint)),
        ),
        Case("a clock that catches up after the end", _only(clock.clock_catches_up, _timed)),
        Case("a clock that goes on until all is counted", _only(clock.clock_goes_on, _timed)),
        Case("merge that forgets the noise of parts", _only(mutants.merge_forgets, _added_up)),
        Case("noise of add/remove for replacement", _only(mutants.noise_of_add_remove, _replaced)),
    ),
)
