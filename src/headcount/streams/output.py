"""What a finished stream publishes: rows with error bars, drawn once.

No ledger paid for them: accounts protect users, and a stream protects events.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from headcount.accounting.compose import cost
from headcount.errors import UsageError
from headcount.privacy.neighbours import Neighbours
from headcount.results.facts import Facts
from headcount.results.frequencies import FrequencyRelease, rows_of, stated_numbers
from headcount.results.release import Release
from headcount.streams import promise
from headcount.streams.arguments import checked
from headcount.streams.file import Counters, chunks
from headcount.streams.terms import Terms
from headcount.version import __version__

MAX_NOISES_OF_ALGORITHM_1 = 3
CONFIDENCE = 0.95
DEFAULTS = {"confidence": CONFIDENCE, "method": "npmle", "n_events": None}
TOO_FEW = (
    "Half of the buckets or more are in use, so collisions could not be undone: counts are those "
    "of buckets, not of groups. Use more buckets next time, two to four times the events."
)


class StreamCounts(Release):
    """The counts of known groups: ``group``, ``count``, ``low``, ``high`` and ``sd``."""

    def __repr__(self) -> str:
        return f"<StreamCounts: {len(self):,} groups, {self.guarantee}>"


class StreamFrequencies(FrequencyRelease):
    """How many groups have each count; ``distinct()`` and ``entropy()`` are free."""

    def __repr__(self) -> str:
        return f"<StreamFrequencies: {len(self):,} different counts, {self.guarantee}>"


StreamOutput = StreamCounts | StreamFrequencies


def check_options(terms: Terms, **options: Any) -> dict[str, Any]:
    """The options in one form; refuses what cannot be answered, before the output is taken."""
    given = checked("output", **(DEFAULTS | options))
    confidence, method, n_events = (given[name] for name in DEFAULTS)
    if terms.groups is not None:
        if method != "npmle" or n_events is not None:
            raise UsageError("method and n_events are for streams with buckets. Nothing was taken.")
        return given
    if confidence != CONFIDENCE:
        raise UsageError(f"Frequencies have error bars of {CONFIDENCE:.0%}. Nothing was taken.")
    if n_events is not None and terms.neighbours is not Neighbours.REPLACE:
        raise UsageError(
            "n_events is for neighbours='replace', where the number of events is public; this "
            "stream protects it. Nothing was taken."
        )
    if method != "npmle" and terms.n_noises > MAX_NOISES_OF_ALGORITHM_1:
        raise UsageError(
            f"method={method!r} cannot be used with {terms.n_noises} draws of noise, only "
            f"with at most {MAX_NOISES_OF_ALGORITHM_1}; use 'npmle'. Nothing was taken."
        )
    return given


def output_of(terms: Terms, noisy_counters: Counters, **options: Any) -> StreamOutput:
    """The rows of a finished stream."""
    given = check_options(terms, **options)
    confidence = given["confidence"]
    if terms.groups is not None:
        rows = _counts(terms, noisy_counters, confidence)
        return StreamCounts(rows, _facts(terms, confidence, verb="stream"))
    from headcount.postprocess.anonymized import anonymized

    values, multiplicities = run_lengths(noisy_counters)
    fit = partial(
        anonymized,
        values,
        multiplicities,
        ratio=terms.mechanism.ratio,
        n_noises=terms.n_noises,
        n_events=given["n_events"],
        method=given["method"],
    )
    notes: tuple[str, ...] = ()
    most = math.inf
    try:
        fitted = fit(buckets=terms.n_counters)
    except UsageError:
        # Counts are of buckets then, and there are no more of those.
        fitted, notes, most = fit(), (TOO_FEW,), float(terms.n_counters)
    error = f"The counts of all groups together are likely off by {fitted.errors.l1:,.0f}."
    worse = "Warning: that is likely more than half of all there is. Take a larger epsilon."
    facts = _facts(
        terms,
        confidence,
        verb="frequencies",
        value="groups",
        stated=stated_numbers(fitted),
        notes=(*notes, error, *([worse] if fitted.is_worse_than_nothing else [])),
    )
    return StreamFrequencies(rows_of(fitted, values, multiplicities, most), facts)


def run_lengths(counters: Counters) -> tuple[Counters, Counters]:
    """The distinct values, rising, and how often each is there."""
    values, times = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for part in chunks(counters):
        more, n = np.unique(part, return_counts=True)
        values, at = np.unique(np.concatenate([values, more]), return_inverse=True)
        times = np.bincount(at, np.concatenate([times, n]), len(values)).astype(np.int64)
    return values, times


def _counts(terms: Terms, noisy_counters: Counters, confidence: float) -> pa.Table:
    noisy = np.array(noisy_counters)
    width = terms.mechanism.error_bound(confidence, terms.n_noises)
    return pa.table(
        {
            "group": pa.array(terms.groups, pa.string()),
            "count": noisy,
            "low": noisy - width,
            "high": noisy + width,
            "sd": np.full(len(noisy), terms.mechanism.sd(terms.n_noises)),
        }
    )


def _facts(terms: Terms, confidence: float, **more: Any) -> Facts:
    mechanism = terms.mechanism
    spend = cost(mechanism.event)
    return Facts(
        method="pan-private counters",
        guarantee=promise.guarantee(terms),
        rho=str(spend.rho),
        delta=str(spend.delta),
        bounds="an event counts once; how many events a person has is not bounded",
        noise=f"{terms.n_noises} draws of discrete Laplace noise of scale {mechanism.scale}",
        confidence=confidence,
        account="",
        entry=0,
        version=__version__,
        **more,
    )
