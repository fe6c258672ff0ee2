"""D2: whoever watches a release, and stops it, sees a public list and nothing else.

Two neighbouring tables are told apart by the branch that a count within a target takes on them. A
callback that raises leaves a charged entry without a result, which may be drawn again: what it saw
must then be the same on both, every time.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

import headcount as hc
from headcount.errors import EngineError
from headcount.mechanisms.equal_error.stages import STAGES
from headcount.releases.count_users.adaptive import COLLECTING
from headcount.releases.run import CHARGING, READING, STORED
from headcount.releases.stages import Stages

N_CALLS = 3000 if os.environ.get("HEADCOUNT_LONG") == "1" else 240
LIST = (CHARGING, READING, COLLECTING, *STAGES, STORED)


class Stop(Exception):
    """What the callback raises."""


def crowd(heavy_users: int) -> pa.Table:
    """Forty users in one group, and some in many: one more of these tips the choice of a branch."""
    users, groups = [], []
    for light in range(40):
        users.append(f"a{light}")
        groups.append("g0")
    for heavy in range(heavy_users):
        users += [f"h{heavy}"] * 64
        groups += [f"g{number}" for number in range(64)]
    return pa.table({"user": users, "g": groups})


@pytest.mark.slow
def test_a_callback_that_raises_sees_the_same_list_on_every_branch(tmp_path: Path) -> None:
    seen: dict[int, set[tuple[str, ...]]] = {}
    for heavy_users in (22, 23):
        data = hc.open(
            crowd(heavy_users),
            user="user",
            account=f"{heavy_users} heavy users",
            budget=hc.Budget(rho=1, delta=1e-6),
            ledger=tmp_path / "ledger.db",
        )
        plan = data.count_users(by="g", within=0.1, spend=hc.Budget(rho=1))
        lists = seen.setdefault(heavy_users, set())
        for call in range(N_CALLS // 2):
            last = LIST[call % (len(LIST) - 1)]
            said: list[str] = []

            def listen(stage: str, said: list[str] = said, last: str = last) -> None:
                said.append(stage)
                if stage == last:
                    raise Stop

            kind = Stop if last in (CHARGING, READING) else EngineError
            with pytest.raises(kind):
                plan.release(progress=listen)
            lists.add(tuple(said))
        (entry,) = data.ledger.entries(data.account_name)
        assert not entry.has_result
        whole: list[str] = []
        release = plan.release(progress=whole.append)
        assert tuple(whole) == LIST
        assert release.entry == entry.sequence, "drawn under the charge of the first call"
    prefixes = {LIST[: index + 1] for index in range(len(LIST) - 1)}
    assert seen[22] == seen[23] == prefixes


def test_every_stage_is_said_once_in_order_whatever_a_draw_passes_over() -> None:
    for called in ([], ["b"], ["c", "b"], ["a", "a", "c"]):
        said: list[str] = []
        stages = Stages(("a", "b", "c"), said.append)
        for stage in called:
            stages(stage)
        stages.until("c")
        stages("c")
        assert said == ["a", "b", "c"]
    with pytest.raises(ValueError, match="not among"):
        Stages(("a",), said.append)("z")


class Leave(BaseException):
    """What a caller raises who does not want to be caught."""


@pytest.mark.parametrize("stage", [COLLECTING, *STAGES])
def test_where_a_stop_was_raised_does_not_show(stage: str, tmp_path: Path) -> None:
    """Frames inside a release would say which way it took; so would an error it was linked to."""
    data = hc.open(
        crowd(23), user="user", account="a", budget=hc.Budget(rho=9), ledger=tmp_path / "l"
    )
    plan = data.count_users("g", within=0.2, spend=hc.Budget(rho=1))

    def leave(said: str) -> None:
        if said == stage:
            raise Leave

    with pytest.raises(Leave) as caught:
        plan.release(progress=leave)
    frames = {Path(str(entry.path)).name for entry in caught.traceback}
    assert frames == {Path(__file__).name, "plan.py", "run.py"}
    assert caught.value.__context__ is caught.value.__cause__ is None
