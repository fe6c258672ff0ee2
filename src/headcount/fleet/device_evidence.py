"""What a device asks of the core before it seals an answer for it: evidence, and an owner's word.

The evidence hangs on a root that the device pins, is of the round's own key, and of code that the
owner's log allows. Of that log a device remembers what it saw, so that it is never shown less.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from headcount.errors import UsageError
from headcount.fleet.allowed import Seen, allowed_in
from headcount.fleet.evidence import EvidenceError, Verifier
from headcount.fleet.evidence_cose import Cose
from headcount.fleet.evidence_kinds import NONE, check_kind
from headcount.fleet.offer import Offer
from headcount.fleet.task import Task
from headcount.fleet.wire import Descriptor

ROOT = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Attested:
    """Evidence that a device wants.

    kind: of evidence, ``"test"``
    root: the fingerprint of the certificate that evidence hangs on, ``"sha256:..."``
    seen: how many entries the owner's log had when the app was made, and the hash of the last, in
          hex; a shorter log or another one is refused from the first time on
    """

    kind: str
    root: str
    seen: tuple[int, str] | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be checked."""
        verifier_of(self.kind, self.root)
        _ = self.first

    @property
    def first(self) -> Seen:
        """The log as the app knows it."""
        if self.seen is None:
            return Seen()
        try:
            n, head = self.seen
            found = Seen(n, bytes.fromhex(head))
            is_one = type(n) is int and n >= 0 and len(found.head) == len(Seen().head)
        except (ValueError, TypeError):
            is_one = False
        if not is_one:
            raise UsageError(
                "seen is what headcount fleet allowed prints last: the number of entries and 64 "
                "digits. Nothing was sent."
            )
        return found


def verifier_of(kind: str, root: str) -> Verifier:
    """Who checks evidence of a kind.

    root: the fingerprint of the certificate that all of it hangs on, ``sha256:`` and 64 digits
    """
    if check_kind(kind) == NONE or not ROOT.fullmatch(root):
        raise UsageError(
            "Evidence is of a kind and under a root: kind='test', and for root what headcount "
            "fleet core prints, 'sha256:' and 64 digits. Nothing was sent."
        )
    return Cose(bytes.fromhex(root.removeprefix("sha256:")))


class Remembers(Protocol):
    """What a device keeps of logs."""

    def seen(self, owner: str) -> Seen:
        """The log of an owner as it was seen last."""
        ...

    def saw(self, owner: str, log: Seen) -> None:
        """Remember it, unless a longer one was seen."""
        ...


def unattested(
    wanted: Attested | None,
    keys: tuple[str, ...],
    store: Remembers,
    offer: Offer,
    task: Task,
    round_: Descriptor,
    now: int,
) -> str | None:
    """Why a device does not trust the core with an answer, or nothing where it does."""
    kind = task.file.attestation
    if wanted is None and kind == NONE:
        return None
    if wanted is None:
        return f"the task's core shows evidence of kind {kind!r}, and the device has no root for it"
    if kind != wanted.kind:
        return f"the task's core shows evidence of kind {kind!r}, and the device wants another"
    before = max(store.seen(task.file.owner), wanted.first, key=lambda one: one.n)
    try:
        allowed, seen = allowed_in(offer.allowed, keys, before)
        # Whatever becomes of this round: what was withdrawn once stays so.
        store.saw(task.file.owner, seen)
        measured = verifier_of(kind, wanted.root).measured(offer.evidence, round_, now)
    except EvidenceError as error:
        return str(error)
    if measured not in allowed:
        return "the core runs code that its owner does not allow"
    return None
