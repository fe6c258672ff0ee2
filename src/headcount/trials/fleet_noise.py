"""Trial of rounds of a fleet with noise: what reaches the noise, through the bytes that are sent.

Pairs of fleets that differ by what one device answers. What the core asks its chance for is held
against what the task claims; how likely a group of one device is shown is worked out exactly.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction
from typing import Any

from headcount.accounting.compose import cost
from headcount.audit.greybox import Call, Declared, Recording, compare
from headcount.audit.verdict import Finding, Tier
from headcount.fleet import answering, core
from headcount.fleet.core_noise import noisy
from headcount.fleet.keybox import KeyBox
from headcount.fleet.noise_rounds import NoiseRounds, moved
from headcount.fleet.seal import public_key_of, seal
from headcount.fleet.task import Task
from headcount.fleet.task_file import read_task
from headcount.fleet.wire import Descriptor
from headcount.mechanisms.laplace import Laplace
from headcount.mechanisms.laplace_threshold import LaplaceThreshold
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.privacy.event import Rounds
from headcount.privacy.spend import Zcdp
from headcount.trials.fleet import KEY, Fleet, every_report, odd_one, sent_again
from headcount.trials.lone_groups import chance_to_leave
from headcount.trials.seam import Noise, Recorder, settings_of, swapped
from headcount.trials.trial import Case, Effort, Trial

Swap = Callable[[], AbstractContextManager[Any]]
SPEND = Zcdp(Fraction(1, 8), Fraction(1, 10**4))
KNOWN = tuple("abcdefghijklmnopqrstuvwxyz")


def task_of(answers: int, groups: Sequence[str] = ()) -> Task:
    """A task of three rounds, with its answers on a list or not."""
    file = read_task(
        {
            "task": "tried",
            "population": "phones",
            "owner": "an auditor",
            "purpose": "to be tried",
            "expires": "2027-03-01",
            "question": {"max_bytes": 8, "answers": answers, "groups": list(groups)},
            "rounds": {"every": "1d", "keep_open": "18h", "n": 3},
            "spend": {"account": "phones", "epsilon": 1},
            "method": "noise",
        }
    )
    return NoiseRounds.task(file, SPEND)


def recorded(task: Task, fleet: Fleet) -> Recording:
    """What one count of a fleet asks its chance for."""
    round_ = Descriptor(task.id, 0, 1, 2, public_key_of(KEY))
    coins = [True] * task.file.question.answers
    bodies = [one for said in fleet for one in answering.bodies(task, said, coins)]
    sealed = [
        seal(round_, i.to_bytes(16, "big"), one) for i, one in enumerate(bodies) if one is not None
    ]
    chance = Recorder()
    # Each report twice, in two cuts: an acknowledgement that was lost.
    shown = core.count(task, round_, KEY, [b"".join(sealed), *sealed], chance=chance)
    names = {chance.entry(count): group for group, count in shown.counts}
    calls = [
        Call(
            settings_of(one.law),
            {
                names[first]: value
                for first, value in zip(one.entries, one.true_values, strict=True)
            },
        )
        for one in chance.asked
        if isinstance(one, Noise)
    ]
    return Recording(tuple(calls), {"reports": str(sorted(map(len, sealed)))})


def compared(task: Task, fleets: tuple[Fleet, Fleet], subject: str) -> list[Finding]:
    """Two fleets, held against what the task's terms claim."""
    one, other = (recorded(task, fleet) for fleet in fleets)
    claim = moved(task.file)
    law = DiscreteLaplace(task.terms.scale)
    declared = Declared(settings_of(law), l0=claim.l0, l1=float(claim.l1), linf=float(claim.linf))
    return compare(one, other, [declared], subject)


def paid(task: Task) -> Finding:
    """What all rounds together cost, against what is charged for them."""
    rounds = NoiseRounds.of(task)
    each = float(cost(rounds.one.event).rho)
    claimed = float(cost(rounds.event).rho) * (1 + 1e-12)
    return Finding(Tier.EXACT, "all rounds", "rho", claimed, task.file.rounds.n * each)


def alone(task: Task) -> Finding:
    """How likely a group is shown that one device alone is in."""
    one, answers = NoiseRounds.of(task).one, task.file.question.answers
    found = chance_to_leave(one, [1] * answers) if isinstance(one, LaplaceThreshold) else 0.0
    claimed = float(task.terms.delta) / task.file.rounds.n
    return Finding(Tier.EXACT, f"{answers} groups of one device", "delta", claimed, found)


def told_again(task: Task) -> Finding:
    """How many different counts of one round can be had by asking again."""
    with tempfile.TemporaryDirectory() as folder:
        box = KeyBox(f"{folder}/keys")
        drawn = (core.Shown(task.id, 0, 0, noisy(task, {"a": 7})) for _ in range(4))
        told = {box.once(task.id, 0, one.to_bytes()) for one in drawn}
    return Finding(Tier.EXACT, "asked four times", "counts of one round", 1, len(told))


ONE, TWO = task_of(1), task_of(2)
LISTED = task_of(2, KNOWN)
ODD = odd_one(5, ("a",), ("a",), ("b",))
PAIRS: dict[str, tuple[Task, tuple[Fleet, Fleet]]] = {
    "found, exchanged": (ONE, ODD),
    "found, alone": (ONE, odd_one(5, ("a",), ("z",), (None,))),
    "found, two answers": (TWO, odd_one(4, ("a", "b"), ("c", "d"), ("a", "b"))),
    "found, one answer twice": (TWO, odd_one(4, ("a", "b"), ("a", "a"), ("b", "b"))),
    "listed, two answers": (LISTED, odd_one(4, ("a", "b"), ("c", "d"), ("e", "f"))),
    "listed, one that is not on the list": (
        LISTED,
        odd_one(4, ("a", "b"), ("A", None), ("e", "f")),
    ),
}


def examined(swap: Swap) -> Callable[[Effort], Sequence[Finding]]:
    """All findings of one variant."""

    def found(_: Effort) -> Sequence[Finding]:
        with swap():
            findings = [
                one for name, (task, pair) in PAIRS.items() for one in compared(task, pair, name)
            ]
            for task in (ONE, TWO, LISTED):
                findings += [paid(task), alone(task)]
            return [*findings, told_again(LISTED)]

    return found


def other(change: Callable[[Any], Any]) -> Swap:
    """Rounds whose mechanism is another than the terms say."""
    shipped = NoiseRounds.of

    def made(task: Task) -> NoiseRounds:
        rounds = shipped(task)
        return replace(rounds, one=change(rounds.one))

    return lambda: swapped(NoiseRounds, "of", made)


def without_threshold(one: Laplace | LaplaceThreshold) -> Any:
    """Groups that are found, shown as if they were on a list."""
    return one if isinstance(one, Laplace) else replace(one, threshold=one.max_rows)


ONE_ROUND = property(lambda rounds: Rounds((rounds.one.event,), Fraction(1)))
TRIAL = Trial(
    "fleet_noise",
    (
        Case("as shipped", examined(nullcontext), is_mutant=False),
        Case("half the noise", examined(other(lambda one: replace(one, scale=one.scale / 2)))),
        Case("no threshold for groups that are found", examined(other(without_threshold))),
        Case("a report that is posted twice counts twice", examined(every_report)),
        Case("an answer that is given twice is sent twice", examined(sent_again)),
        Case(
            "noise is drawn again at each count",
            examined(lambda: swapped(KeyBox, "once", lambda _, __, ___, shown: shown)),
        ),
        Case(
            "one round is paid for, of three",
            examined(lambda: swapped(NoiseRounds, "event", ONE_ROUND)),
        ),
    ),
)
