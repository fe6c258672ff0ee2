"""The core: each report once, counts from the threshold on, and nothing else, whatever comes."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.fleet.devices import KEY, round_of, secret, sent, task

from headcount.errors import UsageError
from headcount.fleet import core
from headcount.fleet.answering import kept
from headcount.fleet.core import Shown, count, shown_from
from headcount.fleet.seal import new_private_key, public_key_of, seal
from headcount.fleet.wire import Descriptor, body

TASK = task()
ROUND = round_of(TASK)
SAID = ["mail"] * 40 + ["maps"] * 30 + ["rare"] * 3 + [None] * 7
REPORTS = [sent(TASK, ROUND, device, said)[0] for device, said in enumerate(SAID)]
SAMPLED = Counter(
    said
    for device, said in enumerate(SAID)
    if said is not None and kept(TASK, 0, secret(device))[0]
)
EXPECTED = tuple(sorted((said, n) for said, n in SAMPLED.items() if n >= 5))


def shown(*posts: bytes) -> Shown:
    return count(TASK, ROUND, KEY, posts)


def test_what_is_shown_is_the_sampled_truth_from_the_threshold_on() -> None:
    assert shown(b"".join(REPORTS)).counts == EXPECTED
    assert dict(EXPECTED).keys() == {"mail", "maps"}
    assert SAMPLED["mail"] < 40


def test_the_threshold_itself_is_shown_and_one_less_is_not() -> None:
    reports = [seal(ROUND, i.to_bytes(16, "big"), body("mail")) for i in range(5)]
    assert shown(*reports[:4]).counts == ()
    assert shown(*reports).counts == (("mail", 5),)


def test_an_empty_round_shows_nothing_and_is_a_round_like_any_other() -> None:
    empty = shown()
    assert empty.counts == ()
    assert empty == shown(*REPORTS[70:])
    assert shown_from(empty.to_bytes()) == empty


def test_nothing_but_counts_leaves() -> None:
    spelled = shown(b"".join(REPORTS)).to_bytes()
    assert json.loads(spelled).keys() == {"task", "round", "threshold", "counts"}
    small = [REPORTS[i] for i in range(len(SAID)) if SAID[i] in ("mail", "maps")]
    # With and without the rare, the abstaining and the malformed, to the byte.
    odd = seal(ROUND, b"\xff" * 16, body("NOT ALLOWED"))
    assert shown(*small).to_bytes() == spelled == shown(*REPORTS, odd, bytes(320)).to_bytes()


def test_however_reports_are_cut_ordered_and_repeated_each_counts_once() -> None:
    dice = random.Random(3)
    for _ in range(10):
        copies = REPORTS * dice.randint(1, 3)
        dice.shuffle(copies)
        posts = []
        while copies:
            n = dice.randint(1, 40)
            posts.append(b"".join(copies[:n]))
            copies = copies[n:]
        assert shown(*posts).counts == EXPECTED


def test_bytes_of_others_under_a_name_displace_nobody() -> None:
    forged = [report[:16] + bytes(304) for report in REPORTS]
    assert shown(b"".join(forged), b"".join(REPORTS)).counts == EXPECTED


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=700),
            st.binary(min_size=320, max_size=320),
            st.tuples(st.sampled_from(REPORTS), st.integers(0, 319), st.integers(1, 255)).map(
                lambda one: (
                    one[0][: one[1]] + bytes([one[0][one[1]] ^ one[2]]) + one[0][one[1] + 1 :]
                )
            ),
        ),
        max_size=8,
    )
)
def test_malformed_bytes_change_nothing_for_others(odd: list[bytes]) -> None:
    assert shown(*odd, b"".join(REPORTS), *odd).counts == EXPECTED


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(min_size=256, max_size=256), max_size=6))
def test_malformed_bodies_that_open_are_no_answers(odd: list[bytes]) -> None:
    sealed = [seal(ROUND, bytes([200 + i]) * 16, one) for i, one in enumerate(odd)]
    # One that happens to be well formed is one answer of one device, below every threshold.
    assert shown(*sealed, *REPORTS).counts == EXPECTED


def test_reports_of_other_rounds_and_tasks_are_not_counted() -> None:
    other = task(owner="another")
    elsewhere = [
        Descriptor(TASK.id, 1, ROUND.opens, ROUND.closes, ROUND.public_key),
        Descriptor(other.id, 0, ROUND.opens, ROUND.closes, ROUND.public_key),
        Descriptor(TASK.id, 0, ROUND.opens + 1, ROUND.closes, ROUND.public_key),
        Descriptor(TASK.id, 0, ROUND.opens, ROUND.closes, public_key_of(new_private_key())),
    ]
    for descriptor in elsewhere:
        moved = [seal(descriptor, i.to_bytes(16, "big"), body("mail")) for i in range(20)]
        assert shown(*moved, *REPORTS).counts == EXPECTED


def test_what_does_not_belong_together_is_refused_before_anything_is_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(core, "open_some", None)
    with pytest.raises(UsageError, match="another task"):
        count(task(owner="another"), ROUND, KEY, REPORTS)
    with pytest.raises(UsageError, match="key is of another round"):
        count(TASK, ROUND, new_private_key(), REPORTS)
    with pytest.raises(UsageError, match="fewer rounds"):
        count(TASK, round_of(TASK, 30), KEY, REPORTS)


def test_several_answers_of_a_device_are_several_groups() -> None:
    asked = task(answers=2)
    descriptor = round_of(asked)
    posts = [b"".join(sent(asked, descriptor, d, "mail", "maps")) for d in range(40)]
    twice = [b"".join(sent(asked, descriptor, d, "mail", "mail")) for d in range(40)]
    coins = [kept(asked, 0, secret(d)) for d in range(40)]
    first, second = (sum(fall[i] for fall in coins) for i in range(2))
    assert count(asked, descriptor, KEY, posts).counts == (("mail", first), ("maps", second))
    assert count(asked, descriptor, KEY, twice).counts == (("mail", first),)
