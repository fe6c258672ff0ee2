"""The one door: charge, then read, then draw, then store, then release.

Nothing else in headcount reads private rows and nothing else shows a result. A crash between any
two steps wastes the charge; it cannot undo it, and it cannot show a result that was not paid for.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headcount.errors import EngineError
from headcount.releases.release import Release
from headcount.releases.request import Request

if TYPE_CHECKING:
    from headcount.ledger.ledger import Ledger
    from headcount.privacy.event import Event
    from headcount.privacy.neighbours import Neighbours

log = logging.getLogger("headcount")

Progress = Callable[[str], None]
ReadAndDraw = Callable[[bytes, int, Progress], Release]


@dataclass(frozen=True, slots=True)
class Work:
    """What a verb hands to the door: the price, and a function that reads and draws.

    ``read_and_draw`` takes a fresh secret key, the number of the ledger entry, and where to say
    which stage it is in. A stage's name is public: it never says what was found.
    """

    request: Request
    event: Event
    neighbours: Neighbours
    read_and_draw: ReadAndDraw
    finish: Callable[[], None]
    """Removes what reading has put on disk."""


def run(work: Work, ledger: Ledger, account: str, key: str, progress: Progress) -> Release:
    """Perform one release, or show again what the same key and request released before."""
    progress("charging the ledger")
    charge = ledger.charge(
        account,
        key=key,
        request_hash=work.request.hash,
        verb=work.request.verb,
        event=work.event,
        neighbours=work.neighbours,
        about=_about(work.request),
    )
    if charge.result is not None:
        log.info("entry %d of account %r: shown again, no charge", charge.sequence, account)
        return Release.from_bytes(charge.result)
    log.info("entry %d of account %r: charged", charge.sequence, account)
    progress("reading the table")
    release = _withholding_engine_errors(work, charge.sequence, progress)
    progress("storing the result")
    return Release.from_bytes(ledger.store_result(charge.sequence, release.to_bytes()))


def _about(request: Request) -> dict[str, str]:
    """A request in words, for whoever reads the ledger; all of it is public."""
    words = {name: _spelled(value) for name, value in request.arguments if value is not None}
    words.pop("event", None)
    return {"source": request.source, "user": request.user, **words}


def _spelled(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _withholding_engine_errors(work: Work, sequence: int, progress: Progress) -> Release:
    # After the first read an exception may quote private rows, in its text or in its cause.
    # Raising outside the handler leaves no link to it.
    release = None
    try:
        release = work.read_and_draw(secrets.token_bytes(32), sequence, progress)
    except Exception:
        log.warning("entry %d: the engine failed; what it reported is withheld", sequence)
    finally:
        with suppress(Exception):
            work.finish()
    if release is None:
        raise EngineError
    return release
