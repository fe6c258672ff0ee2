"""What is planted into a verb: draws that nobody paid for, and private numbers beside the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from headcount.contributions.bound import bound
from headcount.contributions.events import users_of
from headcount.contributions.frequencies import true_frequencies
from headcount.mechanisms import laplace_threshold
from headcount.mechanisms.chance import Chance
from headcount.mechanisms.gaussian import Gaussian
from headcount.mechanisms.radius import Radius
from headcount.privacy.bounds import Bounds
from headcount.privacy.event import LaplaceNoise, LaplaceThreshold
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp
from headcount.releases.count_users import adaptive
from headcount.releases.count_users.notes import notes_of, shown_and_withheld
from headcount.releases.dataset import Dataset
from headcount.releases.run import Checked, Work
from headcount.releases.session import Answer, Session
from headcount.tables.user_table import UserTable
from headcount.trials.given import given
from headcount.trials.seam import swapped
from headcount.trials.tables import GROUP

Plant = Callable[[Work], Work]
MANY = 1 << 10


def beside_the_engine(table: UserTable, expr: Any) -> int:
    """The one number of a query that is compiled and run with no engine of ours being asked."""
    connection = table.engine.connection
    return int(connection.con.execute(str(connection.compile(expr))).fetchall()[0][0])


def also(draw: Callable[[int, Any], object], *, last: bool = False) -> Plant:
    """A verb that draws something more, of how many users there are, before or after all else."""

    def planted(work: Work) -> Work:
        def read_and_draw(session: Session) -> Answer:
            true_users = int(users_of(work.table).ask()[0])
            if not last:
                draw(true_users, session.chance)
            answer = work.read_and_draw(session)
            if last:
                draw(true_users, session.chance)
            return answer

        return replace(work, read_and_draw=read_and_draw)

    return planted


def without_delta(work: Work) -> Work:
    """A threshold on groups that are found, of which the noise alone is charged."""
    event = work.event
    if not isinstance(event, LaplaceThreshold):
        raise TypeError("there is no threshold to charge")
    return replace(work, event=LaplaceNoise(event.l1, event.scale))


def a_count(n_users: int, chance: Any) -> object:
    """How many users there are, with noise."""
    mechanism = Gaussian.calibrate(Sensitivity.of_sum(1), Zcdp(1))
    return mechanism.draw(given(mechanism.sensitivity, np.array([n_users], np.int64)), chance)


def a_choice(n_users: int, chance: Any) -> object:
    """A choice by how many users there are."""
    cells = np.array([n_users, n_users // 2, n_users], np.int64)
    choice = Radius(Fraction(1), Neighbours.ADD_REMOVE)
    return choice.draw(given(choice.sensitivity, cells), chance)


def beside(number: Callable[[Work, Chance], int], *, stated: bool = False) -> Plant:
    """A verb that says a number beside its rows: in a note, or among the facts."""

    def planted(work: Work) -> Work:
        def read_and_draw(session: Session) -> Answer:
            answer = work.read_and_draw(session)
            said = number(work, session.chance)
            if stated:
                return replace(answer, stated={**answer.stated, "looked at": float(said)})
            return replace(answer, notes=(*answer.notes, f"{said:,} were looked at."))

        return replace(work, read_and_draw=read_and_draw)

    return planted


def as_a_stage(work: Work) -> Work:
    """A verb that says how many users there are while it runs."""

    def read_and_draw(session: Session) -> Answer:
        stages: Any = session.progress
        stages._say(f"{true_users(work, session.chance):,} users")
        return work.read_and_draw(session)

    return replace(work, read_and_draw=read_and_draw)


def early_look(work: Work) -> Work:
    """A verb that looks at the table when the source is checked, before the charge."""

    def check() -> Checked:
        users_of(work.table).ask()
        return work.check()

    return replace(work, check=check)


def users_told() -> AbstractContextManager[None]:
    """A dataset that says how many users it has."""
    shipped = Dataset.__repr__

    def told(data: Dataset) -> str:
        return f"{shipped(data)} {int(users_of(data.table).ask()[0])} users"

    return swapped(Dataset, "__repr__", told)


def true_users(work: Work, _chance: Chance) -> int:
    """How many users there are."""
    return int(users_of(work.table).ask()[0])


def true_groups(work: Work, _chance: Chance) -> int:
    """How many groups there are."""
    contributions = bound(work.table, GROUP, Bounds(MANY, MANY), key=bytes(32))
    return int(true_frequencies(contributions).n_groups.ask()[0])


def noisy_groups(work: Work, chance: Chance) -> int:
    """The same with noise."""
    noisy: Any = a_count(true_groups(work, chance), chance)
    return int(noisy[0])


@contextmanager
def groups_of_the_few() -> Iterator[None]:
    """Where a count of auto peels, a note says how many groups there were to peel."""
    found: list[int] = []

    def rows(groups: Any, counted: Any) -> Any:
        found.append(groups.num_rows)
        return shown_and_withheld(groups, counted)

    def notes(counted: Any, *others: Any) -> Any:
        said = notes_of(counted, *others)
        return (*said, f"{found[-1]:,} groups.") if counted.method == "peel" else said

    with (
        swapped(adaptive, "shown_and_withheld", rows),
        swapped(adaptive, "notes_of", notes),
    ):
        yield


def one_user_for_two() -> AbstractContextManager[None]:
    """Noise and charge as for a user who comes or goes, also where one becomes another."""

    def under(self: Sensitivity, neighbours: Neighbours, _n_entries: int = 0) -> Sensitivity:
        return replace(self, neighbours=neighbours)

    return swapped(Sensitivity, "under", under)


def ten_deltas() -> AbstractContextManager[None]:
    """A threshold for ten times the delta that is charged."""
    shipped = laplace_threshold.threshold_for

    def low(max_rows: int, scale: Fraction, delta: Fraction) -> int:
        return shipped(max_rows, scale, 10 * delta)

    return swapped(laplace_threshold, "threshold_for", low)
