"""The bytes of a round: vectors, one length, and reports that open where they belong alone."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from scipy import stats
from tests.unit.fleet.devices import KEY, round_of, secret, sent, task

from headcount.errors import UsageError
from headcount.fleet.answering import bodies, kept
from headcount.fleet.seal import Opener, new_private_key, seal
from headcount.fleet.wire import PAD, body, coin, descriptor_from, value_in

HERE = Path(__file__)
VECTORS = json.loads(HERE.with_name("vectors.json").read_text("utf-8"))


def script() -> ModuleType:
    where = HERE.parents[3] / "scripts" / "fleet_vectors.py"
    spec = importlib.util.spec_from_file_location("fleet_vectors", where)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_vectors_are_made_again_to_the_byte() -> None:
    assert {name: VECTORS[name] for name in VECTORS if name != "reports"} == script().made()


def test_the_sealed_vectors_open_to_their_values() -> None:
    descriptor = descriptor_from(bytes.fromhex(VECTORS["descriptor"]))
    opener = Opener(bytes.fromhex(VECTORS["round_private_key"]), descriptor.hash)
    for i, one in enumerate(VECTORS["reports"]):
        opened = opener.open(bytes.fromhex(one["report"]))
        assert opened is not None
        assert opened[0] == bytes([i]) * 16
        assert value_in(opened[1]) == one["value"]


def test_every_report_has_one_length_whatever_it_holds() -> None:
    asked = task(answers=3)
    descriptor = round_of(asked)
    said = [(), (None,), ("a",), ("a", "b", "c"), ("a", "a", "a"), ("x" * 64,), ("NOT ALLOWED",)]
    for device, answers in enumerate(said):
        found = sent(asked, descriptor, device, *answers)
        assert [len(report) for report in found] == [320] * 3
    uncovered = task(answers=3, cover=False)
    n = [len(sent(uncovered, round_of(uncovered), d, "a", "b", "c")) for d in range(60)]
    assert set(n) == {0, 1, 2, 3}
    assert sent(uncovered, round_of(uncovered), 0, None) == []


def test_a_body_holds_one_value_or_none() -> None:
    for value in ("a", "päckchen.日本", "x" * 252, None):
        assert len(body(value)) == PAD
        assert value_in(body(value)) == value
    for odd in ("", "x" * 253, "日" * 85):
        with pytest.raises(UsageError):
            body(odd)
    good = body("abc")
    for malformed in (
        b"",
        good[:3],
        b"\x02" + good[1:],
        good[:1] + b"\x02" + good[2:],
        good[:2] + b"\xff\xff" + good[4:],
        good[:-1] + b"\x01",
        body("abc").replace(b"abc", b"\xff\xfe\xfd"),
    ):
        assert value_in(malformed) is None


def test_a_value_is_sent_once_by_a_device() -> None:
    asked = task(answers=3)
    found = bodies(asked, ["a", "a", "b"], [True, True, True])
    assert [value_in(one or b"") for one in found] == ["a", None, "b"]
    # The first one's coin decides about the value; a later one is no second chance.
    found = bodies(asked, ["a", "a", "b"], [False, True, False])
    assert [value_in(one or b"") for one in found] == [None, None, None]


def test_a_coin_belongs_to_one_device_task_round_and_answer() -> None:
    asked, other = task(answers=2), task(answers=2, owner="another")
    coins = {
        coin(secret(device), which.id, number, answer)
        for device in range(5)
        for which in (asked, other)
        for number in range(5)
        for answer in range(2)
    }
    assert len(coins) == 100
    assert max(coins) < 1 << 60
    assert kept(asked, 3, secret(1)) == kept(asked, 3, secret(1))
    with pytest.raises(UsageError):
        coin(b"short", asked.id, 0, 0)


def test_coins_fall_well_as_often_as_the_rate_says() -> None:
    asked = task(answers=2)
    falls = [kept(asked, number, secret(d)) for d in range(1000) for number in range(20)]
    for ones in (sum(a for a, _ in falls), sum(b for _, b in falls), sum(a != b for a, b in falls)):
        assert stats.binomtest(ones, len(falls), 0.5).pvalue > 1e-6


def test_a_report_opens_in_its_own_round_under_its_own_name_alone() -> None:
    asked = task()
    descriptor = round_of(asked)
    (report,) = sent(asked, descriptor, 1, "mail")
    assert Opener(KEY, descriptor.hash).open(report) is not None
    elsewhere = [
        replace(descriptor, round=1),
        replace(descriptor, opens=1),
        replace(descriptor, closes=descriptor.closes + 1),
        replace(descriptor, task=task(owner="another").id),
        replace(descriptor, public_key=bytes(32)),
    ]
    for other in elsewhere:
        assert Opener(KEY, other.hash).open(report) is None
    assert Opener(new_private_key(), descriptor.hash).open(report) is None
    renamed = bytes(16) + report[16:]
    assert Opener(KEY, descriptor.hash).open(renamed) is None
    for at in range(0, len(report), 7):
        flipped = bytearray(report)
        flipped[at] ^= 1
        assert Opener(KEY, descriptor.hash).open(bytes(flipped)) is None, at


def test_descriptors_and_reports_that_cannot_be_are_refused() -> None:
    descriptor = round_of(task())
    assert descriptor_from(descriptor.spelled) == descriptor
    for odd in (b"", descriptor.spelled + b"\x00", replace(descriptor, pad=255).spelled):
        with pytest.raises(UsageError):
            descriptor_from(odd)
    for name, opened in ((b"short", body(None)), (bytes(16), b"short")):
        with pytest.raises(UsageError):
            seal(descriptor, name, opened)


BLOCKED = ("ibis", "duckdb", "pyarrow", "sqlalchemy", "psycopg", "numpy", "scipy", "alembic")


def test_a_device_and_the_core_need_no_engine_and_no_database() -> None:
    code = (
        f"import sys; [sys.modules.__setitem__(name, None) for name in {BLOCKED!r}]; "
        "import headcount.fleet.answering, headcount.fleet.core_process, "
        "headcount.fleet.core_client, headcount.privacy.yaml_file"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
