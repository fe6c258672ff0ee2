"""The one door: charge, then read, then draw, then store, then release.

Nothing else in headcount reads private rows and nothing else shows a result. A crash between any
two steps wastes the charge; it cannot undo it, and it cannot show a result that was not paid for.
``run.md`` beside this file says why a release that was cut short may be drawn again.
"""

from __future__ import annotations

import logging
import secrets
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headcount.errors import EngineError, LedgerError
from headcount.releases.release import Release
from headcount.releases.request import Request
from headcount.releases.stages import Progress, Stages

if TYPE_CHECKING:
    from headcount.ledger.account import Charge, Opening
    from headcount.ledger.ledger import Ledger
    from headcount.privacy.event import Event
    from headcount.privacy.neighbours import Neighbours

log = logging.getLogger("headcount")

NEW_LEDGER = (
    "Account %r is the first in the new ledger %s. What was spent on the same people before, as "
    "another ledger or another machine has it, is not known here: if there is such a ledger, use "
    "that one."
)
ReadAndDraw = Callable[[bytes, int, Progress], Release]
CHARGING, READING, STORED = "charging the ledger", "reading the table", "the result is stored"


@dataclass(frozen=True, slots=True)
class Work:
    """What a verb hands to the door: the price, and a function that reads and draws.

    ``read_and_draw`` takes a fresh secret key, the number of the ledger entry, and where to say
    which stage it is in. ``stages`` is all that it may say.
    """

    request: Request
    event: Event
    neighbours: Neighbours
    read_and_draw: ReadAndDraw
    stages: tuple[str, ...]
    session: Callable[[], AbstractContextManager[None]]
    """A connection for this release alone; what it leaves on disk ends with it."""
    check: Callable[[], None]
    """Refuses a source that is another account's by now: links move, and others open accounts."""


def run(
    work: Work,
    ledger: Ledger,
    opening: Opening,
    *,
    key: str | None,
    fresh: bool,
    progress: Progress,
) -> Release:
    """Perform one release, or show again what the same question was answered with before."""
    question = work.request.hash
    known = ledger.known(opening.account.name, question, key=key, fresh=fresh)
    if known is not None:
        _refuse_unpaid(work, known)
        if known.result is not None:
            return _again(known, key)
    stages = Stages((CHARGING, READING, *work.stages, STORED), progress)
    # Opened first: a server that refuses a connection does so before anything is charged.
    with work.session():
        work.check()
        stages(CHARGING)
        charge = ledger.charge(
            opening,
            # One that was cut short is drawn again under its own key, not another of the question.
            key=key or (uuid.uuid4().hex if known is None else known.key),
            fresh=fresh,
            request_hash=question,
            verb=work.request.verb,
            event=work.event,
            neighbours=work.neighbours,
            about=work.request.about(),
        )
        _refuse_unpaid(work, charge)
        if charge.result is not None:
            return _again(charge, key)
        if key not in (None, charge.key):
            log.warning("entry %d: %s", charge.sequence, _not_used(charge, key))
        log.info("entry %d of account %r: charged", charge.sequence, opening.account.name)
        if charge.is_new and opening.budget is not None and len(ledger.accounts()) == 1:
            log.warning(NEW_LEDGER, opening.account.name, ledger.address)
        stages(READING)
        payload = _withholding_engine_errors(work, charge.sequence, stages)
    stored = ledger.store_result(charge.sequence, payload)
    stages(STORED)
    return Release.from_bytes(stored, key=charge.key)


def _refuse_unpaid(work: Work, charge: Charge) -> None:
    """Draw and show under an old charge only what it paid for [O2]; others may have written it."""
    if charge.paid_for not in (None, (work.event, work.neighbours)):
        raise LedgerError(
            f"Entry {charge.sequence}, of the key {charge.key!r}, was charged for this question "
            "and paid for something else than the question needs. Nothing was read and nothing "
            "was charged. fresh=True, under a new key, charges anew."
        )


def _again(charge: Charge, key: str | None) -> Release:
    log.info("entry %d: shown again, no charge", charge.sequence)
    assert charge.result is not None  # noqa: S101  asked before
    words = f"{charge.named}; fresh=True draws and charges anew"
    if key not in (None, charge.key):
        words = f"{words}. {_not_used(charge, key)}"
    return Release.from_bytes(charge.result, key=charge.key, again=words)


def _not_used(charge: Charge, key: str | None) -> str:
    """What a key is told that names no entry, because its question was charged before."""
    return (
        f"The key {key!r} was not used: this question was first charged under the key "
        f"{charge.key!r}, and again={charge.key!r} shows these rows by it"
    )


def _withholding_engine_errors(work: Work, sequence: int, stages: Stages) -> bytes:
    # After the first read an exception may quote private rows, in its text or in its cause.
    # Raising outside the handler leaves no link to it.
    payload = None
    try:
        drawn = work.read_and_draw(secrets.token_bytes(32), sequence, stages).to_bytes()
        # Said here, so that a caller who stops the release at a stage finds it in the same state
        # and with the same error, whether or not the draw came by that stage.
        stages.until(STORED)
        payload = drawn
    except Exception:
        log.warning("entry %d: the engine failed; what it reported is withheld", sequence)
    if payload is None:
        raise EngineError
    return payload
