"""Trial of noise beside the data: a task that runs again shows what it showed, and no more.

Buckets go through the task that workers are sent, in other batches, on another number of tasks,
after another total. What was drawn for a group is compared: it must be the same for the same
content, and independent of what it was for another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headcount.audit.binomial import lower
from headcount.audit.blackbox import ALPHA, audit_epsilon
from headcount.audit.verdict import Finding, Tier
from headcount.contributions import buckets
from headcount.contributions.buckets import drawn_by
from headcount.mechanisms.bucket_chance import bucket_chance
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.gaussian import Gaussian
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp
from headcount.releases.rows import EachGroup
from headcount.releases.run import new_secret
from headcount.releases.wide import write
from headcount.releases.wide.write import BucketDraw
from headcount.trials.seam import swapped
from headcount.trials.trial import Case, Effort, Trial

N, N_BUCKETS = 20_000, 10
EPSILON, DELTA = 1.0, 1e-3
SCHEMA = pa.schema([("group", pa.string()), ("true_total", pa.int64())])
Integers = npt.NDArray[np.int64]
Swap = Callable[[], AbstractContextManager[Any]]


def mechanism() -> Gaussian:
    """Noise for users in one group."""
    return Gaussian.calibrate(Sensitivity.of_entries(1), Zcdp(Fraction(1, 50)))


def rows(totals: Integers) -> pa.Table:
    """Groups in buckets of one size, one after the other."""
    numbers = np.repeat(np.arange(N_BUCKETS), len(totals) // N_BUCKETS)
    groups = [f"g{index:06}" for index in range(len(totals))]
    return pa.Table.from_arrays(
        [pa.array(numbers), pa.array(groups), pa.array(totals)], ["bucket", *SCHEMA.names]
    )


def drawn(totals: Integers, key: bytes, *, batch: int = 997, n_tasks: int = 1) -> Integers:
    """What is released of these groups, in their order, by so many tasks."""
    given, law = rows(totals), mechanism()
    task = drawn_by(BucketDraw(EachGroup(law, 1), SCHEMA, key), SCHEMA, law.sensitivity)
    per_task = len(totals) // n_tasks
    batches = (
        given.slice(start, per_task).to_batches(batch) for start in range(0, len(totals), per_task)
    )
    counts = [
        one.column("count").to_numpy() for some in batches for one in task(iter(some)) if len(one)
    ]
    found: Integers = np.concatenate(counts)
    return found


def of_attempts(key: bytes) -> Iterator[Finding]:
    """The same content again: what two attempts show must be what one shows."""
    totals = np.arange(N) % 50
    first = drawn(totals, key)
    ways = {
        "in other batches": drawn(totals, key, batch=5_000),
        "on more tasks": drawn(totals, key, n_tasks=N_BUCKETS // 2),
    }
    for way, again in ways.items():
        differ = int((first != again).sum())
        yield Finding(Tier.GREY_BOX, f"a task runs again {way}", "rows that differ", 0, differ)


def of_changes(key: bytes) -> Iterator[Finding]:
    """One total of the first bucket is another: noise there is drawn anew, for all its groups."""
    totals = np.arange(N) % 50
    changed = totals.copy()
    changed[3] += 1
    first, second = drawn(totals, key) - totals, drawn(changed, key) - changed
    size = N // N_BUCKETS
    own, others = first[:size] == second[:size], first[size:] == second[size:]
    # Two independent draws of one law are equal less often than its most likely value comes.
    most = 1 / (np.sqrt(2 * np.pi) * mechanism().sd)
    yield _share("noise that is the same after a change of the bucket", own, 1.1 * most)
    yield _share("noise that is another without one", ~others, 0.0)


def of_buckets(key: bytes) -> Iterator[Finding]:
    """Noise of two buckets, and of two runs, is no more alike than chance has it."""
    totals = np.full(N, 7)
    size = N // N_BUCKETS
    first, other_run = drawn(totals, key), drawn(totals, new_secret())
    most = 1 / (np.sqrt(2 * np.pi) * mechanism().sd)
    yield _share("noise that two buckets share", first[:size] == first[size : 2 * size], 1.1 * most)
    yield _share("noise that two runs share", first == other_run, 1.1 * most)


def of_users(n_runs: int) -> Iterator[Finding]:
    """A user more in the first group of every bucket, each bucket a run of its own."""
    base = np.full(N_BUCKETS * n_runs, 40)
    with_user = base.copy()
    with_user[::n_runs] += 1
    sides = []
    for totals in (with_user, base):
        rounds = [drawn(totals, new_secret())[::n_runs] for _ in range(100)]
        sides.append(np.concatenate(rounds)[:, None])
    # rho 1/50 is below epsilon 1 at this delta.
    yield audit_epsilon(
        sides[0], sides[1], epsilon=EPSILON, delta=DELTA, subject="a user in one group"
    )


def _share(subject: str, same: npt.NDArray[np.bool_], claimed: float) -> Finding:
    found = lower(int(same.sum()), len(same), ALPHA)
    return Finding(Tier.BLACK_BOX, subject, "share of groups", claimed, found)


def _examined(swap: Swap) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        with swap():
            key = new_secret()
            found = [*of_attempts(key), *of_changes(key), *of_buckets(key)]
            return [*found, *of_users(5)] if effort is Effort.FULL else found

    return examined


def system_entropy() -> AbstractContextManager[Any]:
    """The system's generator in the task: every attempt draws anew, and averages tell more."""
    return swapped(write, "bucket_chance", lambda *_: Drawn())


def no_content() -> AbstractContextManager[Any]:
    """Keyed by the bucket alone: the same noise on two totals, when the table changes."""
    return swapped(buckets, "digest", lambda _: bytes(32))


def by_task() -> AbstractContextManager[Any]:
    """Keyed by the number within a task: it changes with the number of tasks."""
    shipped = buckets.in_buckets

    def counted(*given: Any) -> Iterator[buckets.Bucket]:
        for number, one in enumerate(shipped(*given)):
            yield buckets.Bucket(number, one.content, one.totals)

    return swapped(buckets, "in_buckets", counted)


def batch_by_batch() -> AbstractContextManager[Any]:
    """A bucket ends with a batch: where that is follows from settings and from luck."""
    shipped = buckets.in_buckets

    def cut(batches: Iterator[pa.RecordBatch], *given: Any) -> Iterator[buckets.Bucket]:
        for batch in batches:
            yield from shipped(iter([batch]), *given)

    return swapped(buckets, "in_buckets", cut)


def one_for_all() -> AbstractContextManager[Any]:
    """Neither bucket nor content in the message: all buckets have the same noise."""
    return swapped(write, "bucket_chance", lambda key, *_: bucket_chance(key, 0, bytes(32)))


def one_key() -> AbstractContextManager[Any]:
    """A key that is the same in every run."""
    key = bytes(32)
    return swapped(write, "bucket_chance", lambda _, *own: bucket_chance(key, *own))


TRIAL = Trial(
    "bucket_chance",
    (
        Case("as shipped", _examined(nullcontext), is_mutant=False),
        Case("the system's generator in the task", _examined(system_entropy)),
        Case("content left out of the key", _examined(no_content)),
        Case("the number of a bucket in its task", _examined(by_task)),
        Case("a bucket that ends with a batch", _examined(batch_by_batch)),
        Case("one key for all buckets", _examined(one_for_all)),
        Case("the same key in every run", _examined(one_key)),
    ),
)
