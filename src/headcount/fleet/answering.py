"""What one device sends in one round, from its answers and its secret.

Always ``answers`` bodies of one length: an answer whose coin falls well, or an abstention. The
number of answers, their length, and which of them were sampled are nowhere to be seen.
"""

from __future__ import annotations

from collections.abc import Sequence

from headcount.fleet.characters import is_allowed
from headcount.fleet.seal import seal
from headcount.fleet.task import Task
from headcount.fleet.wire import Descriptor, body, coin


def kept(task: Task, number: int, secret: bytes) -> list[bool]:
    """How the coins of a device fall in one round, one for each answer that it may give [FL1]."""
    limit = task.terms.coin_limit
    return [coin(secret, task.id, number, i) < limit for i in range(task.file.question.answers)]


def bodies(task: Task, answers: Sequence[str | None], coins: Sequence[bool]) -> list[bytes | None]:
    """One body for each answer that there may be; nothing where a task is without cover.

    A value is sent once [FL2]: a second coin for it would move its group by two. What the task
    does not take is an abstention, as is an answer that is not there.
    """
    question, seen = task.file.question, set[str]()
    found: list[bytes | None] = []
    for i, is_kept in enumerate(coins):
        value = answers[i] if i < len(answers) else None
        if value is not None and value in seen:
            value = None
        if value is not None:
            seen.add(value)
            if not is_allowed(value, question.pattern, question.max_bytes):
                value = None
        if is_kept and value is not None:
            found.append(body(value))
        else:
            found.append(body(None) if task.file.cover else None)
    return found


def reports(
    task: Task,
    descriptor: Descriptor,
    secret: bytes,
    answers: Sequence[str | None],
    report_ids: Sequence[bytes],
) -> list[bytes]:
    """The sealed reports of a device, to be kept and sent until they are acknowledged.

    report_ids: names that nobody else has, one for each answer that the task asks for
    """
    coins = kept(task, descriptor.round, secret)
    found = zip(report_ids, bodies(task, answers, coins), strict=True)
    return [seal(descriptor, name, one) for name, one in found if one is not None]
