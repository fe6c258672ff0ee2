"""What an account holds and what is left of it, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

from headcount.accounting.convert import epsilon_at, shown, stated_epsilon, zcdp_of
from headcount.ledger.units import NO_LIMIT
from headcount.ledger.units import from_units as from_units
from headcount.ledger.units import units_up as units_up
from headcount.ledger.windows import Windows
from headcount.privacy.budget import Budget
from headcount.privacy.event import Event
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp
from headcount.screens import as_word

CRUMB = Fraction(1, 10**9)


def shown_down(epsilon: Fraction) -> str:
    """What is left, for people, who may ask for that much: rounded down, but for a unit's crumb."""
    if epsilon < Fraction(1, 1000):
        return shown(epsilon)
    return shown(epsilon + CRUMB, down=True)


WORTH_ASKING = Fraction(1, 100)
"""Of less epsilon nothing can be made: people are told what they have instead."""


@dataclass(frozen=True, slots=True)
class Account:
    """The budget of one dataset, for one neighbour relation, at one moment.

    ``stated_delta`` is the delta at which people are told an epsilon. It was fixed when the
    account was opened, together with the limit.
    """

    name: str
    """What it is called in the ledger."""
    neighbours: Neighbours
    """What one user may change: rows added or removed, or replaced."""
    limit: Zcdp
    """All that may ever be spent, in rho and in delta for thresholds."""
    spent: Zcdp
    """What all releases together were charged, in the same units."""
    stated_delta: Fraction
    """The delta of the whole promise."""
    windows: Windows | None = None
    """What a window is and what each may spend; nothing in an account for all time."""

    @classmethod
    def new(
        cls, name: str, neighbours: Neighbours, budget: Budget | None, windows: Windows | None
    ) -> Account:
        """An account as it is opened; without a budget of its own it counts what windows spend."""
        if budget is not None:
            stated = budget.stated_delta
            return cls(name, neighbours, zcdp_of(budget), Zcdp(0), stated, windows)
        assert windows is not None  # noqa: S101  one of them is what it is opened with
        return cls(name, neighbours, from_units(*NO_LIMIT), Zcdp(0), windows.stated_delta, windows)

    @property
    def has_limit(self) -> bool:
        """Whether there is a limit for all time, beside that of each window."""
        return units_up(self.limit) != NO_LIMIT

    @property
    def noise_delta(self) -> Fraction:
        """What the conversion to epsilon has of the stated delta; thresholds have the rest."""
        if self.windows is not None and not self.has_limit:
            return self.windows.noise_delta
        return self.stated_delta - self.limit.delta

    @property
    def left(self) -> Zcdp:
        """What may still be spent."""
        return Zcdp(self.limit.rho - self.spent.rho, self.limit.delta - self.spent.delta)

    @property
    def epsilon_limit(self) -> Fraction:
        """The epsilon that the whole limit amounts to, at the stated delta."""
        if not self.has_limit:
            return epsilon_at(self.limit.rho, self.noise_delta)
        return stated_epsilon(self.limit, self.stated_delta)

    @property
    def epsilon_spent(self) -> Fraction:
        """The epsilon that everything charged so far amounts to, at the stated delta."""
        if not self.has_limit:
            return epsilon_at(self.spent.rho, self.noise_delta)
        return stated_epsilon(self.spent, self.stated_delta)

    @property
    def epsilon_left(self) -> Fraction:
        """The epsilon of one release that takes all that is left.

        Costs add up in rho, not in epsilon, so this and what was spent do not sum to the limit.
        """
        return epsilon_at(self.left.rho, self.noise_delta)

    @property
    def shown_left(self) -> str:
        """The same for people."""
        return shown_down(self.epsilon_left)

    def __str__(self) -> str:
        of = f"of {shown(self.epsilon_limit)} spent" if self.has_limit else "spent by all windows"
        return (
            f"account {self.name!r}: epsilon {shown(self.epsilon_spent)} {of} at delta "
            f"{float(self.stated_delta):.3g} ({self.neighbours.value})"
        )


@dataclass(frozen=True, slots=True)
class Quota:
    """The part of an account's budget that one analyst may spend."""

    account: str
    analyst: str
    limit: Zcdp
    spent: Zcdp

    @property
    def left(self) -> Zcdp:
        """What the analyst may still spend, as long as the account has it."""
        return Zcdp(self.limit.rho - self.spent.rho, self.limit.delta - self.spent.delta)


@dataclass(frozen=True, slots=True)
class Entry:
    """One charge: never changed and never removed.

    ``about`` is what was asked, as public words: the source, the user column, the arguments.
    """

    sequence: int
    """Its number in the journal."""
    account: str
    """The account that paid."""
    key: str
    """The key of the release."""
    verb: str
    """The verb that was asked."""
    spend: Zcdp
    """What was charged, in rho and in delta for thresholds."""
    charged_at: str
    """When, in UTC."""
    has_result: bool
    """Whether rows are stored for it."""
    analyst: str
    """Who was charged."""
    about: Mapping[str, str]
    """What was asked, by name."""
    event: Event
    """The mechanism and its parameters, which the cost follows from."""
    neighbours: Neighbours
    """The relation that the event is stated for."""
    n_parts: int = 0
    """How many rounds stored what they show, where the charge pays for several."""

    @property
    def rounds_shown(self) -> str:
        """How many rounds were shown, in words; nothing where there are none."""
        return f"{self.n_parts:,} round{'' if self.n_parts == 1 else 's'}" if self.n_parts else ""

    @property
    def title(self) -> str:
        """What was released, in a few words."""
        words = [self.verb]
        if "by" in self.about:
            words.append(f"by {self.about['by']}")
        for name in ("within", "top"):
            if name in self.about:
                words.append(f"{name} {self.about[name]}")
        if "during" in self.about:
            words.append(f"during {self.about['during']}")
        if "where" in self.about:
            words.append(f"where {self.about['where']}")
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class Proof:
    """What a ledger has to show for one charge, to somebody who does not have the ledger.

    opened, entry:  the entry that opened the account, and the charge, field by field
    windows:        the entry that gave each window its budget, in an account with windows
    newest:         number and hash of the newest entry that is no result
    spent:          all charges of the account up to this one, in whole units of rho and delta
    """

    ledger: str
    opened: Mapping[str, Any]
    entry: Mapping[str, Any]
    newest: tuple[int, str]
    spent: tuple[int, int]
    windows: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Opening:
    """An account as it is, or as the first charge will open it, and the sources it covers.

    budget:   what to open it with, if there is none yet
    covers:   where the rows are that this charge is about
    windows:  the windows to open it with, which may be all: then the account itself only counts
    """

    account: Account
    budget: Budget | None = None
    covers: tuple[str, ...] = ()
    windows: Windows | None = None


@dataclass(frozen=True, slots=True)
class Charge:
    """What ``Ledger.charge`` did: a new entry, or an old one with what it released, if anything.

    ``paid_for`` is the event of an old entry, and the relation that it was stated for.
    """

    sequence: int
    is_new: bool
    key: str
    charged_at: str
    result: bytes | None
    paid_for: tuple[Event, Neighbours] | None = None
    opened_account: bool = False

    @property
    def named(self) -> str:
        """Which entry this is, for people."""
        day = datetime.fromisoformat(self.charged_at)
        return f"entry {self.sequence} of {day.day} {day:%B %Y}"


def refusal(account: Account, spend: Zcdp) -> str:
    """Why an account cannot pay, with what was asked and what is left."""
    return (
        f"Account {account.name!r} has {_has_and_needs(account, account.left, spend)}. "
        f"Nothing was read and nothing was charged.{_instead(account, account.left, spend)}"
    )


def quota_refusal(account: Account, analyst: str, quota: Quota | None, spend: Zcdp) -> str:
    """Why an analyst may not spend this from an account that could pay."""
    if quota is None:
        return (
            f"Account {account.name!r} has quotas, and none for {analyst!r}. Nothing was read and "
            "nothing was charged. Its owner can give one: headcount ledger open "
            f"{as_word(account.name)} "
            f"--quota {as_word(analyst)}=0.5"
        )
    return (
        f"The quota of {analyst!r} in account {account.name!r} has "
        f"{_has_and_needs(account, quota.left, spend)}. Nothing was read and nothing was "
        f"charged.{_instead(account, quota.left, spend)}"
    )


def quota_left(account: Account, analyst: str, quota: Quota | None, spend: Zcdp) -> str:
    """The quota of an analyst in an account that has quotas, for a plan of this cost."""
    if quota is None:
        return f"none for {analyst}: the release will be refused"
    if not spend <= quota.left:
        needs = _has_and_needs(account, quota.left, spend)
        return f"{analyst} has {needs}: the release will be refused"
    left = epsilon_at(quota.left.rho, account.noise_delta)
    return f"{analyst} has epsilon {shown_down(left)} left"


def _has_and_needs(account: Account, left: Zcdp, spend: Zcdp) -> str:
    if spend.rho > left.rho:
        at = account.noise_delta
        has_epsilon, needs_epsilon = (epsilon_at(rho, at) for rho in (left.rho, spend.rho))
        has, needs = shown_down(has_epsilon), shown(needs_epsilon)
        if has == needs:
            # One number for both would say that it suffices.
            has, needs = shown(has_epsilon, down=True), shown(needs_epsilon, up=True)
        has = f"epsilon {has} left"
    else:
        has = f"delta {float(left.delta):.3g} left for thresholds"
        needs = f"{float(spend.delta):.3g}"
    return f"{has}, this release needs {needs}"


def _instead(account: Account, left: Zcdp, spend: Zcdp) -> str:
    """What to write, where less would do; what was released costs nothing again."""
    has = epsilon_at(left.rho, account.noise_delta)
    if spend.rho <= left.rho:
        return ""
    if has < WORTH_ASKING:
        return (
            " What was released before costs nothing to show again: headcount ledger show "
            f"{as_word(account.name)} lists the keys, headcount ledger result KEY shows the rows."
        )
    return f" Write spend=hc.Budget(epsilon={shown_down(has)}) or less."
