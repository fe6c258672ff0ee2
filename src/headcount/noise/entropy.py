"""Where random words come from: ChaCha20 keyed by the operating system.

**Contract.** ``Entropy.words(n)`` gives ``n`` independent uniform 64-bit words. Everything random
in headcount is a function of such words, so a test or an audit that supplies its own object
drives every path. ``OsEntropy`` has no seed: its key comes from ``os.urandom``, lives in one
process only, and is replaced after a fork and after ``REKEY_BYTES`` bytes.

**Reference.** RFC 8439 (ChaCha20). That its output is uniform is the one assumption of this
package that is cryptographic and not proved [N1].

A virtual machine that is snapshotted while it runs and started twice has two copies of one key,
like every user-space generator.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import NoReturn, Protocol

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

Words = npt.NDArray[np.uint64]

REKEY_BYTES = 1 << 30
"""A key is used for at most this much, far below the 2**38 bytes its block counter allows."""


class Entropy(Protocol):
    """Anything that gives independent uniform 64-bit words."""

    def words(self, n: int) -> Words:
        """Give ``n`` words."""
        ...


class OsEntropy:
    """The entropy of production: unpredictable, and never the same in two processes."""

    _lock: threading.Lock
    _context: CipherContext | None
    _bytes_left: int
    _pid: int

    def __init__(self) -> None:
        self._forget_key()
        _instances.add(self)

    def words(self, n: int) -> Words:
        """Give ``n`` independent uniform 64-bit words; safe to call from several threads."""
        if n < 0:
            raise ValueError("the number of words must not be negative")
        drawn = np.zeros(n, dtype=np.uint64)
        left = drawn.data.cast("B") if n else memoryview(b"")
        with self._lock:
            while left:
                stream = self._stream()
                size = min(len(left), self._bytes_left)
                stream.update_into(left[:size], left[:size])
                self._bytes_left -= size
                left = left[size:]
        return drawn

    def _stream(self) -> CipherContext:
        if self._context is None or self._bytes_left == 0 or self._pid != os.getpid():
            key, nonce = os.urandom(32), b"\0" * 16
            self._context = Cipher(ChaCha20(key, nonce), mode=None).encryptor()
            self._bytes_left = REKEY_BYTES
            self._pid = os.getpid()
        return self._context

    def _forget_key(self) -> None:
        # The lock is new as well: another thread may have held the old one at the fork.
        self._lock = threading.Lock()
        self._context = None
        self._bytes_left = 0
        self._pid = -1

    def __reduce__(self) -> NoReturn:
        raise TypeError("an entropy is never copied or sent: two holders would draw equal noise")


_instances: weakref.WeakSet[OsEntropy] = weakref.WeakSet()


def _forget_keys() -> None:
    for instance in list(_instances):
        instance._forget_key()


# The process id alone would miss a child that is given the id of a dead ancestor.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_keys)
