"""Fresh evidence for rounds that are open, held against what their owner allows.

Devices would refuse what is not allowed: a round that nobody answers is not opened.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headcount.errors import FleetError
from headcount.fleet.allowed import allowed_in
from headcount.fleet.evidence import RENEWED_SECONDS, EvidenceError
from headcount.fleet.evidence_kinds import NONE
from headcount.screens import as_word

if TYPE_CHECKING:
    from headcount.fleet.core_client import Core
    from headcount.fleet.owner_key import OwnerKey
    from headcount.fleet.store import FleetStore
    from headcount.fleet.task import Task
    from headcount.fleet.wire import Descriptor


def evidence_of(
    core: Core, store: FleetStore, owner: OwnerKey | None, task: Task, round_: Descriptor
) -> bytes:
    """Evidence for the key of a round; nothing where the task asks for none."""
    if task.file.attestation == NONE:
        return b""
    from headcount.fleet.evidence_cose import Cose, root_in

    if owner is None:
        raise FleetError("Evidence is allowed by an owner's key, and there is none here.")
    evidence = core.attest(task, round_)
    try:
        allowed, _ = allowed_in(store.allowed(), [owner.public])
        measured = Cose(root_in(evidence)).measured(evidence, round_, store.now())
    except EvidenceError as error:
        raise FleetError(f"Devices would refuse this core: {error}. Nothing was opened.") from None
    if measured not in allowed:
        raise FleetError(
            f"The core runs code that its owner does not allow: headcount fleet allow "
            f"{as_word(measured.hex())}. Nothing was opened."
        )
    return evidence


def renew(asked: Callable[[], Core], store: FleetStore, owner: OwnerKey | None) -> None:
    """Let open rounds have evidence that is not an hour old."""
    now = store.now()
    wanting = [one for one in store.open_rounds() if one.task.file.attestation != NONE]
    for one in wanting:
        if one.attested is None or now - one.attested > RENEWED_SECONDS:
            with asked() as core:
                evidence = evidence_of(core, store, owner, one.task, one.descriptor)
            store.attest(one.id, evidence)
