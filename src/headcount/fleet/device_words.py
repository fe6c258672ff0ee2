"""What a device says of itself to whoever uses it: who asked what, what was sent, what it cost.

From the device's own folder, without a network. It holds no answer, since none is kept, and nothing
of how a coin fell.
"""

from __future__ import annotations

from datetime import UTC, datetime

from headcount.accounting.convert import epsilon_at, shown
from headcount.errors import UsageError
from headcount.fleet.device_policy import Policy
from headcount.fleet.device_rows import Paid
from headcount.fleet.device_store import DeviceStore
from headcount.fleet.task import Task, task_from

WORDS = {
    "kept": "sealed and not yet taken",
    "taken": "sent and taken",
    "over": "sealed, and not taken before the round was over",
    "withdrawn": "sealed, and not sent since consent was withdrawn",
    "forgotten": "forgotten",
}


def explained(store: DeviceStore, policy: Policy, now: int, name: str | None) -> str:
    """All that the device was asked and did, or that of one task."""
    lines: list[str] = []
    paid = {one.task: one for one in store.paid()}
    told: set[bytes] = set()
    for spelled, said in store.heard():
        task = _known(spelled)
        if task is None:
            continue
        told.add(task.id)
        if name in (None, task.file.task):
            lines += [*_asked(task), f"  Last: {said}.", *_done(store, task.id, paid.get(task.id))]
    for one in paid.values():
        known = _known(one.spelled)
        if one.task not in told and name in (None, known and known.file.task):
            head = _asked(known) if known else [f"A task that was forgotten, {one.task.hex()[:16]}"]
            lines += [*head, *_done(store, one.task, one)]
    return "\n".join([*lines, *_budget(store, policy, now)])


def _asked(task: Task) -> list[str]:
    file = task.file
    lines = [
        f"{file.task}: asked by {file.owner}, until {file.expires}",
        f"  Why: {file.purpose}",
        _shown_how(task),
    ]
    if file.question.sql:
        lines.append(f"  The question: {file.question.sql}")
    return lines


def _shown_how(task: Task) -> str:
    file, terms = task.file, task.terms
    if terms.scale:
        return (
            f"  Every answer reaches the core in each of {file.rounds.n} rounds, without a name; "
            f"counts are shown with noise of scale {float(terms.scale):.4g}."
        )
    return (
        f"  An answer is sampled with chance {float(terms.rate):.4g} in each of {file.rounds.n} "
        f"rounds, and shown only where at least {terms.threshold} sampled devices say the same."
    )


def _done(store: DeviceStore, task: bytes, paid: Paid | None) -> list[str]:
    # Not how many reports it was: without cover that is how many were sampled.
    lines = [
        f"  Round {one.round}, {_when(one.at)}: {WORDS[one.state]}." for one in store.answered(task)
    ]
    if paid is not None:
        lines.append(f"  It costs rho {float(paid.spend.rho):.4g} for its whole period.")
    return lines


def _budget(store: DeviceStore, policy: Policy, now: int) -> list[str]:
    rho, delta = store.spent(policy.window(now))
    limit, days = policy.limit, policy.per_days
    epsilon = "0"
    if rho > 0:
        # At the half of delta that is for turning rho into epsilon, as the limit is.
        epsilon = shown(epsilon_at(rho, limit.delta), up=True)
    return [
        f"Tasks answered in the last {days} days cost epsilon {epsilon} of {policy.max_epsilon}, "
        f"and delta {float(delta):.2g} of {float(limit.delta):.2g}."
    ]


def _known(spelled: bytes) -> Task | None:
    try:
        return task_from(spelled)
    except UsageError:
        return None


def _when(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
