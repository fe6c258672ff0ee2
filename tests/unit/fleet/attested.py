"""A core that shows evidence, an owner who allows it, and forgers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from tests.unit.fleet.devices import round_of
from tests.unit.fleet.lines import OWNER, asked

from headcount.fleet import Attested, Offer, Policy
from headcount.fleet.allowed import ALLOW, FIRST, Entry, Seen, entry_text
from headcount.fleet.device_evidence import unattested
from headcount.fleet.evidence_test import CURVE, TestRoot, document, issue
from headcount.fleet.owner_key import OwnerKey, make_owner_key
from headcount.fleet.wire import Descriptor

TASK = asked(attestation="test")
ROUND = round_of(TASK)


def log_of(owner: OwnerKey, *acts: tuple[str, bytes], after: Sequence[Entry] = ()) -> list[Entry]:
    """A log that goes on after another one."""
    found = list(after)
    for act, measurement in acts:
        before = found[-1].hash if found else FIRST
        found.append(owner.allow(entry_text(act, measurement.hex(), before)))
    return found


@dataclass
class Memory:
    """What a device keeps of logs."""

    known: Seen = field(default_factory=Seen)

    def seen(self, _: str) -> Seen:
        return self.known

    def saw(self, _: str, log: Seen) -> None:
        self.known = max(self.known, log, key=lambda one: one.n)


class Core:
    """A root, an owner who allows its code, and what a device thinks of what it is offered."""

    def __init__(self, folder: Path) -> None:
        self.root_folder = folder
        self.root = TestRoot(folder / "root")
        self.owner = make_owner_key(folder / "key")
        self.log = log_of(self.owner, (ALLOW, self.root.measurement))
        self.memory = Memory()
        self.evidence = self.root.evidence(ROUND)
        self.now = int(time.time())

    def seen_by_nobody(self) -> Core:
        """The same core and log, before a device that has seen neither."""
        found = copy(self)
        found.memory = Memory()
        return found

    @cached_property
    def policy(self) -> Policy:
        wanted = Attested("test", self.root.fingerprint)
        return Policy(OWNER, keys={OWNER: [self.owner.public]}, attested=wanted)

    def refusal(
        self,
        evidence: bytes | None = None,
        log: Sequence[Entry] | None = None,
        round_: Descriptor = ROUND,
        later: int = 0,
    ) -> str | None:
        shown = self.evidence if evidence is None else evidence
        offer = Offer(TASK.spelled, round_.spelled, b"", shown, tuple(log or self.log))
        keys, now = (self.owner.public,), self.now + later
        return unattested(self.policy.attested, keys, self.memory, offer, TASK, round_, now)

    def document(
        self, measured: bytes | None = None, round_: Descriptor = ROUND, **more: Any
    ) -> bytes:
        """Evidence by the genuine root, of other things than it would say."""
        assert self.root._chain is not None
        _, chain, key = self.root._chain
        whole = {"chain": chain, "key": key, "now": self.now, **more}
        return document(
            whole["chain"], whole["key"], measured or self.root.measurement, round_, whole["now"]
        )

    def signed_by_a_leaf(self) -> bytes:
        """A chain that goes on below a certificate that may issue none."""
        assert self.root._chain is not None
        _, chain, leaf = self.root._chain
        key = ec.generate_private_key(CURVE)
        life = timedelta(0, 600)
        last = issue("below", key, chain[-1], leaf, life, path_length=None)
        return self.document(chain=[*chain, last], key=key)

    def edited(self, **fields: Any) -> bytes:
        """The document with other fields, under the signature of the shipped one."""
        protected, rest, payload, signature = cbor2.loads(self.evidence)
        other = cbor2.dumps({**cbor2.loads(payload), **fields})
        return cbor2.dumps([protected, rest, other, signature])
