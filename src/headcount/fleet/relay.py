"""The relay: knows devices by their tokens, and tells nobody who they are.

It lets each device send its share of a round, takes its name off, mixes its report with others, and
answers when the ingest has it on disk. It has no database and no key, and keeps nothing: what it
knows of a round is in memory and is forgotten when the round closes, or the process ends.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headcount.errors import UsageError
from headcount.fleet.fresh import Fresh
from headcount.fleet.metrics import Uploads
from headcount.fleet.posts import REPORT
from headcount.fleet.refusals import BusyError
from headcount.fleet.relay_mix import DELAY_SECONDS, GATHER_SECONDS, Mix
from headcount.fleet.relay_once import Once
from headcount.fleet.task import task_from
from headcount.fleet.upload import LIST_SECONDS, Senders, noted
from headcount.fleet.wire import ID_BYTES, descriptor_from

if TYPE_CHECKING:
    from headcount.fleet.offer import Offer, Transport

POST_SECONDS = 8.0
"""That one post may take."""


@dataclass(frozen=True, slots=True)
class Open:
    """A round that is open, and how many reports a device sends in it."""

    offer: Offer
    answers: int
    has_cover: bool


class Relay:
    """Stands between devices and an ingest.

    ingest:  the way to it
    senders:  the devices that may ask
    watchers: who may see its metrics
    gather:   seconds that a post waits for more reports
    delay:    the most that it waits after that
    """

    most = REPORT

    def __init__(
        self,
        ingest: Transport,
        senders: Senders,
        watchers: Senders | None = None,
        *,
        gather: float = GATHER_SECONDS,
        delay: float = DELAY_SECONDS,
    ) -> None:
        self.senders: Senders | None = senders
        self.watchers, self.uploads = watchers, Uploads()
        self._ingest, self._once = ingest, Once()
        self._mix = Mix(ingest.post, gather, delay)
        self._rounds: Fresh[dict[bytes, Open]] = Fresh(self._listed, LIST_SECONDS)

    def _listed(self) -> dict[bytes, Open]:
        try:
            found = [_open(one) for one in self._ingest.descriptors()]
        except OSError:
            raise BusyError from None
        return dict(one for one in found if one is not None)

    async def offers(self) -> list[Offer]:
        """The rounds that are open."""
        rounds = await self._rounds.recent()
        self._once.keep(rounds, time.monotonic())
        return [one.offer for one in rounds.values()]

    async def take(self, sender: str, of: bytes, body: bytes) -> bool:
        """Whether the ingest has the report on disk; it has not where the round is over."""
        found = await self._found(of)
        if found is None:
            return False
        # From here on nothing has the sender's name but a hash of it.
        job = self._once.send(
            of,
            sender,
            body[:ID_BYTES],
            found.answers,
            lambda: self._mix.send(found.offer.descriptor, body),
        )
        # Without cover, how many reports there are is how many were sampled.
        return await (noted(job, self.uploads, body) if found.has_cover else job)

    async def _found(self, of: bytes) -> Open | None:
        try:
            rounds = await self._rounds.recent()
        except BusyError:
            # An ingest that is away may be back before a post is given up.
            rounds = self._rounds.last or {}
            if of not in rounds:
                raise
        if of not in rounds:
            # The ingest's own list may be as old, and a device gives up a round that is over.
            await asyncio.sleep(LIST_SECONDS)
            rounds = await self._rounds.now()
        self._once.keep(rounds, time.monotonic())
        return rounds.get(of)

    def stop(self) -> None:
        """Wait for no further reports."""
        self._mix.hurry()


def _open(offer: Offer) -> tuple[bytes, Open] | None:
    """A round by its hash; nothing where it is of a version that is not known here."""
    try:
        task, described = task_from(offer.task), descriptor_from(offer.descriptor)
    except UsageError:
        return None
    return described.hash, Open(offer, task.file.question.answers, task.file.cover)
