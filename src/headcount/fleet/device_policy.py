"""What a device itself allows, before it works out an answer: the owner's word is not enough.

A task says who asks, how often, and what it costs; a device holds that against limits of its own,
and adds up what all tasks together cost it. Whether it takes part depends on the task, on what it
took part in before, and on its clock. It never depends on what it would answer.

An owner signs rounds. Where the device pins keys, a round that none of its owner's keys signed is
not answered; without, an owner is known by name alone, as the carrier of the offer says it.
``is_genuine`` is where further evidence goes: it is handed every offer, and what it does not take
is not answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from functools import cached_property
from typing import Any

from headcount.accounting.convert import zcdp_of
from headcount.errors import UsageError
from headcount.fleet.device_evidence import Attested
from headcount.fleet.device_price import is_understated
from headcount.fleet.offer import Offer, is_public, is_signed
from headcount.fleet.task import LARGEST_THRESHOLD, LEAST_THRESHOLD, Task
from headcount.fleet.task_file import MOST_DAYS, MOST_SAMPLES, NOISE, SAMPLE
from headcount.fleet.wire import Descriptor
from headcount.privacy.argument import flag, real, whole
from headcount.privacy.budget import Budget
from headcount.privacy.exact import Number
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp

DAY = 86_400
SKEW = 300
"""Seconds that a device's clock may be behind. Whether a round is open its server knows."""


@dataclass(frozen=True)
class Policy:
    """The limits of one device.

    owners:        whom it answers, word for word as their tasks say it
    max_epsilon:   for all tasks together that it answers within ``per_days`` days
    max_delta:     the same for delta; half of it is for thresholds
    min_threshold: the fewest devices whose answer may be shown
    max_rate:      the largest chance that an answer is sampled
    max_answers:   how many answers a task may sample, in all of its rounds together
    needs_cover:   whether tasks without cover are refused, where carriers see who was sampled
    is_genuine:    a further check of what travels beside a task; none where it is left out
    keys:          the public keys of each owner, by name: ``{"us@example.com": ["ed25519:..."]}``;
                   while one is exchanged for another, both
    attested:      the evidence that the core must show; it needs ``keys``, since owners sign which
                   code is allowed
    methods:       how answers are counted: ``"sample"``, of which a share reaches the core, and
                   ``"noise"``, of which all do
    """

    owners: Sequence[str]
    max_epsilon: Number = 2
    max_delta: Number = Fraction(1, 10**5)
    per_days: int = 30
    min_threshold: int = LEAST_THRESHOLD
    max_rate: Number = Fraction(2, 5)
    max_answers: int = MOST_SAMPLES
    needs_cover: bool = True
    is_genuine: Callable[[Offer], bool] | None = None
    keys: Mapping[str, Sequence[str]] | None = None
    attested: Attested | None = None
    methods: Sequence[str] = (SAMPLE,)

    def __post_init__(self) -> None:
        """Refuse limits that are none."""
        owners: Any = self.owners
        names = [owners] if isinstance(owners, str) else list(owners)
        if not names or not all(isinstance(one, str) and one for one in names):
            raise UsageError(
                "A policy names whom the device answers: owners=['fleet-analytics@example.com']. "
                "Nothing was sent."
            )
        object.__setattr__(self, "owners", tuple(names))
        whole(1, 3_660, "30")(self.per_days, "per_days")
        whole(LEAST_THRESHOLD, LARGEST_THRESHOLD, "5")(self.min_threshold, "min_threshold")
        whole(1, MOST_SAMPLES, "30")(self.max_answers, "max_answers")
        rate = real(Fraction(1, 1 << 40), Fraction(1, 2), "0.4")(self.max_rate, "max_rate")
        object.__setattr__(self, "max_rate", rate)
        flag(self.needs_cover, "needs_cover")
        object.__setattr__(self, "keys", None if self.keys is None else _pinned(self.keys, names))
        if self.attested is not None and (
            self.keys is None or not isinstance(self.attested, Attested)
        ):
            raise UsageError(
                "attested=Attested(kind='test', root='sha256:...') needs keys=: an owner signs "
                "which code is allowed. Nothing was sent."
            )
        if isinstance(self.methods, str) or not set(self.methods) <= {SAMPLE, NOISE}:
            raise UsageError("methods are of 'sample' and 'noise', in a list. Nothing was sent.")
        _ = self.limit

    @cached_property
    def limit(self) -> Zcdp:
        """What all tasks together may cost the device within its days."""
        return zcdp_of(Budget(epsilon=self.max_epsilon, delta=self.max_delta))

    def window(self, now: int) -> int:
        """The time from which on what was answered counts."""
        return now - self.per_days * DAY

    def refusal(self, offer: Offer, task: Task, round_: Descriptor, now: int) -> str | None:
        """Why the device does not answer this round, or nothing where it may."""
        if self.is_genuine is not None and not self.is_genuine(offer):
            return "what came with the task does not prove that it is its owner's"
        if self.keys is not None and not self._is_signed(offer, task):
            return "the round is not signed by a key of its owner's that the device pins"
        return self._of_owner(task, now) or self._of_terms(task) or _of_round(task, round_, now)

    def keys_of(self, owner: str) -> tuple[str, ...]:
        """The keys of an owner that the device pins."""
        return tuple((self.keys or {}).get(owner, ()))

    def _is_signed(self, offer: Offer, task: Task) -> bool:
        return any(is_signed(key, offer) for key in self.keys_of(task.file.owner))

    def _of_owner(self, task: Task, now: int) -> str | None:
        if task.file.owner not in self.owners:
            return f"the device does not answer {task.file.owner!r}"
        days = (date.fromisoformat(task.file.expires) - _day(now)).days
        if days < 0:
            return f"the task ended on {task.file.expires}"
        if days > MOST_DAYS:
            return "the task goes on for more than a year"
        return None

    def _of_terms(self, task: Task) -> str | None:
        terms = task.terms
        if self.needs_cover and not task.file.cover:
            return "the task is without cover: carriers would see whether an answer was sampled"
        if terms.neighbours is not Neighbours.REPLACE:
            return "the task's price hides how many devices take part, which can be seen"
        if task.file.method not in self.methods:
            return f"the device answers no task of the method {task.file.method!r}"
        if terms.scale == 0:
            return self._of_sample(task)
        return self._of_price(task)

    def _of_sample(self, task: Task) -> str | None:
        terms = task.terms
        if terms.rate > Fraction(self.max_rate):
            return f"an answer would be sampled with chance {float(terms.rate):.4g}"
        if terms.threshold < self.min_threshold:
            return f"an answer of {terms.threshold} devices would be shown"
        return self._of_price(task)

    def _of_price(self, task: Task) -> str | None:
        terms = task.terms
        if task.n_samples > self.max_answers:
            return f"{task.n_samples:,} answers would be sampled"
        if terms.rho > self.limit.rho or terms.delta > self.limit.delta:
            return "the task costs more than the device allows itself"
        if is_understated(task):
            return "the task costs a device more than it says"
        return None


def _pinned(keys: Any, owners: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The keys of each owner, refused unless every owner has one that is a key."""
    given = keys if isinstance(keys, Mapping) else {}
    found = {name: _several(some) for name, some in given.items()}
    texts = [one for some in found.values() for one in some]
    if set(found) != set(owners) or not all(found.values()) or not all(map(is_public, texts)):
        raise UsageError(
            "keys names each owner with the public keys that the device pins: "
            "keys={'fleet-analytics@example.com': ['ed25519:...']}. Nothing was sent."
        )
    return found


def _several(keys: Any) -> tuple[str, ...]:
    some = [keys] if isinstance(keys, str) else keys
    return tuple(map(str, some)) if isinstance(some, list | tuple) else ()


def _of_round(task: Task, round_: Descriptor, now: int) -> str | None:
    if round_.task != task.id:
        return "the round is of another task"
    if round_.round >= task.file.rounds.n:
        return f"the task has {task.file.rounds.n} rounds, and this would be one more"
    if round_.closes - round_.opens > task.file.rounds.keep_open:
        return "the round is open for longer than the task says"
    if not round_.opens - SKEW <= now < round_.closes:
        return "the round is not open by the device's clock"
    return None


def _day(seconds: int) -> date:
    return datetime.fromtimestamp(seconds, UTC).date()
