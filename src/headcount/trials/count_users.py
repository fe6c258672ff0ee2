"""Trial of ``count_users`` end to end on DuckDB, as a user calls it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from headcount.accounting.convert import zcdp_of
from headcount.audit.blackbox import Rows, audit_epsilon, audit_support
from headcount.audit.greybox import Call, Declared, Recording, compare
from headcount.audit.neighbours import MARK, N_HEAVY, VICTIM, Pair, heavy, pairs
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms.gaussian_threshold import GaussianThreshold
from headcount.privacy.bounds import Bounds
from headcount.privacy.budget import Budget
from headcount.releases.count_users.plan import DEFAULT_MAX_GROUPS, LATTICE_BITS
from headcount.trials.caller import Seen, release
from headcount.trials.door import shown_in
from headcount.trials.release_mutants import (
    errors_passed_on,
    groups_logged,
    ordered_by_true_count,
    unbounded,
    uncharged_choice,
)
from headcount.trials.seam import Recorder, calls_of, declared_of
from headcount.trials.tables import GROUP, arrow_table, by_copy, copied
from headcount.trials.trial import POINTS, Case, Effort, Trial

BOUND = 5
MANY_NEW = "one user, and another with many new groups"
TIE = "a tie that one user breaks"
THRESHOLD = 27
"""About the threshold of the releases below, in users."""

Swap = Callable[[], AbstractContextManager[Any]]
NO_SWAP: Swap = nullcontext

ALL_PAIRS = [
    *pairs(BOUND, THRESHOLD),
    Pair(
        "heavy groups, and one user with more groups than are kept",
        heavy(THRESHOLD),
        tuple((VICTIM, f"{MARK}-{j}", 1) for j in range(12_000)),
    ),
]

KNOWN: list[Any] = [f"g{j}" for j in range(N_HEAVY)]
KNOWN_PAIRS = ALL_PAIRS[1:7:2]


def sampled_pairs() -> list[tuple[Pair, float, float]]:
    """Pairs whose groups are near the threshold of the epsilon and delta they are tried at."""
    new = tuple((VICTIM, f"{MARK}-{j}", 1) for j in range(90))
    in_all = tuple((VICTIM, f"g{j}", 1) for j in range(BOUND))
    near = {point: threshold(*point) for point in POINTS}
    return [
        (Pair("empty, and one user", (), new[:1]), 0.25, 1e-2),
        (Pair(MANY_NEW, (("u0", "g0", 1),), new), 0.25, 1e-3),
        (
            Pair("heavy group, and one user in it", heavy(near[1, 1e-2] + 12, 1), in_all[:1]),
            1.0,
            1e-2,
        ),
        (Pair("a count at the threshold", heavy(near[3, 1e-3], 1), in_all[:1]), 3.0, 1e-3),
        (
            Pair("heavy groups, and one user in all", heavy(near[3, 1e-2] + 5, BOUND), in_all),
            3.0,
            1e-2,
        ),
        (Pair(TIE, heavy(near[1, 1e-3] + 20, 2), in_all[1:2]), 1.0, 1e-3),
    ]


def threshold(epsilon: float, delta: float) -> int:
    """The threshold of a release, in users: it follows from public numbers."""
    bounds = Bounds(DEFAULT_MAX_GROUPS, BOUND, LATTICE_BITS)
    spend = zcdp_of(Budget(epsilon=epsilon, delta=delta))
    return round(GaussianThreshold.calibrate(bounds, spend).threshold / bounds.scale)


def recording(table_rows: Any, groups: list[Any] | None) -> tuple[Recording, Seen]:
    """What reaches the noise in a whole release, with the groups it belongs to."""
    recorder = Recorder()
    seen = release(
        arrow_table(table_rows), epsilon=1, delta=1e-2, bound=BOUND, groups=groups, chance=recorder
    )
    if seen.release is None or seen.plan is None:
        raise RuntimeError(seen.texts["error"])
    calls = calls_of(recorder, shown_in(seen.release, recorder))
    # Rows are noised one by one, so a table without rows needs no call.
    calls = calls or (Call(declared(seen, groups).settings, {}),)
    public = {name: seen.texts[name] for name in ("plan", "schema")}
    return Recording(calls, public), seen


def declared(seen: Seen, groups: list[Any] | None) -> Declared:
    """What the plan's event says, and the bounds its threshold was made for."""
    assert seen.plan is not None  # noqa: S101  checked by the caller
    event: Any = seen.plan.work.event
    most = DEFAULT_MAX_GROUPS if groups is None else len(groups)
    sensitivity = Bounds(most, BOUND, LATTICE_BITS).sensitivity()
    return declared_of(event, sensitivity)


def _grey(swap: Swap, effort: Effort, only: str | None = None) -> list[Finding]:
    findings = []
    chosen = ALL_PAIRS if effort is Effort.FULL else ALL_PAIRS[3:5]
    for pair in [pair for pair in ALL_PAIRS if pair.name == only] or chosen:
        for groups in (None, KNOWN) if pair in KNOWN_PAIRS else (None,):
            with swap():
                left, seen = recording(pair.with_user, groups)
                right, _ = recording(pair.base, groups)
            subject = f"{pair.name}, groups {'found' if groups is None else 'known'}"
            findings += compare(left, right, [declared(seen, groups)], subject)
    return findings


def _sampled(swap: Swap, effort: Effort, only: str | None = None) -> list[Finding]:
    n = 1_000 if effort is Effort.FULL else 500
    every = sampled_pairs()
    chosen = every if effort is Effort.FULL else every[1:4:2]
    findings = []
    for pair, epsilon, delta in [one for one in every if one[0].name == only] or chosen:
        with swap():
            left = _features(pair.with_user, pair, n, epsilon, delta)
            right = _features(pair.base, pair, n, epsilon, delta)
        findings.append(audit_epsilon(left, right, epsilon=epsilon, delta=delta, subject=pair.name))
        hits = int((left[:, 0] > 0).sum())
        findings.append(audit_support(hits, n, delta=delta, subject=pair.name))
    return findings


def _features(table_rows: Any, pair: Pair, n: int, epsilon: float, delta: float) -> Rows:
    """Per copy: victim's groups that left, the sum over shared ones, one count, and the order."""
    seen = release(copied(table_rows, n), epsilon=epsilon, delta=delta, bound=BOUND)
    if seen.release is None:
        raise RuntimeError(seen.texts["error"])
    table = seen.release.to_arrow()
    counts = table.column("count").to_pylist()
    new = {str(group) for group in pair.new_groups}
    features = np.zeros((n, 4), dtype=np.int64)
    for i, found in enumerate(by_copy(table.column(GROUP).to_pylist(), n)):
        shared = sorted(found.keys() - new)
        features[i] = (
            len(found.keys() & new),
            sum(counts[found[group]] for group in shared),
            counts[found[shared[0]]] if shared else -1,
            sum(found[a] > found[b] for a, b in pairwise(shared)),
        )
    return features


def _channels(swap: Swap, effort: Effort) -> list[Finding]:
    """Texts must be the same on both sides and hold neither the user nor their groups."""
    findings = []
    chosen = ALL_PAIRS[1:6] if effort is Effort.FULL else ALL_PAIRS[1:6:4]
    for pair in chosen:
        with swap():
            sides = [
                release(arrow_table(r), epsilon=3, delta=1e-2, bound=BOUND)
                for r in (pair.with_user, pair.base)
            ]
        findings += _same_texts(sides[0].texts, sides[1].texts, pair.name)
        found = sides[0].release
        if found is not None:
            out_of_order = sides[0].n_out_of_order
            findings.append(Finding(Tier.GREY_BOX, pair.name, "rows out of order", 0, out_of_order))
    return [*findings, *_failing(swap)]


def _same_texts(left: dict[str, str], right: dict[str, str], subject: str) -> list[Finding]:
    findings = compare(Recording((), left), Recording((), right), [], subject)
    named = sum(mark in text for text in left.values() for mark in (MARK, VICTIM))
    return [
        *findings,
        Finding(Tier.GREY_BOX, subject, "texts that name the user or their groups", 0, named),
    ]


def _failing(swap: Swap) -> list[Finding]:
    """An engine that fails while it reads, on a cell that it would quote."""
    import duckdb

    texts = []
    for cells in (["1", "no number"], [f"{MARK}-0", "1", "no number"]):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "t.duckdb"
            connection = duckdb.connect(str(file))
            connection.execute("create table raw (person varchar, place varchar)")
            for i, cell in enumerate(cells):
                connection.execute("insert into raw values (?, ?)", [f"u{i}", cell])
            connection.execute(
                "create view t as select person, cast(place as integer) as place from raw"
            )
            connection.close()
            with swap():
                seen = release(f"duckdb://{file}?table=t", epsilon=1, delta=1e-2, bound=BOUND)
            texts.append({n: t.replace(folder, "") for n, t in seen.texts.items()})
    if "error" not in texts[0]:
        raise RuntimeError("the engine was expected to fail")
    return _same_texts(texts[1], texts[0], "an engine that fails on a cell")


def _as_shipped(effort: Effort) -> Sequence[Finding]:
    return [
        *_grey(NO_SWAP, effort),
        *_sampled(NO_SWAP, effort),
        *_channels(NO_SWAP, effort),
    ]


TRIAL = Trial(
    "count_users",
    (
        Case("as shipped", _as_shipped, is_mutant=False),
        Case("no bound on groups", lambda effort: _grey(unbounded, effort, MANY_NEW)),
        Case("rows in order of true counts", lambda e: _sampled(ordered_by_true_count, e, TIE)),
        Case("errors passed on", lambda _effort: _failing(errors_passed_on)),
        Case("groups in the log", lambda _effort: _channels(groups_logged, Effort.QUICK)),
        Case("an uncharged choice", lambda effort: _grey(uncharged_choice, effort, MANY_NEW)),
    ),
)
