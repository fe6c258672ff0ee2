"""Accounts with a budget for each window of time: what was fixed, what is left, who was charged.

Each window is a filter of its own, which protects one user within it [TW1]; see ``windows.md``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from headcount.accounting.convert import epsilon_at, shown, zcdp_of
from headcount.errors import UsageError
from headcount.ledger.journal import CHARGE, IN_CHAIN, is_kind
from headcount.ledger.schema import entries, per_window, pieces, results, windows
from headcount.ledger.storable import limit_units, storable
from headcount.ledger.units import from_units
from headcount.privacy.argument import refused
from headcount.privacy.budget import Budget
from headcount.privacy.spend import Zcdp
from headcount.privacy.windows import UNITS, name_of

OTHER = "A window is a part of the promise and does not change. Nothing was charged."


@dataclass(frozen=True, slots=True)
class Windows:
    """What a window of an account is, and what each of them may spend: fixed when it is opened."""

    column: str
    """The column of times."""
    unit: str
    """``hour``, ``day``, ``week`` or ``month``; the level of its balances in the ledger."""
    zone: str | None
    """The zone of the calendar; nothing where the times name none."""
    limit: Zcdp
    """All that may ever be spent on one window."""
    stated_delta: Fraction
    """The delta of the promise for one window."""

    @classmethod
    def of(cls, column: str, unit: str, zone: str | None, budget: Budget) -> Windows:
        """Windows with this budget each."""
        return cls(column, unit, zone, zcdp_of(budget), budget.stated_delta)

    @classmethod
    def of_entry(cls, entry: Mapping[str, Any]) -> Windows:
        """The windows that an entry of the journal fixed."""
        said = json.loads(entry["event"])
        limit = from_units(entry["rho"], entry["delta"])
        delta = Fraction(said["stated_delta"])
        return cls(said["column"], entry["key"], said["zone"], limit, delta)

    @property
    def noise_delta(self) -> Fraction:
        """What the conversion to epsilon has of the stated delta; thresholds have the rest."""
        return self.stated_delta - self.limit.delta

    @property
    def record(self) -> str:
        """What the journal says beside unit and limit."""
        said = {"column": self.column, "zone": self.zone, "stated_delta": str(self.stated_delta)}
        return json.dumps(said, sort_keys=True)

    def named(self, number: int) -> str:
        """What people call the window of this number."""
        return name_of(number, self.unit)

    def __str__(self) -> str:
        at = "" if self.zone is None else f" in {self.zone}"
        return f"{self.unit} of {self.column!r}{at}"


def check_windows(value: Any, name: str) -> Windows | None:
    """Windows that an account can be opened with."""
    if value is None:
        return None
    if not isinstance(value, Windows):
        raise refused(name, "Windows", value, f"{name}=Windows.of('time', 'day', 'UTC', budget)")
    storable(value.column, "The column of times")
    if value.unit not in UNITS:
        raise refused("the unit of a window", f"one of {', '.join(UNITS)}", value.unit, "'day'")
    if value.zone is not None:
        check_zone(value.zone)
    limit_units(value.limit, "The budget of a window")
    return value


def check_zone(zone: str) -> None:
    """Refuse a zone that no calendar knows."""
    try:
        ZoneInfo(storable(zone, "The zone"))
    except (OSError, ValueError, LookupError):
        raise refused("zone", "the name of a time zone", zone, "zone='Europe/Stockholm'") from None


def windows_from(row: Any) -> Windows | None:
    """What was fixed, from its row; nothing for an account without windows."""
    unit, column, zone, stated_delta, rho, delta = row
    if unit is None:
        return None
    return Windows(column, unit, zone or None, from_units(rho, delta), Fraction(stated_delta))


FIXED = (
    per_window.c.level,
    per_window.c.time_column,
    per_window.c.zone,
    per_window.c.stated_delta,
    per_window.c.rho_limit,
    per_window.c.delta_limit,
)


@dataclass(frozen=True, slots=True)
class WindowBalance:
    """What one window may spend, and what was spent on it."""

    number: int
    name: str
    limit: Zcdp
    spent: Zcdp

    @property
    def left(self) -> Zcdp:
        """What may still be spent."""
        return Zcdp(self.limit.rho - self.spent.rho, self.limit.delta - self.spent.delta)


@dataclass(frozen=True, slots=True)
class WindowCharge:
    """One charge of the windows from ``first`` to ``last``, both included.

    spend:       what each of them paid
    times:       how much of that a user pays who is in all of them
    has_result:  whether rows are stored for it
    """

    sequence: int
    key: str
    verb: str
    first: int
    last: int
    times: int
    spend: Zcdp
    has_result: bool


BALANCES = (
    sa.select(windows)
    .where(
        windows.c.account == sa.bindparam("account"),
        windows.c.level == sa.bindparam("level"),
        windows.c.number.between(sa.bindparam("first"), sa.bindparam("last")),
    )
    .order_by(windows.c.number)
)


def balances(
    connection: sa.Connection, account: str, of: Windows, first: int, last: int
) -> list[WindowBalance]:
    """The balances of the windows that were ever charged, in order."""
    asked = {"account": account, "level": of.unit, "first": first, "last": last}
    return [balance_from(row, of) for row in connection.execute(BALANCES, asked)]


def balance_from(row: Any, of: Windows) -> WindowBalance:
    """The balance of a window, from its row."""
    _, _, number, *units = row
    limit, spent = from_units(*units[:2]), from_units(*units[2:])
    return WindowBalance(int(number), of.named(int(number)), limit, spent)


def charges(
    connection: sa.Connection, account: str, first: int | None, last: int | None
) -> Iterator[WindowCharge]:
    """The charges that any of these windows paid, oldest first."""
    stored = (sa.exists().where(t.c.sequence == entries.c.sequence) for t in (results, pieces))
    query = (
        sa.select(entries, sa.or_(*stored).label("has_result"))
        .where(is_kind(CHARGE), IN_CHAIN, entries.c.account == account)
        .order_by(entries.c.sequence)
    )
    for row in connection.execute(query):
        event = json.loads(row.event)
        begin, end, times = (int(event[name]) for name in ("first", "last", "times"))
        if (last is None or begin <= last) and (first is None or end >= first):
            yield WindowCharge(
                sequence=row.sequence,
                key=row.key,
                verb=row.verb,
                first=begin,
                last=end,
                times=times,
                spend=from_units(row.rho // times, row.delta // times),
                has_result=bool(row.has_result),
            )


def refusal(account: str, of: Windows, short: WindowBalance, share: Zcdp) -> str:
    """Why a window cannot pay, with what was asked and what is left."""
    if share.rho > short.left.rho:
        epsilons = [epsilon_at(rho, of.noise_delta) for rho in (short.left.rho, share.rho)]
        has, needs = shown(epsilons[0], down=True), shown(epsilons[1], up=True)
        said = f"epsilon {has} left, and this release needs {needs} of each {of.unit}"
    else:
        said = (
            f"delta {float(short.left.delta):.3g} left for thresholds, and this release needs "
            f"{float(share.delta):.3g} of each {of.unit}"
        )
    return (
        f"The {of.unit} {short.name} of account {account!r} has {said}. No {of.unit} was charged "
        "and nothing was read. A window never gets more: ask for less, or for others."
    )


def check_same_windows(name: str, has: Windows | None, asked: Windows) -> None:
    """Refuse another window than the account was opened with."""
    if has is None:
        raise UsageError(
            f"Account {name!r} has one budget for all time and no windows. {OTHER} Leave the "
            "window out, or open another account for other people."
        )
    if has != asked:
        raise UsageError(
            f"Account {name!r} has a budget for each {has}, and another window or another budget "
            f"of one was named. {OTHER} Leave both out to use the account as it is."
        )
