"""Trial of rounds of a fleet: every way that coins can fall, through the bytes that are sent.

Small fleets, so that all of it can be tried: what each device seals, what carriers see of it, and
what the core makes of it. Coins are tried and not drawn; all else is the code as it is shipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

from headcount.accounting.sampling.composed import composed_delta
from headcount.audit.divergence import delta_at
from headcount.audit.law import Law
from headcount.audit.verdict import Finding, Tier
from headcount.fleet import answering, core
from headcount.fleet.seal import public_key_of, seal
from headcount.fleet.task import LEAST_THRESHOLD, Task, Terms
from headcount.fleet.task_file import read_task
from headcount.fleet.wire import OVERHEAD, Descriptor, body
from headcount.privacy.neighbours import Neighbours
from headcount.trials.seam import swapped
from headcount.trials.trial import Case, Effort, Trial

KEY = bytes(range(1, 33))
RATE, THRESHOLD, EPSILON = Fraction(1, 2), LEAST_THRESHOLD + 1, 1.0
Answers = tuple[str | None, ...]
Fleet = Sequence[Answers]
Swap = Callable[[], AbstractContextManager[Any]]


def task_of(answers: int = 1, *, threshold: int = THRESHOLD, cover: bool = True) -> Task:
    """A task of one round."""
    file = read_task(
        {
            "task": "tried",
            "population": "phones",
            "owner": "an auditor",
            "purpose": "to be tried",
            "expires": "2027-03-01",
            "question": {"max_bytes": 8, "answers": answers},
            "rounds": {"every": "1d", "keep_open": "18h", "n": 1},
            "spend": {"account": "phones", "epsilon": 1},
            "cover": cover,
        }
    )
    terms = Terms(RATE, threshold, Fraction(1), Fraction(1, 100), Neighbours.REPLACE)
    return Task(file, terms)


@dataclass(frozen=True, slots=True)
class Variant:
    """How a fleet is tried: its task, how often a device flips, and by how many coins."""

    task: Task
    flips: int = 1
    one_coin: bool = False
    """Whether one coin decides about all answers of a device."""


def falls(fleet: Fleet, variant: Variant) -> Iterable[tuple[Fraction, list[list[bool]]]]:
    """Every way that the coins of a fleet can fall, with its chance."""
    answers = variant.task.file.question.answers
    per_device = 1 if variant.one_coin else answers
    n = len(fleet) * variant.flips
    for fall in product((True, False), repeat=n * per_device):
        chance = RATE ** sum(fall) * (1 - RATE) ** (len(fall) - sum(fall))
        each = [list(fall[i * per_device : (i + 1) * per_device]) for i in range(n)]
        yield chance, [coins * answers if variant.one_coin else coins for coins in each]


def law_of(fleet: Fleet, variant: Variant) -> Law:
    """What can be seen of a round: by carriers how many reports of which length, and the counts."""
    task = variant.task
    descriptor = Descriptor(task.id, 0, 1, 2, public_key_of(KEY))

    @cache
    def report(name: int, body: bytes) -> bytes:
        if len(body) != descriptor.pad:
            return bytes(len(body) + OVERHEAD)
        return seal(descriptor, name.to_bytes(16, "big"), body)

    @cache
    def opened(one: bytes) -> core.Opened:
        return core.open_some(KEY, descriptor.hash, [one])

    def mapped(_: object, chunks: Iterable[list[bytes]]) -> Iterable[core.Opened]:
        # Each is opened once, however often it is tried.
        return ([pair for one in chunk for pair in opened(one)] for chunk in chunks)

    masses: dict[Any, Fraction] = {}
    for chance, coins in falls(fleet, variant):
        said = zip(list(fleet) * variant.flips, coins, strict=True)
        bodies = [body for one in said for body in answering.bodies(task, *one)]
        sent = [report(i, body) for i, body in enumerate(bodies) if body is not None]
        # Each report twice, in two cuts: an acknowledgement that was lost.
        shown = core.count(task, descriptor, KEY, [b"".join(sent), *sent], mapped)
        seen = shown.to_bytes(), tuple(sorted(map(len, sent)))
        masses[seen] = masses.get(seen, Fraction(0)) + chance
    return Law(masses)


def found(subject: str, fleets: tuple[Fleet, Fleet], variant: Variant) -> Finding:
    """The exact delta of two fleets that differ by what one device answers."""
    claimed = task_of(variant.task.file.question.answers)
    delta = composed_delta(float(RATE), THRESHOLD, EPSILON, Neighbours.REPLACE, claimed.n_samples)
    one, other = (law_of(fleet, variant) for fleet in fleets)
    return Finding(Tier.EXACT, subject, "delta", delta, delta_at(one, other, EPSILON).low)


def odd_one(n: int, others: Answers, odd: Answers, instead: Answers) -> tuple[Fleet, Fleet]:
    """Fleets of devices that all say one thing, and one that does not."""
    return [*([others] * n), odd], [*([others] * n), instead]


FLEETS: dict[str, tuple[Fleet, Fleet]] = {
    f"{n} others": odd_one(n, ("a",), ("a",), ("b",)) for n in (4, 5, 6, 7)
}
FLEETS["one alone"] = odd_one(7, ("a",), ("b",), (None,))
TWO = odd_one(6, ("a", "b"), ("a", None), (None, None))
AGAIN = odd_one(4, ("a", "a"), ("a", "a"), ("b", None))


def _tried(variant: Variant, fleets: dict[str, tuple[Fleet, Fleet]], swap: Swap) -> list[Finding]:
    with swap():
        return [found(subject, pair, variant) for subject, pair in fleets.items()]


def mutant(variant: Variant, swap: Swap = nullcontext, **fleets: Any) -> Callable[..., Any]:
    """An examination of a variant, on fleets of one answer a device or on others."""
    return lambda _: _tried(variant, fleets or FLEETS, swap)


def _as_shipped(effort: Effort) -> Sequence[Finding]:
    findings = _tried(Variant(task_of()), FLEETS, nullcontext)
    pairs = {"one answer twice": AGAIN}
    if effort is Effort.FULL:
        pairs["two answers"] = TWO
    return [*findings, *_tried(Variant(task_of(2)), pairs, nullcontext)]


def every_report() -> AbstractContextManager[None]:
    """A core that does not look at the ids of reports."""

    def counted(task: Task, opened: Iterable[Any]) -> Counter[str]:
        return Counter(value for some in opened for _, value in some if value is not None)

    return swapped(core, "_once_each", counted)


def with_size(tell: Callable[[int], tuple[tuple[str, int], ...] | None]) -> Swap:
    """A core in which the number of sampled reports decides, or is told."""
    count, once_each = core.count, core._once_each

    def counted(*given: Any) -> core.Shown:
        sampled: list[int] = []

        def noting(task: Task, opened: Iterable[Any]) -> Counter[str]:
            true_counts = once_each(task, opened)
            sampled.append(sum(true_counts.values()))
            return true_counts

        with swapped(core, "_once_each", noting):
            shown = count(*given)
        told = tell(sampled[0])
        return replace(shown, counts=() if told is None else (*shown.counts, *told))

    return lambda: swapped(core, "count", counted)


def short_abstention() -> AbstractContextManager[None]:
    """Abstentions that are shorter than answers."""
    return swapped(answering, "body", lambda value: b"\x01" * 4 if value is None else body(value))


def sent_again() -> AbstractContextManager[None]:
    """A device that sends each of its answers, also one that it gave before."""
    bodies = answering.bodies

    def each_alone(task: Task, said: Answers, coins: Sequence[bool]) -> list[bytes | None]:
        alone = (bodies(task, said[i : i + 1], [coin]) for i, coin in enumerate(coins))
        return [body for (body,) in alone]

    return swapped(answering, "bodies", each_alone)


ONE, BOTH = task_of(), task_of(2)
MANY = odd_one(9, ("a", "b"), ("a", None), (None, None))
SMALL = odd_one(4, ("a",), ("a",), ("b",))
TRIAL = Trial(
    "fleet",
    (
        Case("as shipped", _as_shipped, is_mutant=False),
        Case("threshold one too low", mutant(Variant(task_of(threshold=THRESHOLD - 1)))),
        Case("a report that is posted twice counts twice", mutant(Variant(ONE), every_report)),
        Case("a coin flipped again at a second try", mutant(Variant(ONE, flips=2), small=SMALL)),
        Case("one coin for two answers", mutant(Variant(BOTH, one_coin=True), many=MANY)),
        Case(
            "an answer that is given twice is sent twice",
            mutant(Variant(BOTH), sent_again, again=AGAIN),
        ),
        Case("abstentions that are shorter", mutant(Variant(ONE), short_abstention)),
        Case("no cover, as carriers see it", mutant(Variant(task_of(cover=False)))),
        Case(
            "a least number of sampled reports",
            mutant(Variant(ONE), with_size(lambda n: () if n >= 7 else None)),
        ),
        Case(
            "the number of sampled reports is told",
            mutant(Variant(ONE), with_size(lambda n: (("sampled", n),))),
        ),
    ),
)
