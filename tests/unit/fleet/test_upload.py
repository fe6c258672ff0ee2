"""The list of open rounds: what devices can read, whatever is open."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.unit.fleet.devices import task as a_task

from headcount.fleet.device_http import MOST_BYTES
from headcount.fleet.offer import Offer
from headcount.fleet.upload import listed
from headcount.fleet.wire import Descriptor, descriptor_from


def offers(n: int, letter: str) -> list[Offer]:
    """Rounds of tasks with the longest questions there are; the last closes first."""
    base = a_task()
    sql = f"SELECT '{letter * 3_900}'"
    question = replace(base.file.question, sql=sql)
    task = replace(base, file=replace(base.file, question=question))
    return [
        Offer(task.spelled, Descriptor(task.id, k, 0, 10_000 - k, bytes(32)).spelled, bytes(64))
        for k in range(n)
    ]


@pytest.mark.parametrize(("letter", "fit"), [("x", 200), ("\u00e9", 100)])
def test_a_list_is_never_longer_than_devices_read(letter: str, fit: int) -> None:
    """Before, one round too many stopped all devices of all tasks."""
    few = listed(offers(20, letter))
    assert len(json.loads(few)["rounds"]) == 20
    many = listed(offers(400, letter))
    assert len(many) <= MOST_BYTES
    found = json.loads(many)["rounds"]
    assert len(found) > fit, "a letter is not spelled in six"
    closes = [descriptor_from(bytes.fromhex(one["descriptor"])).closes for one in found]
    assert closes[0] == 10_000 - 399
    assert closes == sorted(closes), "what closes last is what waits"
