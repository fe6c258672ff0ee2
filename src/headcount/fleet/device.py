"""A device that answers a fleet: it polls, decides, answers, seals, keeps, and sends until taken.

The order of one round is fixed, and each step is on disk before the next begins:

1. the device's own :class:`~headcount.fleet.device_policy.Policy`, evidence of the core, and
   consent, from public facts;
2. the task's price is noted against the device's own budget;
3. the answer is worked out, then the coins, and both are sealed;
4. the sealed reports are kept: the first of a round are the only ones there will ever be [FL9];
5. they are sent, byte for byte the same, until the other side has them on disk.

So a device that is killed anywhere, or runs twice at once, sends one set of reports in a round.
What ``run_once`` returns and what ``explain`` says depend on no coin.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from headcount.errors import HeadcountError, UsageError
from headcount.fleet.answering import reports
from headcount.fleet.device_answers import Said, Source, answers_of, calling, selecting
from headcount.fleet.device_evidence import unattested
from headcount.fleet.device_policy import DAY, Policy
from headcount.fleet.device_rows import Kept
from headcount.fleet.device_store import DeviceStore
from headcount.fleet.device_words import explained
from headcount.fleet.offer import Offer, Transport
from headcount.fleet.seal import seal
from headcount.fleet.task import Task, task_from
from headcount.fleet.wire import ID_BYTES, Descriptor, body, descriptor_from, report_id

MOST_OFFERS = 100
"""That are looked at in one run."""
UNREACHED = (OSError, HeadcountError)
BUSY = "another run is under way"
SENT, KEPT, OVER = "sent", "sealed, and will be sent again", "the round is over"
WITHDRAWN = "sealed, and not sent since consent was withdrawn"


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of one round in one run; of no coin and of no answer."""

    task: str
    round: int | None
    said: str


class Device:
    """One device, with a folder of its own.

    transport: the way to the fleet
    store:     a folder that is the device's alone, and in no backup
    policy:    the device's own limits
    clock:     seconds since 1970
    """

    def __init__(
        self,
        transport: Transport,
        store: str | Path,
        policy: Policy,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._transport, self._policy, self._clock = transport, policy, clock
        self._store = DeviceStore(store)
        self._sources: dict[str, Source] = {}

    # What the app says

    def answers(self, task: str) -> Callable[[Callable[[], Said]], Callable[[], Said]]:
        """Let a function answer the task of this name; ``None`` abstains."""

        def named(function: Callable[[], Said]) -> Callable[[], Said]:
            self._name(task, calling(function))
            return function

        return named

    def answers_from(self, task: str, database: str | Path) -> None:
        """Let the SELECT of the task of this name answer it, over a file of SQLite."""
        self._name(task, selecting(database))

    def _name(self, task: str, source: Source) -> None:
        if task in self._sources:
            raise UsageError(f"The task {task!r} is answered twice. Name it once.")
        self._sources[task] = source

    def consent(self, purpose: str, given: bool = True) -> None:
        """Note that whoever uses the device agrees to a purpose, word for word; or does no longer.

        Without, nothing is worked out and nothing is sent; before the first, nobody is asked.
        """
        with self._store.locked(wait=True):
            self._store.consent(purpose, given, self._now())

    def forget(self) -> None:
        """Destroy the secret, sealed reports and consents. Nothing of them is ever sent.

        What is left says of each task that was answered its hash, its price and when. The device
        never answers these again, since a new secret would flip their coins anew; and what they
        cost still counts. Tasks that it never answered it may answer, once somebody agrees again.
        """
        with self._store.locked(wait=True):
            self._store.forget()

    def explain(self, task: str | None = None) -> str:
        """Who asks what, why and until when; what was sent; what it costs the device."""
        known = explained(self._store, self._policy, self._now(), task)
        source = self._sources.get(task) if task is not None else None
        if task is None or source is None:
            return known
        asked = [one for one in map(_task, self._spellings()) if one and one.file.task == task]
        would = [f"It would say now: {_shown(answers_of(source, one))}." for one in asked[:1]]
        return "\n".join([known, *would])

    def _spellings(self) -> list[bytes]:
        return [spelled for spelled, _ in self._store.heard()]

    # One run

    def run_once(self) -> list[Ran]:
        """Poll and answer what is open, and send what waits. Safe at any rate and at any time."""
        with self._store.locked(wait=False) as alone:
            if not alone:
                return [Ran("", None, BUSY)]
            found = [self._send_again(one) for one in self._store.waiting()]
            if not self._store.has_any_consent():
                return [*found, Ran("", None, "nobody agreed to anything, and nothing was asked")]
            try:
                offers = list(islice(self._transport.descriptors(), MOST_OFFERS))
            except UNREACHED:
                return [*found, Ran("", None, "the fleet could not be reached")]
            return found + self._answer_all(offers)

    def _answer_all(self, offers: Iterable[Offer]) -> list[Ran]:
        found: list[Ran] = []
        heard: list[tuple[Task, str]] = []
        for offer in offers:
            task, round_ = _task(offer.task), _round(offer.descriptor)
            if task is None or round_ is None:
                found.append(Ran("", None, "what was offered is no round of a task"))
                continue
            if task.file.task not in self._sources:
                continue
            ran = self._answer(offer, task, round_)
            if ran is not None:
                found.append(ran)
                heard.append((task, ran.said))
            else:
                heard.append((task, "answered"))
        self._store.hear(heard, self._now())
        return found

    def _answer(self, offer: Offer, task: Task, round_: Descriptor) -> Ran | None:
        """What becomes of a round; nothing where it was answered before."""
        name, now = task.file.task, self._now()
        policy = self._policy
        refused = policy.refusal(offer, task, round_, now)
        if refused is None:
            keys = policy.keys_of(task.file.owner)
            given = (policy.attested, keys, self._store, offer, task, round_, now)
            refused = unattested(*given)
        if refused is None and not self._store.has_consent(task.file.purpose):
            refused = f"nobody agreed to the purpose {task.file.purpose!r}"
        if refused is not None:
            return Ran(name, round_.round, refused)
        # Whatever its key is now: a round is answered once.
        if self._store.kept(task.id, round_.round):
            return None
        if not _is_key(round_):
            return Ran(name, round_.round, "nothing can be sealed for the round's key")
        secret = self._store.secret()
        window = self._policy.window(now)
        refused = self._store.pay(task, secret, self._policy.limit, window, now)
        if refused is not None:
            return Ran(name, round_.round, refused)
        sealed = self._sealed(task, round_, secret)
        return self._send(name, self._store.keep(round_, sealed, now))

    def _sealed(self, task: Task, round_: Descriptor, secret: bytes) -> list[bytes]:
        said = answers_of(self._sources[task.file.task], task)
        names = [report_id(secret, round_.hash, i) for i in range(task.file.question.answers)]
        return reports(task, round_, secret, said, names)

    def _send_again(self, kept: Kept) -> Ran:
        """Send what an earlier run sealed, unless whoever agreed to it does no longer."""
        spelled = next((one.spelled for one in self._store.paid() if one.task == kept.task), b"")
        task = _task(spelled)
        if task is None or not self._store.has_consent(task.file.purpose):
            self._store.end(kept, "withdrawn")
            return Ran("" if task is None else task.file.task, kept.round, WITHDRAWN)
        return self._send(task.file.task, kept)

    def _send(self, name: str, kept: Kept) -> Ran:
        """Send what is kept, one report at a time, until all of it is on disk over there."""
        for i, report in enumerate(kept.waiting(), kept.n_taken + 1):
            try:
                is_taken = self._transport.post(kept.descriptor, report)
            except UNREACHED:
                if self._now() < descriptor_from(kept.descriptor).closes + DAY:
                    return Ran(name, kept.round, KEPT)
                is_taken = False
            if not is_taken:
                self._store.end(kept, "over")
                return Ran(name, kept.round, OVER)
            self._store.taken(kept, i)
        if not kept.n_reports:
            self._store.end(kept, "taken")
        return Ran(name, kept.round, SENT)

    def _now(self) -> int:
        return int(self._clock())


def _task(spelled: bytes) -> Task | None:
    try:
        return task_from(spelled)
    except UsageError:
        return None


def _round(spelled: bytes) -> Descriptor | None:
    try:
        return descriptor_from(spelled)
    except UsageError:
        return None


def _is_key(round_: Descriptor) -> bool:
    """Whether anything can be sealed for a round: some keys are none, whatever is sealed."""
    try:
        seal(round_, bytes(ID_BYTES), body(None))
    except ValueError:
        return False
    return True


def _shown(answers: list[str | None]) -> str:
    said = [repr(one) for one in answers if one is not None]
    return ", ".join(said) if said else "nothing, and abstain"
