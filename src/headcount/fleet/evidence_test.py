"""What stands where the hardware would, to try everything else: a root that anybody can make.

Evidence of the kind ``test`` proves that a round's key is of a process that can read this folder.
It says which code that was, by that code's own word. It is for trying a fleet, and for nothing
else.
"""

from __future__ import annotations

import hashlib
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
)
from cryptography.x509.oid import NameOID

from headcount.errors import UsageError
from headcount.fleet.evidence import LIFE_SECONDS, RENEWED_SECONDS
from headcount.fleet.own_folder import own_folder
from headcount.fleet.secret_file import make_once
from headcount.fleet.wire import Descriptor

YEARS = timedelta(3660)
PACKAGE = Path(__file__).parents[1]
CURVE = ec.SECP384R1()
Key = ec.EllipticCurvePrivateKey


class TestRoot:
    """A root with a chain below it, in a folder of its user's alone."""

    __test__ = False

    def __init__(self, folder: str | Path) -> None:
        """Find the root in a folder, or make it there.

        folder: the core's own, and in no backup
        """
        place = own_folder(folder, "the test root")
        if not (place / "root").exists():
            make_once(place / "root", _new_root)
        try:
            length, both = (place / "root").read_bytes().split(b"\n", 1)
            key = load_der_private_key(both[: int(length)], None)
            self.certificate = x509.load_der_x509_certificate(both[int(length) :])
        except (OSError, ValueError, TypeError):
            raise UsageError("The test root cannot be read. Make another folder.") from None
        if not isinstance(key, Key):
            raise UsageError("The test root is of another kind. Make another folder.")
        self._key = key
        self._measured = code()
        self._chain: tuple[float, list[x509.Certificate], Key] | None = None

    @property
    def fingerprint(self) -> str:
        """What devices pin."""
        digest = hashlib.sha256(self.certificate.public_bytes(Encoding.DER))
        return f"sha256:{digest.hexdigest()}"

    @property
    def measurement(self) -> bytes:
        """Of the code that is installed here."""
        return self._measured

    def evidence(self, round_: Descriptor) -> bytes:
        """Fresh evidence for the key of a round."""
        now = time.time()
        if self._chain is None or now - self._chain[0] > RENEWED_SECONDS:
            self._chain = (now, *below(self.certificate, self._key))
        _, chain, key = self._chain
        return document(chain, key, self._measured, round_, now)


def code() -> bytes:
    """A measurement of this package: the names and bytes of its modules, in order."""
    found = hashlib.sha384(b"headcount/1 code\x00")
    for path in sorted(PACKAGE.rglob("*.py")):
        for part in (str(path.relative_to(PACKAGE)).encode(), path.read_bytes()):
            found.update(len(part).to_bytes(8, "big") + part)
    return found.digest()


def document(
    chain: list[x509.Certificate], key: Key, measured: bytes, round_: Descriptor, now: float
) -> bytes:
    """Evidence as a hypervisor signs it."""
    import cbor2

    ders = [one.public_bytes(Encoding.DER) for one in chain]
    payload = cbor2.dumps(
        {
            "module_id": "headcount-test",
            "digest": "SHA384",
            "timestamp": int(now * 1000),
            "pcrs": {0: measured},
            "certificate": ders[-1],
            "cabundle": ders[:-1],
            "public_key": round_.public_key,
            "user_data": round_.hash,
            "nonce": None,
        }
    )
    protected = cbor2.dumps({1: -35})
    signed = cbor2.dumps(["Signature1", protected, b"", payload])
    halves = decode_dss_signature(key.sign(signed, ec.ECDSA(SHA384())))
    signature = b"".join(half.to_bytes(48, "big") for half in halves)
    return cbor2.dumps([protected, {}, payload, signature])


def below(root: x509.Certificate, key: Key) -> tuple[list[x509.Certificate], Key]:
    """A chain from a root to a new key that signs for some hours, by way of one between."""
    between, leaf = ec.generate_private_key(CURVE), ec.generate_private_key(CURVE)
    life = timedelta(0, LIFE_SECONDS)
    middle = issue("headcount test, between", between, root, key, life, path_length=0)
    last = issue("headcount test, signs", leaf, middle, between, life, path_length=None)
    return [root, middle, last], leaf


def issue(
    name: str,
    key: Key,
    issuer: x509.Certificate | None,
    issuer_key: Key,
    life: timedelta,
    *,
    path_length: int | None,
) -> x509.Certificate:
    """A certificate; of an authority where it says how many may be below it."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now, is_authority = datetime.now(UTC), path_length is not None
    usage = x509.KeyUsage(
        digital_signature=not is_authority,
        key_cert_sign=is_authority,
        crl_sign=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(0, 60))
        .not_valid_after(now + life)
        .add_extension(x509.BasicConstraints(is_authority, path_length), critical=True)
        .add_extension(usage, critical=True)
        .sign(issuer_key, SHA384())
    )


def _new_root() -> bytes:
    key = ec.generate_private_key(CURVE)
    made = issue("headcount test root", key, None, key, YEARS, path_length=2)
    raw = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    return b"%d\n" % len(raw) + raw + made.public_bytes(Encoding.DER)
