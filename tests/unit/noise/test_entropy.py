"""Entropy: uniform words, never shared between processes, threads or copies."""

from __future__ import annotations

import copy
import os
import pickle
import threading

import numpy as np
import pytest

from headcount.noise import entropy as entropy_module
from headcount.noise.entropy import OsEntropy


def words_of_fork(entropy: OsEntropy, n: int = 4) -> tuple[int, ...]:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, entropy.words(n).tobytes())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        sent = pipe.read()
    os.waitpid(child, 0)
    assert len(sent) == 8 * n
    return tuple(np.frombuffer(sent, dtype=np.uint64).tolist())


def test_words_are_uint64_and_as_many_as_asked() -> None:
    entropy = OsEntropy()
    for n in (0, 1, 7, 1000):
        words = entropy.words(n)
        assert words.shape == (n,)
        assert words.dtype == np.uint64


def test_negative_number_of_words_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        OsEntropy().words(-1)


def test_every_bit_is_fair() -> None:
    words = OsEntropy().words(200_000)
    for bit in range(64):
        ones = int(((words >> np.uint64(bit)) & np.uint64(1)).sum())
        assert abs(ones - 100_000) < 7 * 224  # seven standard deviations


def test_two_calls_and_two_entropies_differ() -> None:
    first, second = OsEntropy(), OsEntropy()
    drawn = [*first.words(100), *first.words(100), *second.words(100)]
    assert len(set(drawn)) == 300


def test_forked_children_share_nothing() -> None:
    entropy = OsEntropy()
    entropy.words(3)
    streams = [words_of_fork(entropy) for _ in range(32)]
    streams.append(tuple(entropy.words(4).tolist()))
    assert len({word for stream in streams for word in stream}) == 33 * 4


def test_fork_handler_alone_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    # A child may be given the process id of a dead ancestor.
    monkeypatch.setattr(os, "getpid", lambda: 4711)
    entropy = OsEntropy()
    entropy.words(3)
    streams = [words_of_fork(entropy), words_of_fork(entropy), tuple(entropy.words(4).tolist())]
    assert len({word for stream in streams for word in stream}) == 12


def test_process_id_alone_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    # Some runtimes fork without running Python's handlers.
    entropy = OsEntropy()
    entropy.words(3)
    before = entropy._context
    monkeypatch.setattr(os, "getpid", lambda: -7)
    entropy.words(1)
    assert entropy._context is not before


def test_fork_while_the_lock_is_held_does_not_hang() -> None:
    entropy = OsEntropy()
    with entropy._lock:
        assert len(words_of_fork(entropy)) == 4


def test_key_is_replaced_after_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entropy_module, "REKEY_BYTES", 64)
    keys: list[bytes] = []
    urandom = os.urandom

    def recorded(n: int) -> bytes:
        keys.append(urandom(n))
        return keys[-1]

    monkeypatch.setattr(os, "urandom", recorded)
    words = OsEntropy().words(100)
    assert len(keys) == 13  # 800 bytes, 64 to a key
    assert len(set(keys)) == 13
    assert len(set(words.tolist())) == 100


def test_threads_never_get_the_same_word() -> None:
    entropy = OsEntropy()
    drawn: list[list[int]] = [[] for _ in range(8)]

    def work(mine: list[int]) -> None:
        for _ in range(500):
            mine.extend(entropy.words(3).tolist())

    threads = [threading.Thread(target=work, args=(mine,)) for mine in drawn]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = [word for mine in drawn for word in mine]
    assert len(everything) == len(set(everything)) == 8 * 500 * 3


def test_stream_is_used_under_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    entropy = OsEntropy()
    plain = OsEntropy._stream
    seen = []

    def watched(self: OsEntropy) -> object:
        seen.append(self._lock.locked())
        return plain(self)

    monkeypatch.setattr(OsEntropy, "_stream", watched)
    entropy.words(5)
    assert seen == [True]


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copies_are_refused(duplicate: object) -> None:
    assert callable(duplicate)
    with pytest.raises(TypeError, match="never copied"):
        duplicate(OsEntropy())
