"""Evidence as Nitro enclaves give it: a COSE_Sign1 document (RFC 9052, ES384) over CBOR.

::

    [protected {1: -35}, unprotected, payload, signature]
    payload  module_id, digest, timestamp, pcrs, certificate, cabundle, public_key, user_data, nonce

``cabundle`` goes from the root to the issuer of ``certificate``, whose key signed. ``public_key``
is the round's key and ``user_data`` the hash of its descriptor, so that evidence of one round is
none of another. PCR 0 is the measurement; all zeros are an enclave in debug mode, and refused
whatever an owner allows.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtensionOID

from headcount.errors import MissingExtraError
from headcount.fleet.evidence import (
    LIFE_SECONDS,
    MEASUREMENT_BYTES,
    MOST_BYTES,
    SKEW,
    EvidenceError,
)
from headcount.fleet.wire import Descriptor

ES384, HALF = {1: -35}, 48
MOST_CERTIFICATES = 8
UNDERSTOOD = {ExtensionOID.BASIC_CONSTRAINTS, ExtensionOID.KEY_USAGE}
"""Extensions that decide here; any other one that is critical is refused."""


@dataclass(frozen=True, slots=True)
class Cose:
    """Checks evidence under one root.

    root: SHA-256 of the root's certificate
    """

    root: bytes

    def measured(self, evidence: bytes, round_: Descriptor, now: int) -> bytes:
        """The measurement of the code that made the key of a round."""
        try:
            return self._measured(evidence, round_, now)
        except (EvidenceError, MissingExtraError):
            raise
        except Exception:
            # Certificates are read piece by piece, and each reader has errors of its own.
            raise EvidenceError("the evidence cannot be read") from None

    def _measured(self, evidence: bytes, round_: Descriptor, now: int) -> bytes:
        protected, payload, signature = _opened(evidence)
        document = _decoded(payload)
        if not isinstance(document, dict):
            raise EvidenceError("the evidence is no document")
        chain = self._chain(document)
        _check_signature(chain[-1], protected, payload, signature)
        _check_times(chain, document, now)
        _check_bound(document, round_)
        return _measurement(document)

    def _chain(self, document: dict[Any, Any]) -> list[x509.Certificate]:
        """Certificates from the root to the one that signed, each issued by the one before it."""
        bundle, last = document.get("cabundle"), document.get("certificate")
        listed = [*bundle, last] if isinstance(bundle, list) else []
        if not 2 <= len(listed) <= MOST_CERTIFICATES:
            raise EvidenceError("the evidence has no chain of certificates")
        chain = [x509.load_der_x509_certificate(one) for one in listed]
        if hashlib.sha256(chain[0].public_bytes(Encoding.DER)).digest() != self.root:
            raise EvidenceError("the evidence is under another root")
        for below, (issuer, issued) in enumerate(pairwise(chain)):
            _check_authority(issuer, len(chain) - 2 - below)
            try:
                issued.verify_directly_issued_by(issuer)
            except (InvalidSignature, ValueError):
                raise EvidenceError("the certificates are of no one chain") from None
        for one in chain:
            _check_kind(one)
        return chain


def root_in(evidence: bytes) -> bytes:
    """The root that evidence says it hangs on, by its hash; whether it does is not checked."""
    document = _decoded(_opened(evidence)[1])
    bundle = document.get("cabundle") if isinstance(document, dict) else None
    if not isinstance(bundle, list) or not bundle or not isinstance(bundle[0], bytes):
        raise EvidenceError("the evidence has no chain of certificates")
    return hashlib.sha256(bundle[0]).digest()


def _opened(evidence: bytes) -> tuple[bytes, bytes, bytes]:
    if len(evidence) > MOST_BYTES:
        raise EvidenceError("the evidence is too long")
    match _decoded(evidence):
        case [bytes() as protected, dict(), bytes() as payload, bytes() as signature]:
            pass
        case _:
            raise EvidenceError("the evidence is no COSE_Sign1 document")
    if _decoded(protected) != ES384 or len(signature) != 2 * HALF:
        raise EvidenceError("the evidence is signed in another way")
    return protected, payload, signature


def _decoded(raw: bytes) -> Any:
    if find_spec("cbor2") is None:
        raise MissingExtraError("fleet", "Evidence of a fleet's core")
    import cbor2

    try:
        return cbor2.loads(raw)
    except Exception:
        # Whatever it was, the bytes are somebody else's.
        raise EvidenceError("the evidence is no CBOR") from None


def _check_authority(issuer: x509.Certificate, n_below: int) -> None:
    """Refuse a certificate that may issue none, or not so many below it."""
    try:
        may = issuer.extensions.get_extension_for_class(x509.BasicConstraints).value
        usage = issuer.extensions.get_extension_for_class(x509.KeyUsage).value
        is_authority = may.ca and usage.key_cert_sign
    except x509.ExtensionNotFound:
        is_authority = False
    if not is_authority or (may.path_length is not None and may.path_length < n_below):
        raise EvidenceError("a certificate was issued by one that may issue none")


def _check_kind(one: x509.Certificate) -> None:
    key = one.public_key()
    is_known = isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP384R1)
    is_signed = isinstance(one.signature_hash_algorithm, SHA384)
    odd = [e for e in one.extensions if e.critical and e.oid not in UNDERSTOOD]
    if not is_known or not is_signed or odd:
        raise EvidenceError("a certificate of the evidence is of another kind")


def _check_signature(
    signer: x509.Certificate, protected: bytes, payload: bytes, signature: bytes
) -> None:
    import cbor2

    key = signer.public_key()
    signed = cbor2.dumps(["Signature1", protected, b"", payload])
    halves = (int.from_bytes(signature[at : at + HALF], "big") for at in (0, HALF))
    try:
        if not isinstance(key, ec.EllipticCurvePublicKey):
            raise InvalidSignature
        key.verify(encode_dss_signature(*halves), signed, ec.ECDSA(SHA384()))
    except InvalidSignature:
        raise EvidenceError("the evidence is not signed by its certificate") from None


def _check_times(chain: list[x509.Certificate], document: dict[Any, Any], now: int) -> None:
    """Refuse evidence that was made long ago, and certificates that are over."""
    at, slack = datetime.fromtimestamp(now, UTC), timedelta(0, SKEW)
    made = document.get("timestamp")
    if type(made) is not int or not now - LIFE_SECONDS <= made // 1000 <= now + SKEW:
        raise EvidenceError("the evidence is of another time")
    for one in chain:
        if not one.not_valid_before_utc - slack <= at < one.not_valid_after_utc:
            raise EvidenceError("a certificate of the evidence is of another time")


def _check_bound(document: dict[Any, Any], round_: Descriptor) -> None:
    """Refuse evidence of another key, or of the same key in another round."""
    if document.get("public_key") != round_.public_key:
        raise EvidenceError("the evidence is of another key")
    if document.get("user_data") != round_.hash:
        raise EvidenceError("the evidence is of another round")


def _measurement(document: dict[Any, Any]) -> bytes:
    measured = document.get("pcrs")
    found = measured.get(0) if isinstance(measured, dict) else None
    if document.get("digest") != "SHA384" or not isinstance(found, bytes):
        raise EvidenceError("the evidence says nothing of any code")
    if len(found) != MEASUREMENT_BYTES or not any(found):
        raise EvidenceError("the evidence is of code in debug mode, whose memory can be read")
    return found
