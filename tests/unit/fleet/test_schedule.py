"""When rounds open, close and are shown."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.fleet.devices import task

from headcount.fleet.control_views import round_shown
from headcount.fleet.schedule import CANCEL, OPEN, Due, due, shown_at

TASK = task(rounds={"every": 100, "keep_open": 60, "n": 3})


@pytest.mark.parametrize(
    ("now", "opened", "orders", "found"),
    [
        (999, (), {}, []),
        (1000, (), {}, [Due(0, False, (1000, 1060))]),
        (1059, (), {}, [Due(0, False, (1000, 1060))]),
        (1060, (), {}, [Due(0, True, (1000, 1060))]),
        (1000, (0,), {}, []),
        (1000, (), {0: CANCEL}, []),
        (1000, (0,), {2: OPEN}, [Due(2, False, None)]),
        (1200, (1,), {0: CANCEL, 2: OPEN}, [Due(2, False, (1200, 1260))]),
        (1300, (), {}, [Due(i, True, (1000 + 100 * i, 1060 + 100 * i)) for i in range(3)]),
    ],
)
def test_what_is_due_follows_from_times_and_orders(
    now: int, opened: tuple[int, ...], orders: dict[int, str], found: list[Due]
) -> None:
    assert list(due(TASK, 1000, opened, orders, now)) == found


@pytest.mark.parametrize(
    ("finished", "at"), [(500, 1010), (1000, 1010), (1010, 1010), (1010.1, 1020), (1039, 1040)]
)
def test_a_round_is_shown_after_whole_delays(finished: float, at: int) -> None:
    assert shown_at(1000, finished, 10) == at


@pytest.mark.parametrize("now", [1059, 1060, 1069, 1070, 1071, 1079])
def test_when_a_late_count_ended_is_not_seen_before_it_is_shown(now: int) -> None:
    """A reader who polls sees the same before and after, until the next time."""

    def seen(finished: float | None, at: int) -> Any:
        state = "closing" if finished is None else "released"
        descriptor = SimpleNamespace(opens=1000, closes=1060)
        opened: Any = SimpleNamespace(descriptor=descriptor, finished=finished, state=state)
        one: Any = SimpleNamespace(task=TASK, at=1000)
        return round_shown(one, 0, opened, None, at, 10)

    before, after = seen(None, now), seen(now + 0.5, now)
    assert before == after
    assert before.shown_at > now
    assert seen(now + 0.5, before.shown_at).state == "released"
