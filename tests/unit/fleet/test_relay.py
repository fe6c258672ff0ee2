"""What a relay keeps of devices, and when it forgets it; files of tokens; the order of a post."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from headcount.errors import FleetError, UsageError
from headcount.fleet import senders
from headcount.fleet.refusals import EnoughError
from headcount.fleet.relay_mix import shuffled
from headcount.fleet.relay_once import FORGET_SECONDS, Once
from headcount.fleet.senders import TokenFile, add_senders
from headcount.trials.seam import swapped

ROUND, OTHER = b"r" * 32, b"o" * 32


async def taken() -> bool:
    return True


async def over() -> bool:
    return False


async def fails() -> bool:
    raise OSError


def send(once: Once, name: bytes, device: str = "a", of: bytes = ROUND) -> bool:
    return asyncio.run(once.send(of, device, name, 1, taken))


def is_let_in(once: Once, name: bytes) -> bool:
    try:
        return send(once, name)
    except EnoughError:
        return False


def test_what_a_device_sent_is_forgotten_a_while_after_its_round() -> None:
    once = Once()
    assert send(once, b"1")
    assert not is_let_in(once, b"2")
    for now, rounds in ((0.0, [ROUND]), (10.0, [OTHER]), (15.0, [ROUND, OTHER]), (20.0, [])):
        once.keep(rounds, now)
        assert not is_let_in(once, b"2"), now
    once.keep([], 20.0 + FORGET_SECONDS)
    assert is_let_in(once, b"2")


def test_nothing_that_is_kept_names_a_device_or_a_report() -> None:
    once, name, device = Once(), b"report-id-16-byt", "device-17@example.com"
    assert send(once, name, device)
    assert send(once, name, device, OTHER)
    first, second = once._rounds[ROUND], once._rounds[OTHER]
    shown = repr([vars(first), vars(second)])
    assert device not in shown
    assert name.decode() not in shown
    # Nor do two rounds have anything in common.
    assert not set(first.n_sent) & set(second.n_sent)
    assert not first.taken & second.taken


def test_a_report_that_was_not_taken_may_be_sent_again() -> None:
    once = Once()

    async def tried() -> bool:
        for sending in (fails, fails):
            with pytest.raises(OSError):  # noqa: PT011  that of the test
                await once.send(ROUND, "a", b"1", 1, sending)
        assert not await once.send(ROUND, "a", b"1", 1, over)
        return await once.send(ROUND, "a", b"1", 1, taken)

    assert asyncio.run(tried())
    assert not is_let_in(once, b"2")
    # What is on disk is not sent again.
    assert asyncio.run(once.send(ROUND, "a", b"1", 1, fails))


def test_every_order_is_as_likely() -> None:
    """Six orders of three, each 1,000 times on average: 6 sd is once in some hundred millions."""
    found = Counter(tuple(shuffled([b"a", b"b", b"c"])) for _ in range(6_000))
    assert len(found) == 6
    assert all(abs(n - 1_000) < 6 * 29 for n in found.values())


def test_a_file_of_tokens_has_their_hashes_alone(tmp_path: Path) -> None:
    place = tmp_path / "devices"
    first, second = add_senders(place, ["a", "b"])
    (third,) = add_senders(place, ["a"])
    assert place.stat().st_mode & 0o777 == 0o600
    text = place.read_text()
    assert not any(one in text for one in (first, second, third))
    known = TokenFile(place)
    assert [known.named(one) for one in (first, second, third)] == ["a", "b", "a"]
    for wrong in ("", "a", first[:-1], first + "x", text.split()[0]):
        assert known.named(wrong) is None


def test_a_file_that_is_written_again_is_read_again(tmp_path: Path) -> None:
    place = tmp_path / "devices"
    (first,) = add_senders(place, ["a"])
    with swapped(senders, "SECONDS", 0.0):
        known = TokenFile(place)
        (second,) = add_senders(place, ["b"])
        assert known.named(second) == "b"
        place.unlink()
        for _ in range(2):
            with pytest.raises(FleetError, match="cannot be read"):
                known.named(first)
        add_senders(place, ["c"])
        assert known.named(first) is None


@pytest.mark.parametrize(
    "written",
    ["x a\n", f"{'0' * 64}\n", f"{'0' * 64} a b\n", f"{'0' * 64} a\n" * 2, "\n", "é\n"],
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, written: str) -> None:
    place = tmp_path / "devices"
    place.write_text(written, "utf-8")
    place.chmod(0o600)
    with pytest.raises(UsageError, match="Nothing was taken"):
        TokenFile(place)


def test_a_file_that_others_may_write_or_are_writing_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "devices"
    add_senders(place, ["a"])
    for mode in (0o620, 0o602):
        place.chmod(mode)
        with pytest.raises(UsageError, match="chmod go-w"):
            TokenFile(place)
    place.chmod(0o600)
    before = place.read_bytes()
    (tmp_path / "devices.draft").touch()
    with pytest.raises(UsageError, match="Nothing was changed"):
        add_senders(place, ["b"])
    with pytest.raises(UsageError, match="phone-17"):
        add_senders(place, ["b\n"])
    assert place.read_bytes() == before
