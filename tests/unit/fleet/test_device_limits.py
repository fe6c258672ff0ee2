"""What a device allows, and what it forgets."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.unit.fleet.devices import round_of
from tests.unit.fleet.lines import (
    NOW,
    OWNER,
    PURPOSE,
    Clock,
    Line,
    asked,
    device,
    opened,
    said,
)

from headcount.errors import UsageError
from headcount.fleet import Policy
from headcount.fleet.device_policy import DAY
from headcount.privacy.neighbours import Neighbours

TASK = asked()
ROUND = round_of(TASK)
CANARY = "canary-0123456789"


# What a device allows


def refused_by(tmp_path: Path, task: Any, policy: Policy, round_: Any = None) -> str:
    called: list[int] = []
    line = Line(tmp_path, (task, round_ or round_of(task)))
    one = device(tmp_path, line, lambda: called.append(1), policy)
    (found,) = said(one.run_once())
    assert (called, list(line.folder.iterdir())) == ([], [])
    assert not (tmp_path / "device" / "secret").exists()
    return found


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "owner": ({"owner": "another"}, {}, "does not answer 'another'"),
    "ended": ({"expires": "2027-01-01"}, {}, "ended on 2027-01-01"),
    "too long": ({"expires": "2029-01-01"}, {}, "more than a year"),
    "cover": ({"cover": False}, {}, "without cover"),
    "relation": ({"neighbours": Neighbours.ADD_REMOVE}, {}, "how many devices take part"),
    "rate": ({}, {"max_rate": 0.2}, "with chance 0.25"),
    "threshold": ({}, {"min_threshold": 20}, "an answer of 14 devices would be shown"),
    "answers": ({}, {"max_answers": 2}, "3 answers would be sampled"),
    "price": ({"rho": Fraction(1, 1000)}, {}, "more than it says"),
    "price of rounds": ({"rho": Fraction(1, 80), "answers": 50}, {}, "more than it says"),
    "delta": ({"delta": Fraction(1, 10**9)}, {}, "more than it says"),
    "crumbs": ({"delta": Fraction(1, 10**390)}, {}, "more than it says"),
    "too dear": ({"rho": Fraction(10**390)}, {}, "allows itself"),
    "budget": ({}, {"max_epsilon": 1}, "allows itself"),
    "proof": ({}, {"is_genuine": lambda offer: offer.proof == b"signed"}, "does not prove"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_device_does_not_allow_is_not_answered(tmp_path: Path, case: str) -> None:
    given, limits, why = REFUSED[case]
    assert why in refused_by(tmp_path, asked(**given), Policy(OWNER, **limits))


def test_rounds_that_are_not_the_tasks_own_are_not_answered(tmp_path: Path) -> None:
    policy = Policy(OWNER)
    for i, (round_, why) in enumerate(
        [
            (round_of(asked(owner="another")), "another task"),
            (round_of(TASK, 3), "has 3 rounds"),
            (replace(ROUND, closes=ROUND.closes + 1), "for longer"),
            (replace(ROUND, opens=NOW + 301), "is not open"),
            (replace(ROUND, closes=NOW), "is not open"),
            (replace(ROUND, public_key=bytes(32)), "round's key"),
            (replace(ROUND, public_key=bytes([1]) + bytes(31)), "round's key"),
        ]
    ):
        (tmp_path / str(i)).mkdir()
        assert why in refused_by(tmp_path / str(i), TASK, policy, round_)


def test_bytes_that_are_no_offer_harm_no_other(tmp_path: Path) -> None:
    line = Line(tmp_path, (TASK, replace(ROUND, pad=255)), (TASK, ROUND))
    assert said(device(tmp_path, line).run_once()) == [
        "what was offered is no round of a task",
        "sent",
    ]


def test_a_policy_must_say_whom_it_answers_and_limits_must_be_limits() -> None:
    for wrong in ({"owners": ()}, {"owners": [""]}, {"max_rate": 0.6}, {"min_threshold": 1}):
        with pytest.raises(UsageError):
            Policy(**{"owners": OWNER, **wrong})
    with pytest.raises(UsageError):
        Policy(OWNER, max_epsilon=0)


def test_all_tasks_together_cost_no_more_than_the_device_allows(tmp_path: Path) -> None:
    """One fits, two do not; when the first is long over, the second does, and the first no more."""
    other = asked(expires="2027-02-27")
    clock = Clock()
    line = Line(tmp_path, (TASK, ROUND))
    one = device(tmp_path, line, clock=clock)
    assert said(one.run_once()) == ["sent"]
    line.offers = [(other, round_of(other))]
    assert "allows itself" in said(device(tmp_path, line).run_once())[0]
    assert len(line.sent()) == 1
    clock.now = NOW + 30 * DAY
    later = replace(round_of(other), opens=NOW + 30 * DAY, closes=NOW + 30 * DAY + 60)
    line.offers = [(other, later)]
    assert said(one.run_once()) == ["sent"]
    first_again = replace(round_of(TASK, 1), opens=later.opens, closes=later.closes)
    line.offers = [(TASK, first_again)]
    assert "allows itself" in said(one.run_once())[0]


# Forgetting


def test_who_forgets_never_answers_the_same_period_again(tmp_path: Path) -> None:
    line = Line(tmp_path, (TASK, ROUND))
    line.fails = OSError()
    one = device(tmp_path, line)
    one.run_once()
    secret = (tmp_path / "device" / "secret").read_bytes()
    one.forget()
    one.forget()
    kept_now = b"".join(p.read_bytes() for p in (tmp_path / "device").iterdir())
    for gone in (secret, line.sent()[0], PURPOSE.encode(), OWNER.encode()):
        assert gone not in kept_now
    line.fails = None
    assert "nobody agreed" in said(one.run_once())[0]
    assert device(tmp_path, line).run_once() == []
    for number in (1, 2):
        line.offers = [(TASK, round_of(TASK, number))]
        assert "forgot" in said(device(tmp_path, line).run_once())[0]
    assert len(line.sent()) == 1
    assert line.sent(1) == line.sent(2) == []
    # What it cost still counts, and another task that would fit alone does not.
    other = asked(expires="2027-02-27")
    line.offers = [(other, round_of(other))]
    assert "allows itself" in said(one.run_once())[0]
    assert "A task that was forgotten" in one.explain()
    cheap = asked(expires="2027-02-27", rho=Fraction(3, 100))
    line.offers = [(cheap, round_of(cheap))]
    assert said(one.run_once()) == ["sent"]
    assert (tmp_path / "device" / "secret").read_bytes() != secret


@pytest.mark.parametrize("left", [None, b"", bytes(32), b"half of it"])
def test_a_secret_that_was_lost_is_as_one_that_was_forgotten(
    tmp_path: Path, left: bytes | None
) -> None:
    line = Line(tmp_path, (TASK, ROUND))
    device(tmp_path, line).run_once()
    place = tmp_path / "device" / "secret"
    place.unlink()
    if left is not None:
        place.write_bytes(left)
    line.offers = [(TASK, round_of(TASK, 1))]
    assert "forgot" in said(device(tmp_path, line).run_once())[0]
    assert line.sent(1) == []


def test_a_folder_put_back_flips_no_other_coin_and_counts_once(tmp_path: Path) -> None:
    """As from a backup, before the round was answered: under the same name, and so counted once."""
    line = Line(tmp_path, (TASK, ROUND))
    one = device(tmp_path, line)
    one.run_once()
    with sqlite3.connect(tmp_path / "device" / "device.db") as database:
        database.execute("DELETE FROM answered")
    device(tmp_path, line, lambda: "maps").run_once()
    first, second = line.sent()
    assert first[:16] == second[:16]
    assert (opened(ROUND, first) is None) == (opened(ROUND, second) is None)
