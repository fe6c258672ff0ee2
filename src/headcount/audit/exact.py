"""The law of a sampler, read off the sampler itself.

``walk`` runs the code on every script of narrow words, a tree of coins, until what is still open
weighs less than asked. It assumes nothing about the code but that its words are independent and
uniform. ``read_words`` does the same for 64-bit words, of which there are too many to try: it is
told where the code may change its mind, runs it on both sides of each such word and at random
words between, and leaves the told words themselves open.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from headcount.audit.law import Law

Words = npt.NDArray[np.uint64]
Run = Callable[["Script"], Hashable]
RunWords = Callable[["Script", int], Sequence[Hashable] | npt.NDArray[Any]]

WORD_BITS = 64
N_PROBES = 4096


class ScriptEndedError(Exception):
    """The code asked for more words than the script holds."""


class Script:
    """An entropy that plays given words, each at the top of 64 bits."""

    def __init__(self, words: Sequence[int] | Words, width: int = WORD_BITS) -> None:
        self._words = np.array(words, dtype=np.uint64) << np.uint64(WORD_BITS - width)
        self._used = 0

    def words(self, n: int) -> Words:
        """The next ``n`` words of the script."""
        taken = self._words[self._used : self._used + n]
        if len(taken) < n:
            raise ScriptEndedError
        self._used += n
        return taken

    @property
    def used_up(self) -> bool:
        """Whether every word was asked for."""
        return self._used == len(self._words)


def walk(run: Run, *, width: int, residual: float, max_runs: int = 2_000_000) -> Law:
    """The law of ``run``, by running it on every script until at most ``residual`` is open."""
    masses: dict[Hashable, Fraction] = {}
    level: list[tuple[int, ...]] = [()]
    depth = runs = 0
    while level and Fraction(len(level), 1 << (width * depth)) > residual:
        depth += 1
        weight = Fraction(1, 1 << (width * depth))
        open_scripts: list[tuple[int, ...]] = []
        counts: dict[Hashable, int] = {}
        runs += len(level) << width
        if runs > max_runs:
            raise ValueError(f"the tree has more than {max_runs} scripts; use narrower words")
        for begin in level:
            for word in range(1 << width):
                script = Script((*begin, word), width)
                try:
                    output = run(script)
                except ScriptEndedError:
                    open_scripts.append((*begin, word))
                    continue
                if not script.used_up:
                    raise ValueError("the code decides before it has read what it asked for")
                counts[output] = counts.get(output, 0) + 1
        for output, count in counts.items():
            masses[output] = masses.get(output, Fraction(0)) + count * weight
        level = open_scripts
    return Law(masses, Fraction(len(level), 1 << (width * depth)))


def read_words(run: RunWords, edges: Sequence[int] | Words) -> Law:
    """The law of a draw that one 64-bit word decides, unless the word is one of ``edges``."""
    told = np.unique(np.array(edges, dtype=np.uint64))
    bounds = [-1, *(int(edge) for edge in told), 1 << WORD_BITS]
    spans = [(a + 1, b - 1) for a, b in pairwise(bounds) if b - a > 1]
    lows = np.array([low for low, _ in spans], dtype=np.uint64)
    highs = np.array([high for _, high in spans], dtype=np.uint64)
    probes = _probes(told)
    outputs = list(run(Script(np.concatenate([lows, highs, probes])), 2 * len(spans) + len(probes)))
    at_low, at_high, at_probe = (
        outputs[: len(spans)],
        outputs[len(spans) : 2 * len(spans)],
        outputs[2 * len(spans) :],
    )
    span_of_probe = np.searchsorted(highs, probes)
    masses: dict[Hashable, Fraction] = {}
    for (low, high), one, other in zip(spans, at_low, at_high, strict=True):
        if one != other:
            raise ValueError("the draw changes between the words that were named")
        key = _plain(one)
        masses[key] = masses.get(key, Fraction(0)) + Fraction(high - low + 1, 1 << WORD_BITS)
    for span, output in zip(span_of_probe, at_probe, strict=True):
        if output != at_low[int(span)]:
            raise ValueError("the draw changes between the words that were named")
    return Law(masses, Fraction(len(told), 1 << WORD_BITS))


def _probes(told: Words) -> Words:
    words = np.frombuffer(os.urandom(8 * N_PROBES), dtype=np.uint64)
    return words[~np.isin(words, told)]


def _plain(output: Hashable) -> Hashable:
    return output.item() if isinstance(output, np.generic) else output
