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
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from headcount.contributions.store import Store
from headcount.errors import EngineError, HeadcountError, LedgerError
from headcount.mechanisms.chance import Drawn
from headcount.privacy.unit import User
from headcount.releases.promised import facts_of, guarantee_of
from headcount.releases.request import Request
from headcount.releases.session import Answer, Session
from headcount.releases.signing import Signer
from headcount.releases.stages import Progress, Stages
from headcount.results.release import Release
from headcount.stops import heeding_stops, raise_if_stopped, without_history

if TYPE_CHECKING:
    from headcount.ledger.account import Account, Charge, Opening
    from headcount.ledger.ledger import Ledger
    from headcount.mechanisms.chance import Chance
    from headcount.privacy.event import Event
    from headcount.privacy.neighbours import Neighbours
    from headcount.tables.user_table import UserTable

log = logging.getLogger("headcount")

NEW_LEDGER = (
    "Account %r is the first in the new ledger %s. A new ledger does not know what was spent on "
    "the same people elsewhere. If another ledger or another machine has an account for them, use "
    "that ledger."
)
ReadAndDraw = Callable[[Session], Answer]
CHARGING, READING, STORED = "charging the ledger", "reading the table", "the result is stored"


def new_secret() -> bytes:
    """A key that nobody knows."""
    return secrets.token_bytes(32)


class Entropy(NamedTuple):
    """Where noise, choices and the secret of a release come from."""

    chance: Chance
    new_key: Callable[[], bytes]


SYSTEM_ENTROPY = Entropy(Drawn(), new_secret)


class Checked(NamedTuple):
    """What a source is at one moment: files may have been written since it was opened.

    covers:  what a charge for it covers
    files:   the files that hold its rows, by their numbers
    """

    covers: tuple[str, ...]
    files: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """What a verb hands to the door: the price, and a function that reads and draws.

    ``read_and_draw`` takes what the door hands out. ``stages`` is all that it may say.
    """

    request: Request
    event: Event
    neighbours: Neighbours
    read_and_draw: ReadAndDraw
    stages: tuple[str, ...]
    table: UserTable
    """Its engine gives this release a connection of its own, and what that leaves ends with it."""
    account: Account
    """The account that pays, as it was when this was planned."""
    check: Callable[[], Checked]
    """Refuses a source that is another by now, or another account's: files and links are moved,
    and others open accounts."""

    def charged(self, ledger: Ledger, opening: Opening, *, key: str, fresh: bool) -> Charge:
        """Charge for it, or find what was charged before."""
        return ledger.charge(
            opening,
            key=key,
            fresh=fresh,
            request_hash=self.request.hash,
            verb=self.request.verb,
            event=self.event,
            neighbours=self.neighbours,
            about=self.request.about(),
        )

    def released(self, answer: Answer, entry: int) -> Release:
        """The rows with everything public about them; the cost is that in the account."""
        guarantee = guarantee_of(
            User(self.table.user),
            self.account,
            self.event,
            self.neighbours,
            vouched=dict(self.table.said).get("trusted_view"),
        )
        verb, account, question = self.request.verb, self.account.name, self.request
        facts = facts_of(
            *(answer, guarantee, verb, account, entry), question.asked(), question.settled()
        )
        return Release(answer.rows, facts, answer.withheld)


def run(
    work: Work,
    ledger: Ledger,
    opening: Opening,
    *,
    key: str | None,
    fresh: bool,
    progress: Progress,
    entropy: Entropy,
) -> Release:
    """Perform one release, or show again what the same question was answered with before.

    What is dangerous is handed out here alone: ``entropy`` is the system's, and an auditor's for
    the release that it makes.
    """
    question = work.request.hash
    known = ledger.known(opening.account.name, question, key=key, fresh=fresh)
    if known is not None:
        _refuse_unpaid(work, known)
        if known.result is not None:
            return _again(known, key, ledger)
    stages = Stages((CHARGING, READING, *work.stages, STORED), progress)
    # Opened first: a server that refuses a connection does so before anything is charged.
    engine = work.table.engine
    with heeding_stops():
        with engine.session(), Store(engine) as store:
            stages(CHARGING)
            # Last before the charge: whoever is told of a stage may take their time.
            checked = work.check()
            opening = replace(opening, covers=checked.covers)
            # One that was cut short is drawn again under its own key, and no other.
            own = key or (uuid.uuid4().hex if known is None else known.key)
            charge = work.charged(ledger, opening, key=own, fresh=fresh)
            _refuse_unpaid(work, charge)
            if charge.result is not None:
                return _again(charge, key, ledger)
            _log(charge, key, ledger, opening)
            stages(READING)
            session = Session(entropy.chance, entropy.new_key(), store, stages)
            payload = _withholding_engine_errors(work, session, stages, charge.sequence, checked)
        # Dropping tables may have lost one: whoever stopped a release sees no rows of it.
        raise_if_stopped()
        stored = ledger.store_result(charge.sequence, payload)
        stages(STORED)
        # Whether it is what was drawn here is nobody's to know [O2]: another may have been first.
        return Release.from_bytes(stored, key=charge.key, signer=Signer(ledger, charge.sequence))


def _log(charge: Charge, key: str | None, ledger: Ledger, opening: Opening) -> None:
    if key not in (None, charge.key):
        log.warning("entry %d: %s", charge.sequence, _not_used(charge, key))
    how = "charged" if charge.is_new else "charged before, and drawn now"
    log.info("entry %d of account %r: %s", charge.sequence, opening.account.name, how)
    if charge.opened_account:
        # It was charged: what only tells of it must not end it.
        with suppress(HeadcountError):
            if len(ledger.accounts()) == 1:
                log.warning(NEW_LEDGER, opening.account.name, ledger.address)


def _refuse_unpaid(work: Work, charge: Charge) -> None:
    """Draw and show under an old charge only what it paid for [O2]; others may have written it."""
    if charge.paid_for not in (None, (work.event, work.neighbours)):
        raise LedgerError(
            f"Entry {charge.sequence}, of the key {charge.key!r}, was charged for this question "
            "and paid for something else than the question needs. Nothing was read and nothing "
            "was charged. fresh=True, under a new key, charges again."
        )


def _again(charge: Charge, key: str | None, ledger: Ledger) -> Release:
    log.info("entry %d: shown again, no charge", charge.sequence)
    assert charge.result is not None  # noqa: S101  asked before
    words = (
        f"{charge.named}, of the table as it was then; fresh=True draws new rows and charges again"
    )
    if key not in (None, charge.key):
        words = f"{words}. {_not_used(charge, key)}"
    signer = Signer(ledger, charge.sequence)
    return Release.from_bytes(charge.result, key=charge.key, again=words, signer=signer)


def _not_used(charge: Charge, key: str | None) -> str:
    """What a key is told that names no entry, because its question was charged before."""
    return (
        f"The key {key!r} was not used: this question was first charged under the key "
        f"{charge.key!r}, and again={charge.key!r} shows these rows by it"
    )


def _withholding_engine_errors(
    work: Work, session: Session, stages: Stages, entry: int, checked: Checked
) -> bytes:
    # After the first read an exception may quote private rows, in its text or in its cause.
    # Raising outside the handler leaves no link to it.
    payload = stopped = None
    try:
        drawn = work.released(work.read_and_draw(session), entry).to_bytes()
        # What was read is what was charged for, or else nobody sees it.
        if work.check().files != checked.files:
            raise EngineError
        # Said here, so that a caller who stops the release at a stage finds it in the same state
        # and with the same error, whether or not the draw came by that stage.
        stages.until(STORED)
        payload = drawn
    except Exception:
        payload = None
    except BaseException as error:
        stopped = error
    if stopped is not None:
        # Where it was raised would say which way the release took inside.
        raise without_history(stopped)
    raise_if_stopped()
    if payload is None:
        log.warning("entry %d: the engine failed; what it reported is withheld", entry)
        raise EngineError
    return payload
