"""Words that are a function of a secret key and a message: twice the same, where both are.

**Contract.** ``KeyedEntropy(key, message)`` gives the words of ChaCha20 under HMAC-SHA256 of the
message with the key. To whoever does not know the key, words of different messages are independent
and uniform, by the assumption on ChaCha20 that ``OsEntropy`` makes already [N1] and the same for
HMAC-SHA256. Whoever asks again from the same key and message gets the same words in the same order.

**Reference.** RFC 2104 (HMAC), RFC 8439 (ChaCha20).
"""

from __future__ import annotations

import hmac
from typing import NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from headcount.noise.entropy import Words

MOST_BYTES = 1 << 37
"""Of one stream, below the 2**38 bytes that its block counter allows."""
KEY_BYTES = 32


class KeyedEntropy:
    """The words of one message under one secret key."""

    def __init__(self, key: bytes, message: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"the key must be {KEY_BYTES} secret bytes")
        own = hmac.digest(key, message, "sha256")
        self._context = Cipher(ChaCha20(own, b"\0" * 16), mode=None).encryptor()
        self._bytes_left = MOST_BYTES

    def words(self, n: int) -> Words:
        """Give the next ``n`` words."""
        if n < 0:
            raise ValueError("the number of words must not be negative")
        self._bytes_left -= 8 * n
        if self._bytes_left < 0:
            raise ValueError("one stream of words is too short for so many draws")
        drawn = np.zeros(n, dtype=np.uint64)
        if n:
            whole = drawn.data.cast("B")
            self._context.update_into(whole, whole)
        return drawn

    def __reduce__(self) -> NoReturn:
        raise TypeError("an entropy is never copied or sent: two holders would draw equal noise")
