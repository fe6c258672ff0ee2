"""The ingest: reports over HTTP into the database, and open rounds out of it.

It has no key and can open nothing. A post is one row, whoever sends it and however often, and is
acknowledged when it is on disk.
"""

from __future__ import annotations

from headcount.fleet.allowed import Entry
from headcount.fleet.fresh import Fresh
from headcount.fleet.intake import Intake
from headcount.fleet.metrics import Uploads
from headcount.fleet.offer import Offer
from headcount.fleet.posts import MOST_BYTES
from headcount.fleet.store import FleetStore, Round
from headcount.fleet.upload import LIST_SECONDS, Senders, noted


class Ingest:
    """Takes posts for one database.

    senders:  the relays that may ask; everybody who reaches it where there is none
    watchers: who may see its metrics
    """

    most = MOST_BYTES

    def __init__(
        self,
        store: FleetStore,
        senders: Senders | None = None,
        watchers: Senders | None = None,
    ) -> None:
        self.senders, self.watchers, self.uploads = senders, watchers, Uploads()
        self._intake = Intake(store)
        self._rounds: Fresh[dict[bytes, Round]] = Fresh(
            lambda: {one.descriptor.hash: one for one in store.open_rounds()}, LIST_SECONDS
        )
        self._log: Fresh[tuple[Entry, ...]] = Fresh(lambda: tuple(store.allowed()), LIST_SECONDS)

    async def offers(self) -> list[Offer]:
        """The rounds that are open."""
        log: tuple[Entry, ...] = ()
        rounds = await self._rounds.recent()
        if any(one.evidence for one in rounds.values()):
            log = await self._log.recent()
        return [
            Offer(one.task.spelled, one.descriptor.spelled, one.proof, one.evidence, log)
            for one in rounds.values()
        ]

    async def take(self, sender: str, of: bytes, body: bytes) -> bool:
        """Whether the reports are on disk; they are not where the round is over."""
        # One that was opened a moment ago is none that is over: a device would give it up.
        found = (await self._rounds.recent()).get(of) or (await self._rounds.now()).get(of)
        if found is None:
            return False
        job = self._intake.post(found.id, body)
        # Without cover, how many reports there are is how many were sampled.
        return await (noted(job, self.uploads, body) if found.task.file.cover else job)

    def stop(self) -> None:
        """Nothing waits here for anything but the database."""
