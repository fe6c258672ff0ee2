"""Evidence of which code has a round's key: forgeries, each refused alone, and what they cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from tests.unit.fleet.attested import ROUND, TASK, Core, Memory, log_of
from tests.unit.fleet.devices import WRITTEN
from tests.unit.fleet.lines import NOW, OWNER, Line, asked, device, said

from headcount.errors import UsageError
from headcount.fleet import Attested, Offer, Policy, device_evidence, evidence_cose
from headcount.fleet.allowed import ALLOW, WITHDRAW, Entry, Seen, allowed_in, entry_text
from headcount.fleet.device_evidence import unattested
from headcount.fleet.evidence import LIFE_SECONDS, EvidenceError, measurement_from
from headcount.fleet.evidence_cose import Cose, root_in
from headcount.fleet.evidence_test import CURVE, TestRoot, issue
from headcount.fleet.owner_key import make_owner_key
from headcount.fleet.task_file import read_task
from headcount.trials.seam import swapped

OTHER = bytes(range(48))
OTHER_KEY = replace(ROUND, public_key=bytes(31) + b"\x01")
OTHER_ROUND = replace(ROUND, round=1)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Core:
    return Core(tmp_path_factory.mktemp("core"))


@pytest.fixture
def core(made: Core) -> Core:
    """With a device that saw nothing so far."""
    return made.seen_by_nobody()


def other_root(core: Core) -> str | None:
    forger = TestRoot(core.root_folder / "forger")
    return core.refusal(forger.evidence(ROUND))


def between_expired(core: Core) -> bytes:
    """A chain whose middle ended a moment ago, by the genuine root."""
    one, two = ec.generate_private_key(CURVE), ec.generate_private_key(CURVE)
    middle = issue("x", one, core.root.certificate, core.root._key, timedelta(0, 1), path_length=0)
    last = issue("y", two, middle, one, timedelta(0, 3_600), path_length=None)
    return core.document(chain=[core.root.certificate, middle, last], key=two)


def too_deep(core: Core) -> bytes:
    """One more authority than the one above it may have below."""
    keys = [ec.generate_private_key(CURVE) for _ in range(3)]
    chain, above = [core.root.certificate], core.root._key
    for i, key in enumerate(keys):
        length = 0 if i < 2 else None
        chain.append(issue("z", key, chain[-1], above, timedelta(0, 600), path_length=length))
        above = key
    return core.document(chain=chain, key=keys[-1])


def swapped_order(core: Core) -> bytes:
    assert core.root._chain is not None
    _, (root, middle, last), key = core.root._chain
    return core.document(chain=[root, last, middle], key=key)


def flipped(evidence: bytes, at: int) -> bytes:
    return evidence[:at] + bytes([evidence[at] ^ 1]) + evidence[at + 1 :]


def algorithm(core: Core) -> bytes:
    _, rest, payload, signature = cbor2.loads(core.evidence)
    return cbor2.dumps([cbor2.dumps({1: -7}), rest, payload, signature])


def unsigned(core: Core) -> bytes:
    protected, rest, payload, _ = cbor2.loads(core.evidence)
    return cbor2.dumps([protected, rest, payload, bytes(96)])


def forked(core: Core) -> list[Entry]:
    core.log = log_of(core.owner, (ALLOW, OTHER), after=core.log)
    assert core.refusal() is None
    return log_of(core.owner, (ALLOW, bytes(47) + b"\x01"), after=core.log[:1])


def withdrawn(core: Core) -> list[Entry]:
    return log_of(core.owner, (WITHDRAW, core.root.measurement), after=core.log)


def shortened(core: Core) -> list[Entry]:
    core.refusal(log=withdrawn(core))
    return core.log


def reordered(core: Core) -> list[Entry]:
    return list(reversed(log_of(core.owner, (ALLOW, OTHER), after=core.log)))


def by_somebody_else(core: Core) -> list[Entry]:
    forger = make_owner_key(core.root_folder / "other")
    return log_of(forger, (ALLOW, core.root.measurement))


def debugged(core: Core) -> list[Entry]:
    """An owner who signs zeros all the same."""
    text = entry_text(ALLOW, OTHER.hex(), core.log[-1].hash).replace(
        OTHER.hex().encode(), b"0" * 96
    )
    return [*core.log, core.owner.allow(text)]


FORGERIES: dict[str, tuple[str, Callable[[Core], str | None]]] = {
    "another root": ("another root", other_root),
    "another image": ("does not allow", lambda c: c.refusal(c.document(OTHER))),
    "debug mode": ("debug mode", lambda c: c.refusal(c.document(bytes(48)))),
    "debug mode that is allowed": (
        "says nothing",
        lambda c: c.refusal(c.document(bytes(48)), debugged(c)),
    ),
    "another key": ("another key", lambda c: c.refusal(c.document(round_=OTHER_KEY))),
    "another round": ("another round", lambda c: c.refusal(c.document(round_=OTHER_ROUND))),
    "hours later": ("another time", lambda c: c.refusal(later=LIFE_SECONDS + 60)),
    "made in the future": ("another time", lambda c: c.refusal(c.document(now=c.now + 3_600))),
    "made long ago": ("another time", lambda c: c.refusal(c.document(now=c.now - 4 * 3_600))),
    "a byte of the payload": ("not signed", lambda c: c.refusal(c.edited(nonce=b"x"))),
    "a byte of the signature": (
        "not signed",
        lambda c: c.refusal(flipped(c.evidence, len(c.evidence) - 1)),
    ),
    "no signature": ("not signed", lambda c: c.refusal(unsigned(c))),
    "another algorithm": ("another way", lambda c: c.refusal(algorithm(c))),
    "the chain in another order": ("no one chain", lambda c: c.refusal(swapped_order(c))),
    "an issuer that is no authority": ("issue", lambda c: c.refusal(c.signed_by_a_leaf())),
    "more authorities than may be": ("issue", lambda c: c.refusal(too_deep(c))),
    "an authority that ended": (
        "another time",
        lambda c: c.refusal(between_expired(c), later=400),
    ),
    "no evidence": ("CBOR", lambda c: c.refusal(b"")),
    "shortened log": ("shorter", lambda c: c.refusal(log=shortened(c))),
    "forked log": ("another than it was", lambda c: c.refusal(log=forked(c))),
    "reordered log": ("out of order", lambda c: c.refusal(log=reordered(c))),
    "a log by somebody else": ("not signed", lambda c: c.refusal(log=by_somebody_else(c))),
    "withdrawn measurement": ("does not allow", lambda c: c.refusal(log=withdrawn(c))),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_refused(core: Core, name: str) -> None:
    assert core.refusal() is None
    words, forged = FORGERIES[name]
    assert words in str(forged(core))


def test_any_byte_of_evidence_matters_and_none_ends_a_device(core: Core) -> None:
    step = 7
    for at in range(0, len(core.evidence), step):
        assert core.refusal(flipped(core.evidence, at)) is not None, at
    for odd in (b"\x9f", b"\xa1" * 500, b"\x5b" + b"\xff" * 8, bytes(20_000), b"\xd8\x1c\x81\x00"):
        assert core.refusal(odd) is not None


def test_what_was_withdrawn_and_allowed_again_is_allowed(core: Core) -> None:
    again = log_of(core.owner, (ALLOW, core.root.measurement), after=withdrawn(core))
    assert core.refusal(log=again) is None


def test_an_app_knows_a_log_from_its_first_start(core: Core) -> None:
    longer = log_of(core.owner, (ALLOW, OTHER), after=core.log)
    known = Attested("test", core.root.fingerprint, (2, longer[-1].hash.hex()))
    offer = Offer(TASK.spelled, ROUND.spelled, b"", core.evidence, tuple(core.log))
    given = ((core.owner.public,), Memory(), offer, TASK, ROUND, core.now)
    assert "shorter" in str(unattested(known, *given))
    for seen in ((1, "ab"), ("1", "00" * 32), (-1, "00" * 32), 3):
        odd: Any = seen
        with pytest.raises(UsageError, match="headcount fleet allowed"):
            Attested("test", core.root.fingerprint, odd)


def test_kinds_that_were_never_tried_are_refused_by_name(core: Core) -> None:
    for kind in ("nitro", "sev-snp", "tdx"):
        with pytest.raises(UsageError, match=f"{kind}.*never tried"):
            read_task({**WRITTEN, "attestation": kind})
        with pytest.raises(UsageError, match="never tried"):
            Attested(kind, core.root.fingerprint)
    with pytest.raises(UsageError, match="attestation must be 'none' or 'test'"):
        read_task({**WRITTEN, "attestation": "sgx"})
    for kind, root in (("none", core.root.fingerprint), ("test", "sha256:12"), ("test", "")):
        with pytest.raises(UsageError, match="under a root"):
            Attested(kind, root)
    with pytest.raises(UsageError, match="needs keys="):
        Policy(OWNER, attested=Attested("test", core.root.fingerprint))


def test_debugging_is_never_allowed() -> None:
    with pytest.raises(UsageError, match="never allowed"):
        measurement_from("00" * 48)
    for odd in ("", "ab", "x" * 96, "ab" * 47):
        with pytest.raises(UsageError, match="96 hexadecimal digits"):
            measurement_from(odd)


def test_a_device_holds_a_task_to_the_evidence_that_it_pins(tmp_path: Path, core: Core) -> None:
    plain = asked()
    offer = Offer(plain.spelled, ROUND.spelled)
    given = ((core.owner.public,), Memory(), offer)
    assert "wants another" in str(unattested(core.policy.attested, *given, plain, ROUND, NOW))
    assert unattested(None, *given, plain, ROUND, NOW) is None
    assert "no root for it" in str(unattested(None, *given, TASK, ROUND, NOW))
    # The same through a device, which works out no answer for a core that it does not trust.
    asked_for: list[int] = []
    one = device(tmp_path, Line(tmp_path, (TASK, ROUND)), lambda: asked_for.append(1))
    assert "no root for it" in said(one.run_once())[0]
    assert asked_for == []


class Shown(Line):
    """Offers rounds with evidence and a log."""

    def __init__(self, folder: Path, core: Core, log: list[Entry]) -> None:
        super().__init__(folder)
        self.core, self.log = core, log

    def descriptors(self) -> Any:
        proof = self.core.owner.proof(ROUND)
        yield Offer(TASK.spelled, ROUND.spelled, proof, self.core.evidence, tuple(self.log))


def test_a_device_remembers_the_log_also_when_it_forgets(tmp_path: Path, core: Core) -> None:
    clock = lambda: float(NOW)  # noqa: E731
    line = Shown(tmp_path, core, withdrawn(core))
    # By the round's clock, which is not that of the evidence.
    core.evidence = core.document(now=NOW)
    with swapped(evidence_cose, "_check_times", lambda *_: None):
        one = device(tmp_path, line, policy=core.policy, clock=clock)
        assert said(one.run_once()) == ["the core runs code that its owner does not allow"]
        one.forget()
        line.log = core.log
        again = device(tmp_path, line, policy=core.policy, clock=clock)
        assert said(again.run_once()) == ["the list of allowed code is shorter than it was"]
        line.log = log_of(core.owner, (ALLOW, core.root.measurement), after=withdrawn(core))
        assert said(again.run_once()) == ["sent"]


MUTANTS: dict[str, tuple[Any, str, Any, str]] = {
    "any time": (evidence_cose, "_check_times", lambda *_: None, "an authority that ended"),
    "issuers need be no authority": (
        *(evidence_cose, "_check_authority", lambda *_: None),
        "an issuer that is no authority",
    ),
    "the signature is not looked at": (
        *(evidence_cose, "_check_signature", lambda *_: None),
        "a byte of the payload",
    ),
    "evidence is not bound": (evidence_cose, "_check_bound", lambda *_: None, "another key"),
    "debug mode is code like any other": (
        *(evidence_cose, "_measurement", lambda document: document["pcrs"][0]),
        "debug mode",
    ),
    "a log may go back": (device_evidence, "allowed_in", None, "shortened log"),
}


def forgetful(log: Any, keys: Any, _: Seen) -> Any:
    return allowed_in(log, keys)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_noticed(core: Core, name: str) -> None:
    target, what, value, forgery = MUTANTS[name]
    words, forged = FORGERIES[forgery]
    with swapped(target, what, value or forgetful):
        assert words not in str(forged(core))


def test_evidence_is_checked_in_less_than_five_milliseconds(core: Core) -> None:
    verifier = Cose(root_in(core.evidence))
    verifier.measured(core.evidence, ROUND, core.now)
    costs = []
    for _ in range(20):
        begun = time.process_time()
        verifier.measured(core.evidence, ROUND, core.now)
        costs.append(time.process_time() - begun)
    assert min(costs) < 0.005
    assert len(core.evidence) < 4_000


def test_entries_say_what_they_say_or_are_refused(core: Core) -> None:
    good = core.log[0]
    for spelled in (b"", b"{}", b"[]", good.spelled.replace(b"allow", b"admit", 1)):
        with pytest.raises(EvidenceError, match="says nothing"):
            allowed_in([core.owner.allow(spelled)], [core.owner.public])
    assert good.said["act"] == ALLOW
    with pytest.raises(UsageError, match="that can be seen"):
        entry_text(ALLOW, OTHER.hex(), b"", version="a\nb")
