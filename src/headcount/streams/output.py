"""What a finished stream publishes: rows with error bars, drawn once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headcount.accounting.compose import cost
from headcount.accounting.tail import upper_point
from headcount.errors import UsageError
from headcount.privacy.neighbours import Neighbours
from headcount.releases.release import Facts, Release
from headcount.streams import promise
from headcount.streams.file import Counters, chunks
from headcount.streams.terms import Terms
from headcount.version import __version__

if TYPE_CHECKING:
    from headcount.postprocess.frequencies import Frequencies

MAX_NOISES_OF_ALGORITHM_1 = 3


class StreamOutput(Release):
    """The output of a stream: one row per group, or how many groups have each count.

    Columns of known groups: ``group``, ``count``, ``low``, ``high`` and ``sd``. Of buckets:
    ``count``, ``groups``, ``low``, ``high`` and ``sd``, and ``frequencies`` holds the fit.
    No ledger paid for it: accounts protect users, and this protects events.
    """

    def __init__(
        self, table: pa.Table, facts: Facts, frequencies: Frequencies | None = None
    ) -> None:
        super().__init__(table, facts)
        self.frequencies = frequencies

    def __repr__(self) -> str:
        rows = "row" if len(self) == 1 else "rows"
        return f"<StreamOutput: {len(self):,} {rows}, {self.guarantee}>"


def check_options(
    terms: Terms, *, confidence: float = 0.95, method: str = "npmle", n_events: int | None = None
) -> None:
    """Refuse what cannot be answered, before the one output is taken."""
    if not 0 < confidence < 1:
        raise UsageError(f"confidence must be above 0 and below 1, not {confidence}.")
    if terms.groups is not None and (method != "npmle" or n_events is not None):
        raise UsageError("method and n_events are for streams with buckets. Nothing was taken.")
    if n_events is not None and terms.neighbours is not Neighbours.REPLACE:
        raise UsageError(
            "n_events is for neighbours='replace', where the number of events is public; this "
            "stream protects it. Nothing was taken."
        )
    if method != "npmle" and terms.n_noises > MAX_NOISES_OF_ALGORITHM_1:
        raise UsageError(
            f"method={method!r} does not bear {terms.n_noises} draws of noise, at most "
            f"{MAX_NOISES_OF_ALGORITHM_1}; use 'npmle'. Nothing was taken."
        )


def output_of(
    terms: Terms,
    noisy_counters: Counters,
    *,
    confidence: float = 0.95,
    method: str = "npmle",
    n_events: int | None = None,
) -> StreamOutput:
    """The rows of a finished stream."""
    check_options(terms, confidence=confidence, method=method, n_events=n_events)
    if terms.groups is not None:
        return StreamOutput(_counts(terms, noisy_counters, confidence), _facts(terms, confidence))
    # Fitted only when asked for: counting needs none of it.
    from headcount.postprocess.anonymized import anonymized

    values, multiplicities = run_lengths(noisy_counters)
    fitted = anonymized(
        values,
        multiplicities,
        ratio=terms.mechanism.ratio,
        n_noises=terms.n_noises,
        buckets=terms.n_counters,
        n_events=n_events,
        method=method,
    )
    facts = _facts(terms, confidence, value="groups", notes=_warning(fitted))
    return StreamOutput(_frequencies(fitted, confidence), facts, fitted)


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
    sd = terms.mechanism.sd(terms.n_noises)
    return pa.table(
        {
            "group": pa.array(terms.groups, pa.string()),
            "count": noisy,
            "low": noisy - width,
            "high": noisy + width,
            "sd": np.full(len(noisy), sd),
        }
    )


def _frequencies(fitted: Frequencies, confidence: float) -> pa.Table:
    width = upper_point((1 - confidence) / 2) * fitted.sds
    return pa.table(
        {
            "count": fitted.counts,
            "groups": fitted.groups,
            "low": np.maximum(0.0, fitted.groups - width),
            "high": fitted.groups + width,
            "sd": fitted.sds,
        }
    )


def _warning(fitted: Frequencies) -> tuple[str, ...]:
    if not fitted.is_worse_than_nothing:
        return ()
    return ("The error is likely larger than half of what there is: take a larger epsilon.",)


def _facts(
    terms: Terms, confidence: float, value: str = "count", notes: tuple[str, ...] = ()
) -> Facts:
    mechanism = terms.mechanism
    spend = cost(mechanism.event)
    return Facts(
        verb="stream",
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
        notes=notes,
        value=value,
    )
