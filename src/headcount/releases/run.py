"""The one door: charge, then read, then draw, then store, then release.

Nothing else in headcount reads private rows and nothing else shows a result. A crash between any
two steps wastes the charge; it cannot undo it, and it cannot show a result that was not paid for.
``run.md`` beside this file says why a release that was cut short may be drawn again.
"""

from __future__ import annotations

import logging
import secrets
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from headcount.contributions.store import Store
from headcount.errors import EngineError, HeadcountError, LedgerError, UsageError
from headcount.ledger.presence import presence_words
from headcount.mechanisms.chance import Drawn
from headcount.releases.promised import facts_of, guarantee_of
from headcount.releases.request import Request
from headcount.releases.session import Answer, Session
from headcount.releases.signing import Signer
from headcount.releases.stages import Progress, Stages
from headcount.releases.wide.wide import To, Wide
from headcount.releases.windows import of_one_window, unit_of
from headcount.results.release import Release
from headcount.results.wide import Place, WideRelease, is_wide
from headcount.stops import heeding_stops, raise_if_stopped, without_history

if TYPE_CHECKING:
    from headcount.ledger.account import Account, Charge, Opening
    from headcount.ledger.ledger import Ledger
    from headcount.mechanisms.chance import Chance
    from headcount.privacy.event import Event
    from headcount.privacy.neighbours import Neighbours
    from headcount.releases.wide.place import Staging
    from headcount.results.paid import Paid
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
    """The account that pays, as it was when this was planned; of one with windows, as the scarcest
    of those has it that the table's rows are in."""
    whole: Account
    """The account itself."""
    check: Callable[[], Checked]
    """Refuses a source that is another by now, or another account's: files and links are moved,
    and others open accounts."""
    wide: Wide | None = None
    """How the rows go to files, where each is drawn by itself."""

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

    def released(self, answer: Answer, entry: int, place: Place | None) -> Release | WideRelease:
        """The rows with everything public about them; the cost is that in the account.

        place: where the files are, if the rows are in files
        """
        during = self.table.windows
        guarantee = guarantee_of(
            unit_of(self.table.user, None if during is None else during.window),
            self.account,
            of_one_window(self.event),
            self.neighbours,
            vouched=dict(self.table.said).get("trusted_view"),
            presence=None if during is None else presence_words(self.whole),
        )
        verb, account, question = self.request.verb, self.account.name, self.request
        facts = facts_of(
            *(answer, guarantee, verb, account, entry), question.asked(), question.settled()
        )
        if place is not None:
            return WideRelease(answer.rows, facts, place)
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
    to: To | None = None,
) -> Release | WideRelease:
    """Perform one release, or show again what the same question was answered with before.

    What is dangerous is handed out here alone: ``entropy`` is the system's, and an auditor's for
    the release that it makes.

    to: where the rows go, if they go to files
    """
    question = work.request.hash
    known = ledger.known(opening.account.name, question, key=key, fresh=fresh)
    if known is not None:
        _refuse_unpaid(work, known)
        if known.result is not None:
            return _again(known, key, ledger, to)
    stages = Stages((CHARGING, READING, *work.stages, STORED), progress)
    # Opened first: a server that refuses a connection does so before anything is charged.
    engine = work.table.engine
    with heeding_stops(), _staging(work, ledger, to) as staging:
        with engine.session(), Store(engine) as store:
            _check_workers(work, staging)
            stages(CHARGING)
            # Last before the charge: whoever is told of a stage may take their time.
            checked = work.check()
            opening = replace(opening, covers=checked.covers)
            # One that was cut short is drawn again under its own key, and no other.
            own = key or (uuid.uuid4().hex if known is None else known.key)
            charge = work.charged(ledger, opening, key=own, fresh=fresh)
            _refuse_unpaid(work, charge)
            if charge.result is not None:
                return _again(charge, key, ledger, to)
            if staging is not None:
                staging.belongs_to(charge.sequence)
            _log(charge, key, ledger, opening)
            stages(READING)
            session = Session(entropy.chance, entropy.new_key(), store, stages)
            draw = _drawing(work, session, charge.sequence, staging, entropy)
            payload = _withholding_engine_errors(work, draw, stages, charge.sequence, checked)
        # Dropping tables may have lost one: whoever stopped a release sees no rows of it.
        raise_if_stopped()
        stored = ledger.store_result(charge.sequence, payload)
        # Whether it is what was drawn here is nobody's to know [O2]: another may have been first.
        signer = Signer(ledger, charge.sequence)
        if is_wide(stored):
            release = _delivered(WideRelease.from_bytes(stored, key=charge.key, signer=signer))
            stages(STORED)
            return release
        stages(STORED)
        return Release.from_bytes(stored, key=charge.key, signer=signer)


@contextmanager
def _staging(work: Work, ledger: Ledger, to: To | None) -> Iterator[Staging | None]:
    """A private folder for files that are not stored yet, if there will be any."""
    if to is None:
        yield None
        return
    from headcount.releases.wide.place import staging_in
    from headcount.releases.wide.write import files_for

    with staging_in(to.folder, ledger, files_for(work.table.engine, to.files)) as staging:
        yield staging


def _check_workers(work: Work, staging: Staging | None) -> None:
    if staging is not None:
        from headcount.releases.wide.write import check_workers

        check_workers(work.table.engine, staging)


def _drawing(
    work: Work, session: Session, entry: int, staging: Staging | None, entropy: Entropy
) -> Callable[[], Paid]:
    """What reads and draws for this entry: into memory, or into files of a private folder.

    A key for those who draw beside the data is made here, after the charge [WB2].
    """
    if staging is None or work.wide is None:
        return lambda: work.released(work.read_and_draw(session), entry, None)
    from headcount.releases.wide.write import write

    place = Place(str(staging.folder), staging.path.name)
    draw = partial(write, work.wide, session, staging, entropy.new_key())
    return lambda: work.released(draw(), entry, place)


def _delivered(release: WideRelease) -> WideRelease:
    from headcount.releases.wide.place import deliver

    deliver(release)
    return release


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


def _again(charge: Charge, key: str | None, ledger: Ledger, to: To | None) -> Release | WideRelease:
    log.info("entry %d: shown again, no charge", charge.sequence)
    assert charge.result is not None  # noqa: S101  asked before
    words = (
        f"{charge.named}, of the table as it was then; fresh=True draws new rows and charges again"
    )
    if key not in (None, charge.key):
        words = f"{words}. {_not_used(charge, key)}"
    signer = Signer(ledger, charge.sequence)
    if not is_wide(charge.result):
        if to is not None:
            raise UsageError(
                f"This question was answered by entry {charge.sequence}, whose rows are in the "
                "ledger: leave to= out, and write them where you like. Nothing was charged."
            )
        return Release.from_bytes(charge.result, key=charge.key, again=words, signer=signer)
    release = WideRelease.from_bytes(charge.result, key=charge.key, again=words, signer=signer)
    if to is None:
        raise UsageError(
            f"This question was answered by entry {charge.sequence}, whose rows are in files of "
            f"{str(release.folder)!r}: release(to=...) shows them. Nothing was charged."
        )
    return _delivered(release)


def _not_used(charge: Charge, key: str | None) -> str:
    """What a key is told that names no entry, because its question was charged before."""
    return (
        f"The key {key!r} was not used: this question was first charged under the key "
        f"{charge.key!r}, and again={charge.key!r} shows these rows by it"
    )


def _withholding_engine_errors(
    work: Work, draw: Callable[[], Paid], stages: Stages, entry: int, checked: Checked
) -> bytes:
    # After the first read an exception may quote private rows, in its text or in its cause.
    # Raising outside the handler leaves no link to it.
    payload = stopped = None
    try:
        drawn = draw().to_bytes()
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
