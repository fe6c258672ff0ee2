"""A round with noise, from a charge to a release, by a core in a process of its own."""

from __future__ import annotations

from typing import Any

import pytest
from tests.service.fleets import SAID, counts, cut, reports, round_id, upload, written

from headcount.fleet.core_client import Core
from headcount.fleet.noise_rounds import NoiseRounds
from headcount.ledger.ledger import Ledger

pytestmark = pytest.mark.postgres
NOISE: dict[str, Any] = {"method": "noise"}
LISTED: dict[str, Any] = {
    "max_bytes": 64,
    "pattern": "[a-z0-9._-]+",
    "groups": ["mail", "maps", "news"],
}


@pytest.mark.parametrize("question", [LISTED, {"max_bytes": 64}])
def test_a_round_with_noise_is_drawn_once_and_shown(fleet: Any, question: Any) -> None:
    door = fleet.door()
    task = door.apply(written(**NOISE, question=question))
    round_ = door.open_round(task.id, 0)
    posts = cut(reports(task, round_, SAID), 100)
    assert upload(door, task, posts)
    # Whoever asks the core again and again has no more than who asks once; nor after its end.
    in_order = [body for _, body in door.store.page(round_id(door, task), b"")]
    assert len(in_order) == len(posts)
    with Core(fleet.core.place) as asked:
        told = {asked.count(task, round_, in_order).to_bytes() for _ in range(3)}
    fleet.core.kill()
    fleet.core.start()
    with Core(fleet.core.place) as asked:
        told.add(asked.count(task, round_, in_order).to_bytes())
    assert len(told) == 1
    door.close(task.id, 0)
    (release,) = door.step()
    found = counts(release)
    off = NoiseRounds.of(task).one.error_bound(1 - 1e-9)
    assert abs(found["mail"] - 400) < off
    assert abs(found["maps"] - 300) < off
    assert sorted(found) == question.get("groups", ["mail", "maps"])
    assert "not against the core" in " ".join(release.facts.notes)
    history = Ledger(fleet.book).verify()
    assert history.n_charges == 1
    assert len(history.parts) == 1
    fleet.is_in_order(task, 1)
