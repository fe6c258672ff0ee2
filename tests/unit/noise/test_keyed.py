"""Words of a key and a message: the same twice, others for another message, never sent."""

from __future__ import annotations

import hmac
import pickle

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from headcount.noise import keyed
from headcount.noise.keyed import KeyedEntropy

KEY = bytes(range(32))


def test_the_words_are_those_of_chacha20_under_the_hmac() -> None:
    own = hmac.new(KEY, b"noise|7|x", "sha256").digest()
    stream = Cipher(ChaCha20(own, bytes(16)), mode=None).encryptor().update(bytes(8 * 5))
    entropy = KeyedEntropy(KEY, b"noise|7|x")
    words = np.concatenate([entropy.words(2), entropy.words(0), entropy.words(3)])
    assert words.tobytes() == stream


def test_another_message_or_key_has_other_words() -> None:
    asked = [(KEY, b"1"), (KEY, b"2"), (KEY[::-1], b"1")]
    assert len({KeyedEntropy(*one).words(4).tobytes() for one in asked}) == 3


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33)])
def test_a_key_of_another_length_is_refused(key: bytes) -> None:
    with pytest.raises(ValueError, match="32 secret bytes"):
        KeyedEntropy(key, b"")


def test_it_is_not_sent_and_ends_before_its_stream_does(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match="two holders"):
        pickle.dumps(KeyedEntropy(KEY, b""))
    monkeypatch.setattr(keyed, "MOST_BYTES", 64)
    entropy = KeyedEntropy(KEY, b"")
    entropy.words(8)
    with pytest.raises(ValueError, match="too short"):
        entropy.words(1)
    with pytest.raises(ValueError, match="negative"):
        entropy.words(-1)
