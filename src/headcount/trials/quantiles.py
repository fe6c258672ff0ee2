"""Trial of ``quantiles`` end to end on DuckDB: what reaches noise and choices, user by user."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import pyarrow as pa

from headcount.audit.greybox import Declared, Recording, compare
from headcount.audit.verdict import Finding
from headcount.contributions import values as values_module
from headcount.contributions.groups import USER
from headcount.contributions.sampled_values import Values
from headcount.contributions.values import CELL
from headcount.mechanisms.hierarchical_histogram import sensitivity_of
from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.privacy.event import Composed
from headcount.privacy.neighbours import Neighbours
from headcount.releases.choices import PerUser
from headcount.trials.door import opened, released
from headcount.trials.given import given
from headcount.trials.seam import Recorder, calls_of, choice_settings, settings_of, swapped
from headcount.trials.trial import Case, Effort, Trial

Rows = list[tuple[str, float | None]]
Swap = Callable[[], AbstractContextManager[Any]]
OTHERS: Rows = [(f"u{i}", float(i % 30)) for i in range(60)]
VICTIMS: dict[str, Rows] = {
    "one value": [("v", 12.0)],
    "many values": [("v", float(x)) for x in range(25)],
    "a thousand copies": [("v", 3.0)] * 1000,
    "strange values": [("v", x) for x in (float("nan"), float("inf"), -1e308, None, 1e299)],
    "nothing but missing": [("v", None), ("v", float("nan"))],
}


def _table(rows: Rows) -> pa.Table:
    users, numbers = zip(*rows, strict=True) if rows else ((), ())
    return pa.table({"user": pa.array(users, pa.string()), "x": pa.array(numbers, pa.float64())})


def _recorded(rows: Rows, per_user: PerUser) -> tuple[Recording, Any]:
    recorder = Recorder()
    with opened(_table(rows), user="user") as data:
        plan = data.quantiles(
            "x", at=[0.5, 0.9], bounds=(0, 32), step=1, per_user=per_user, spend="1"
        )
        text = f"{plan}\n{plan.explain()}"
        released(plan, recorder)
    return Recording(calls_of(recorder, {}), {"plan": text}), plan.work.event


def _declared(event: Any) -> list[Declared]:
    """What the events say: noise for a user in one block of each level, then two choices."""
    assert isinstance(event, Composed)  # noqa: S101  two quantiles are chosen
    noise, *choices = event.events
    sensitivity = sensitivity_of(int(noise.l2_squared))  # type: ignore[union-attr]
    claims = [
        Declared(
            settings_of(DiscreteGaussian(noise.sigma_squared)),  # type: ignore[union-attr]
            l0=sensitivity.l0,
            l1=float(sensitivity.l1),
            l2_squared=float(sensitivity.l2_squared),
            linf=1.0,
        )
    ]
    for choice, max_move in zip(choices, (1, 9), strict=True):
        rate = choice.epsilon / (2 * max_move)  # type: ignore[union-attr]
        claims.append(Declared(choice_settings(rate), score_range=2 * max_move))
    return claims


def _examined(swap: Swap, kinds: Sequence[PerUser]) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        findings = []
        victims = VICTIMS if effort is Effort.FULL else dict(list(VICTIMS.items())[:2])
        for name, victim in victims.items():
            every_kind = effort is Effort.FULL and name == "many values"
            for per_user in kinds if every_kind else kinds[:1]:
                for others in (OTHERS, OTHERS[5:6]):
                    with swap():
                        left, event = _recorded(others + victim, per_user)
                        right, _ = _recorded(others, per_user)
                    subject = f"{len(others)} users, and one of {name}, {per_user}"
                    findings += compare(left, right, _declared(event), subject)
        return findings

    return examined


@contextmanager
def every_row_counts() -> Iterator[None]:
    """A user counts once for every value."""

    def placed(table: Any, of: str, _per_user: str, cells: Any, _key: bytes) -> Any:
        rows = table.expr
        x = values_module._finite(rows[of])
        located = rows.select(**{USER: rows[table.user], CELL: values_module._cell(x, cells)})
        return located.filter(located[CELL].notnull())

    with swapped(values_module, "placed", placed):
        yield


@contextmanager
def bounds_from_data() -> Iterator[None]:
    """The cells reach as far as the largest value."""
    shipped = Values.users_per_cell

    def users_per_cell(self: Any, neighbours: Neighbours) -> Any:
        query = shipped(self, neighbours)
        true_cells = query.ask()
        last = int(np.flatnonzero(true_cells).max(initial=0))
        stretched = np.arange(last + 1) * len(true_cells) // (last + 1)
        cells = np.bincount(stretched, true_cells[: last + 1], len(true_cells)).astype(np.int64)
        return given(query.sensitivity, cells)

    with swapped(Values, "users_per_cell", users_per_cell):
        yield


@contextmanager
def weighted_by_rows() -> Iterator[None]:
    """Users are worth as much as they have rows, up to three."""
    shipped = values_module._counted

    def counted(table: Any, users: Any, cells: Any) -> Any:
        rows = table.expr
        n_rows = rows.group_by(**{USER: rows[table.user]}).agg(n=rows.count())
        heavy = n_rows.filter(n_rows.n > 2)
        again = users.semi_join(heavy, USER)
        return shipped(table, users, cells) + shipped(table, again, cells)

    with swapped(values_module, "_counted", counted):
        yield


KINDS: tuple[PerUser, ...] = ("median", "mean", "sum", "sampled")
TRIAL = Trial(
    "quantiles",
    (
        Case("as shipped", _examined(nullcontext, KINDS), is_mutant=False),
        Case("every row counts", _examined(every_row_counts, KINDS)),
        Case("users weighted by their rows", _examined(weighted_by_rows, KINDS)),
        Case("cells that depend on the largest value", _examined(bounds_from_data, ("max",))),
    ),
)
