"""Chance beside the data: what is drawn for a part of the groups is a function of that part.

**Contract**

========== ==================================================================================
input      a secret key of one run, the number of a bucket, a digest of all that is in it
output     a ``Chance`` for this bucket: independent draws, as from the system's generator
repeated   for the same bucket with the same content, the same draws, bit for bit
guarantee  that of the mechanism which draws from it, up to HMAC-SHA256 and ChaCha20
========== ==================================================================================

A cluster runs a task again when it was lost, or beside itself when it is slow. Noise that is drawn
anew each time could be averaged; noise that is a function of the group alone would be the same on
two totals when the table changes meanwhile, and their difference exact. A bucket's noise is a
function of everything in the bucket, so that neither can be.

The proof is in ``bucket_chance.md``.
"""

from __future__ import annotations

from headcount.mechanisms.chance import Drawn
from headcount.noise.keyed import KeyedEntropy

DIGEST_BYTES = 32


def bucket_chance(key: bytes, bucket: int, content: bytes) -> Drawn:
    """The chance of one bucket of one run.

    [WB2] no two buckets share a message, and [WB3] the same content is the same draw.
    [WB4] another content is another message.

    key:      32 secret bytes of the system's generator, of this run alone
    content:  SHA-256 of the groups and totals in the bucket
    """
    if len(content) != DIGEST_BYTES:
        raise ValueError("the content of a bucket is known by its SHA-256")
    return Drawn(KeyedEntropy(key, b"noise|%d|%b" % (bucket, content)))
