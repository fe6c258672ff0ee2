"""The kinds of evidence that a task can ask for, and those that wait for their hardware."""

from __future__ import annotations

from headcount.errors import UsageError

NONE, TEST = "none", "test"
KINDS = (NONE, TEST)
UNTESTED = ("nitro", "sev-snp", "tdx")


def check_kind(kind: object) -> str:
    """A kind of evidence that can be asked for."""
    if kind in UNTESTED:
        raise UsageError(
            f"Evidence of the kind {kind!r} was never tried on such hardware, and is not taken: "
            "choose 'none' or 'test'. Nothing was charged."
        )
    if kind not in KINDS:
        raise UsageError(
            f"attestation must be {' or '.join(map(repr, KINDS))}. Nothing was charged."
        )
    return str(kind)
