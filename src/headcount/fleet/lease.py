"""A round that one driver counts while it lives: a lease with a heartbeat, and a number on it.

Leases end by the server's clock. A driver that was frozen past its own wakes up with an old number:
it reads no further, stores nothing, and cannot finish the round.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from threading import Event, Thread
from types import TracebackType

from headcount.errors import FleetError
from headcount.fleet.store import FleetStore, Round


class LostLeaseError(FleetError):
    """Another driver has the round by now."""

    def __init__(self) -> None:
        super().__init__(
            "Another driver counts this round, or finished it, since this one was away for longer "
            "than its lease. Nothing was stored here. What the round shows is in the ledger."
        )


class Lease:
    """Keeps a round while a block lasts."""

    def __init__(self, store: FleetStore, held: Round, seconds: float) -> None:
        self.held = held
        self._store, self._seconds = store, seconds
        self._over, self._lost = Event(), Event()
        self._thread = Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Lease:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def check(self) -> None:
        """Refuse to go on with a round that is somebody else's by now."""
        if self._lost.is_set() or not self._store.holds(self.held):
            raise LostLeaseError

    def posts(self) -> Iterator[bytes]:
        """All posts of the round, in the order of their digests, as long as it is ours.

        Looked after each page, also the last: posts are dropped only after a round is finished, so
        that none were missing from a page while the round was still to be counted.
        """
        after = b""
        while True:
            page = self._store.page(self.held.id, after)
            self.check()
            if not page:
                return
            yield from (body for _, body in page)
            after = page[-1][0]

    def _beat(self) -> None:
        while not self._over.wait(self._seconds / 3):
            # A server that is away is asked again; without a beat the lease ends by itself.
            with suppress(FleetError):
                if not self._store.beat(self.held, self._seconds):
                    self._lost.set()
                    return
