"""Task files: what is required, what is refused, and the hash that names a task."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.unit.fleet.devices import WRITTEN, task

from headcount.accounting.sampling.solver import RATE_UNIT
from headcount.errors import UsageError
from headcount.fleet.canonical import canonical
from headcount.fleet.characters import characters_of, is_allowed
from headcount.fleet.plan import mechanism_of, planned
from headcount.fleet.task import RATE_BITS, Terms, task_from
from headcount.fleet.task_file import read_file, read_task
from headcount.ledger.ledger import Ledger
from headcount.mechanisms.sample_threshold import COIN_BITS, SampleThreshold
from headcount.privacy.budget import Budget
from headcount.privacy.neighbours import Neighbours

YAML = """
task: top_app
population: phones                    # the ledger's source fleet:phones
owner: fleet-analytics@example.com
purpose: Which app is used most, per day
expires: 2027-03-01
question: {max_bytes: 64, pattern: "[a-z0-9._-]+"}
rounds: {every: 1d, keep_open: 18h, n: 30}
method: sample
spend: {account: app-users, epsilon: 1}
cover: true
attestation: none
"""


def test_yaml_and_a_mapping_say_the_same(tmp_path: Path) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(YAML)
    assert read_file(file) == read_task(WRITTEN)
    assert read_task(read_task(WRITTEN).record()) == read_task(WRITTEN)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{YAML}owner: somebody else\n", "has a key twice"),
        (YAML.replace("n: 30", "n: 30, n: 31"), "has a key twice"),
        ("{", "is not YAML"),
        ("- a list", "must have keys and values"),
        ("!!python/object/apply:os.system ['true']", "is not YAML"),
        ("a: 1\n" * 20_000, "more than 65,536 bytes"),
        ("\x00", "is not YAML"),
    ],
)
def test_a_file_that_is_not_one_is_refused(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(text)
    with pytest.raises(UsageError, match=says):
        read_file(file)
    with pytest.raises(UsageError, match="cannot be read"):
        read_file(tmp_path / "none.yaml")


def changed(place: str, value: Any) -> dict[str, Any]:
    written = deepcopy(WRITTEN)
    *way, last = place.split("/")
    at = written
    for step in way:
        at = at[step]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return written


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        ("owner", None, "has no 'owner'"),
        ("purpose", None, "has no 'purpose'"),
        ("expires", None, "has no 'expires'"),
        ("owner", "", "owner must be a text"),
        ("purpose", "a\nb", "cannot be seen"),
        ("expires", "tomorrow", "a day such as"),
        ("puprose", "why", "Did you mean 'purpose'"),
        ("question/max_byte", 3, "Did you mean 'max_bytes'"),
        ("min_batch", 100, "is not known"),
        ("task", "Top App", "small letters"),
        ("question/max_bytes", 253, "from 1 to 252"),
        ("question/pattern", "(a+)+", "one set of characters"),
        ("question/sql", "DELETE FROM usage", "one SELECT"),
        ("question/sql", "SELECT 1; DROP TABLE usage", "one SELECT"),
        ("question/sql", "SELECTED app FROM usage", "one SELECT"),
        ("question/sql", "  ", "one SELECT"),
        ("question/sql", "SELECT app --\x00", "cannot be seen"),
        ("question/sql", "SELECT app --\u202e", "cannot be seen"),
        ("rounds/every", "1 day", "a time such as"),
        ("rounds/every", 0, "a time such as"),
        ("rounds/keep_open", "25h", "close before the next"),
        ("rounds/n", 1001, "from 1 to 1,000"),
        ("question/answers", 34, "at most 1,000 rounds and answers"),
        ("method", "shuffle", "method must be 'sample'"),
        ("attestation", "nitro", "never tried on such hardware"),
        ("cover", "yes", "true or false"),
        ("spend/epsilon", 0, "a number above 0"),
        ("spend/epsilon", True, "a number above 0"),
        ("spend", 1, "must have keys"),
    ],
)
def test_what_a_task_may_not_say_is_refused(place: str, value: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says) as refused:
        read_task(changed(place, value))
    assert "Nothing was charged" in str(refused.value)


def test_a_question_may_have_several_lines() -> None:
    sql = "SELECT\n\tapp\nFROM usage"
    assert read_task(changed("question/sql", sql)).question.sql == sql


@pytest.mark.parametrize(
    ("today", "says"),
    [
        (date(2027, 3, 2), "from today to a year ahead"),
        (date(2026, 2, 1), "from today to a year ahead"),
        (date(2027, 2, 1), "30 rounds are not over"),
    ],
)
def test_a_task_ends_within_a_year_and_after_its_rounds(today: date, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_task(WRITTEN).check_expiry(today)
    read_task(WRITTEN).check_expiry(date(2027, 1, 1))


def test_the_id_is_of_all_that_a_task_says() -> None:
    first = task()
    assert task_from(first.spelled) == first
    assert task_from(first.spelled).id == first.id
    others = [
        task(rate=Fraction(1, 2) - Fraction(1, 1 << 40)),
        task(threshold=6),
        task(answers=2),
        task(owner="another@example.com"),
        task(purpose="another"),
        task(expires="2027-03-02"),
        task(cover=False),
    ]
    assert len({first.id, *(one.id for one in others)}) == 8


def test_bytes_that_are_not_the_one_spelling_are_no_task() -> None:
    good = task().spelled
    record = json.loads(good)
    odd = [
        b"",
        b"{}",
        b"[1]",
        b"[" * 100_000,
        good + b" ",
        json.dumps(record).encode(),
        canonical(record | {"version": 2}),
        canonical(record | {"more": 1}),
        canonical(record | {"terms": 1}),
        canonical(record | {"terms": record["terms"] | {"rate": [1, 2]}}),
        canonical(record | {"terms": record["terms"] | {"rho": "1e999999999"}}),
        canonical(record | {"terms": record["terms"] | {"rho": "2/4"}}),
        canonical(record | {"rounds": record["rounds"] | {"every": "1d"}}),
    ]
    for spelled in odd:
        with pytest.raises(UsageError):
            task_from(spelled)


@pytest.mark.parametrize("value", [1.5, {"ä": 1}, {"a": "\ud800"}, None, 1 << 53, {1: 2}])
def test_values_that_languages_spell_differently_are_refused(value: Any) -> None:
    with pytest.raises(UsageError):
        canonical(value)


@pytest.mark.parametrize(
    ("rate", "threshold", "rho"),
    [
        (Fraction(1, 2) + Fraction(1, 1 << 40), 20, 1),
        (Fraction(0), 20, 1),
        (Fraction(1, 3), 20, 1),
        (Fraction(1, 4), 4, 1),
        (Fraction(1, 4), 20, 0),
    ],
)
def test_terms_that_hide_nobody_are_refused(rate: Fraction, threshold: int, rho: int) -> None:
    with pytest.raises(UsageError):
        Terms(rate, threshold, Fraction(rho), Fraction(1, 10**6), Neighbours.REPLACE)


def test_a_pattern_is_one_set_of_characters() -> None:
    assert characters_of("[a-c._-]+") == frozenset("abc._-")
    assert characters_of("") is None
    for odd in ("[a-z]", "a+", "[]+", "[^a]+", "[a\\d]+", "[z-a]+", "[a-é]+", "[[a]]+", "[.-z]+"):
        with pytest.raises(UsageError):
            characters_of(odd)
    assert is_allowed("mail", "[a-z]+", 4)
    assert not is_allowed("mails", "[a-z]+", 4)
    assert not is_allowed("Mail", "[a-z]+", 4)
    assert not is_allowed("", "", 4)
    assert is_allowed("日", "", 3)
    assert not is_allowed("日本", "", 5)
    assert not is_allowed("\x1b[2J", "", 9)
    assert not is_allowed("\ud800", "", 9)


def test_a_plan_costs_what_it_may_and_is_paid_once_for_all_rounds(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    account = ledger.open_account(
        "app-users", Budget(epsilon=1, delta=1e-6), Neighbours.REPLACE, ["fleet:phones"]
    )
    made = planned(read_task(WRITTEN), account, date(2027, 1, 1))
    assert Fraction(1, 1 << RATE_BITS) == RATE_UNIT
    done = mechanism_of(made)
    assert isinstance(done, SampleThreshold)
    assert done.coin_limit == made.terms.coin_limit < 1 << COIN_BITS
    assert done.event.n_samples == 30
    assert 110 < done.size_missed_with(0.5) < 140
    charged = ledger.charge(
        ledger.opening("app-users"),
        key="fleet/top_app/1",
        request_hash=made.id.hex(),
        verb="fleet",
        event=done.event,
        neighbours=made.terms.neighbours,
    )
    with pytest.raises(Exception, match="parts 0 to 29"):
        ledger.store_part(charged.sequence, 30, b"rows")
    ledger.verify()
    other = ledger.open_account("web", Budget(epsilon=1, delta=1e-6))
    with pytest.raises(UsageError, match="is add-remove"):
        planned(read_task(WRITTEN), other, date(2027, 1, 1))
