"""An owner's key, what it signs, and what a device that pins it takes."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.fleet.devices import round_of
from tests.unit.fleet.lines import NOW, OWNER, asked

from headcount.errors import UsageError
from headcount.fleet import Offer, Policy
from headcount.fleet.control_problems import OF_ERRORS, response_of
from headcount.fleet.owner_key import OwnerKey, make_owner_key

TASK = asked()
ROUND = round_of(TASK)


def test_a_key_is_made_once_and_is_its_users_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = make_owner_key(tmp_path / "key")
    finally:
        os.umask(before)
    assert make_owner_key(tmp_path / "key").public == made.public
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["key"]
    assert made.public != make_owner_key(tmp_path / "other").public
    (tmp_path / "key").chmod(0o640)
    with pytest.raises(UsageError, match="Others may read"):
        OwnerKey(tmp_path / "key")
    for content in (b"", bytes(32), bytes(31)):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(UsageError, match="damaged"):
            OwnerKey(tmp_path / "other")
    (tmp_path / "link").symlink_to(tmp_path / "key")
    with pytest.raises(UsageError, match="cannot be read"):
        OwnerKey(tmp_path / "link")
    with pytest.raises(UsageError, match="cannot be kept"):
        make_owner_key(tmp_path / "none" / "key")


def test_a_device_takes_what_a_pinned_key_signed_and_nothing_else(tmp_path: Path) -> None:
    key, other = (make_owner_key(tmp_path / name) for name in ("key", "other"))
    pinned = Policy(OWNER, keys={OWNER: [key.public]})
    both = Policy(OWNER, keys={OWNER: [other.public, key.public]})

    def refusal(policy: Policy, proof: bytes, descriptor: Any = ROUND) -> str | None:
        offer = Offer(TASK.spelled, descriptor.spelled, proof)
        return policy.refusal(offer, TASK, descriptor, NOW)

    good = key.proof(ROUND)
    assert refusal(pinned, good) is None
    assert refusal(both, good) is None
    assert refusal(Policy(OWNER), b"") is None
    for proof in (b"", good[:-1], bytes(64), other.proof(ROUND), bytes([good[0] ^ 1]) + good[1:]):
        assert "not signed" in str(refusal(pinned, proof))
    for changed in (
        {"public_key": bytes(31) + b"\1"},
        {"round": 1},
        {"closes": ROUND.closes - 1},
        {"opens": ROUND.opens + 1},
        {"task": bytes(32)},
    ):
        assert "not signed" in str(refusal(pinned, good, replace(ROUND, **changed)))


@pytest.mark.parametrize(
    "keys",
    [{}, {OWNER: []}, {OWNER: "hunter2"}, {OWNER: 3}, {"another": ["ed25519:" + "0" * 64]}, [1]],
)
def test_keys_that_pin_nothing_are_refused(keys: Any) -> None:
    with pytest.raises(UsageError, match="names each owner"):
        Policy(OWNER, keys=keys)


def test_no_error_of_ours_is_told_in_its_own_words() -> None:
    for kind in OF_ERRORS:
        error = kind.__new__(kind)
        Exception.__init__(error, "hunter2 at /srv/ledger.db on 10.0.0.1 has 12345 left")
        answer = response_of(error)
        assert answer.status_code == kind.http_status
        for word in (b"hunter2", b"/srv", b"10.0.0.1", b"12345"):
            assert word not in answer.body
    assert response_of(ValueError("hunter2")).status_code == 500
    assert b"hunter2" not in response_of(ValueError("hunter2")).body
