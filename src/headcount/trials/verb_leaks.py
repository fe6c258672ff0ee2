"""What is planted beside a verb: private numbers in what is stored, told, logged and charged."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

from headcount.accounting import compose
from headcount.contributions.events import users_of
from headcount.contributions.groups import USER, Grouped
from headcount.ledger.ledger import Ledger
from headcount.releases import rows as rows_module
from headcount.releases import run as run_module
from headcount.releases.request import Request
from headcount.releases.run import Checked, Work
from headcount.releases.session import Answer, Session
from headcount.results import release as release_module
from headcount.tables.user_table import UserTable
from headcount.trials.seam import swapped
from headcount.trials.verb_plants import beside_the_engine, true_users


@contextmanager
def _both(one: AbstractContextManager[None], other: AbstractContextManager[None]) -> Iterator[None]:
    with one, other:
        yield


def early_look_by_ibis(work: Work) -> Work:
    """The same by a query that no engine of ours is asked."""

    def check() -> Checked:
        beside_the_engine(work.table, work.table.expr.count())
        return work.check()

    return replace(work, check=check)


def tables_as_they_are() -> AbstractContextManager[None]:
    """Tables leave with all that they carry beside their rows."""
    return swapped(release_module, "plain", lambda table: table)


def users_beside(work: Work) -> Work:
    """A verb that puts the number of users beside the rows it withholds."""

    def read_and_draw(session: Session) -> Answer:
        answer = work.read_and_draw(session)
        said = {"users": str(true_users(work, session.chance))}
        return replace(answer, withheld=answer.rows.replace_schema_metadata(said))

    return replace(work, read_and_draw=read_and_draw)


def users_in_the_journal() -> AbstractContextManager[None]:
    """The ledger is told how many users there are."""
    shipped = Request.about
    told: list[UserTable] = []

    def charged(work: Work, *arguments: Any, **named: Any) -> Any:
        told.append(work.table)
        return shipped_charged(work, *arguments, **named)

    def about(request: Request) -> dict[str, str]:
        return {**shipped(request), "users": str(int(users_of(told[-1]).ask()[0]))}

    shipped_charged = Work.charged
    return _both(swapped(Work, "charged", charged), swapped(Request, "about", about))


def at_half_price() -> AbstractContextManager[None]:
    """The ledger is told of twice the noise that is drawn."""
    shipped = Ledger.charge

    def charge(ledger: Ledger, *arguments: Any, event: Any, **named: Any) -> Any:
        event = replace(event, sigma_squared=2 * event.sigma_squared)
        return shipped(ledger, *arguments, event=event, **named)

    return _both(
        swapped(Ledger, "charge", charge),
        swapped(run_module, "_refuse_unpaid", lambda _work, _charge: None),
    )


def equal_parts_once() -> AbstractContextManager[None]:
    """Parts of an event that cost the same are charged once."""
    shipped = compose.total
    return swapped(compose, "total", lambda spends: shipped(set(spends)))


def by_size() -> AbstractContextManager[None]:
    """Shares leave in the order of their size."""
    shipped = rows_module.sorted_rows

    def unsorted(groups: Any, **columns: Any) -> Any:
        return shipped(groups, **columns).sort_by([("share", "ascending")])

    return swapped(rows_module, "sorted_rows", unsorted)


def one_for_each_row() -> AbstractContextManager[None]:
    """A user counts once for each row, where groups are of two columns."""
    shipped = Grouped.pairs

    def pairs(grouped: Grouped) -> Any:
        if len(grouped.columns) > 1:
            return grouped.rows.select(USER, *grouped.columns)
        return shipped(grouped)

    return swapped(Grouped, "pairs", pairs)


def rows_told() -> AbstractContextManager[None]:
    """A log line says how many rows a condition leaves."""
    shipped = UserTable.narrowed

    def narrowed(table: UserTable, where: str) -> UserTable:
        chosen = shipped(table, where)
        n_rows = beside_the_engine(chosen, chosen.expr.count())
        logging.getLogger("headcount").info("%d rows", n_rows)
        return chosen

    return swapped(UserTable, "narrowed", narrowed)
