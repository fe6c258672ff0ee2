"""What a receipt says of a release and its account, all of it worked out from the ledger's entries.

Whoever makes a receipt writes these down; whoever checks one works them out again and compares.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from headcount.accounting.convert import DELTA_UNIT, RHO_UNIT, epsilon_at
from headcount.ledger.account import Account, from_units
from headcount.ledger.presence import presence_words
from headcount.ledger.windows import Windows
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp
from headcount.privacy.unit import Device, User, UserWithin

MILLIONTH = 10**6


def claims(
    opened: Mapping[str, Any],
    entry: Mapping[str, Any],
    spent: tuple[int, int],
    windows: Mapping[str, Any] | None = None,
) -> dict[str, dict[str, Any]]:
    """The parts ``release``, ``cost`` and ``account`` of a receipt, and ``windows`` if there are.

    opened:   the entry that opened the account
    entry:    the charge
    spent:    all charges of the account up to this one, in whole units
    windows:  the entry that gave each window its budget
    """
    about, event = json.loads(entry["about"]), json.loads(entry["event"])
    of = None if windows is None else Windows.of_entry(windows)
    stated_delta = str(json.loads(opened["event"])["stated_delta"])
    account = Account(
        opened["account"],
        Neighbours(opened["neighbours"]),
        from_units(opened["rho"], opened["delta"]),
        from_units(*spent),
        Fraction(stated_delta),
        of,
    )
    times = 1 if of is None else int(event["times"])
    read = event if of is None else event["event"]
    charged = from_units(entry["rho"] // times, entry["delta"] // times)
    noise_delta = account.noise_delta if of is None else of.noise_delta
    made: dict[str, dict[str, Any]] = {
        "release": {
            "verb": entry["verb"],
            "about": about,
            "events": read.get("events", [read]),
            "unit": unit_of(about, of),
            "neighbours": entry["neighbours"],
        },
        "cost": {
            **spelled_units(charged),
            "epsilon": epsilon_text(epsilon_at(charged.rho, noise_delta)),
            "at_delta": stated_delta if of is None else str(of.stated_delta),
        },
        "account": {
            "name": opened["account"],
            "neighbours": opened["neighbours"],
            "delta": stated_delta,
            "limit": _stated(account.limit, account.epsilon_limit),
            "spent": _stated(account.spent, account.epsilon_spent),
        },
    }
    if of is not None:
        made["windows"] = {
            "first": of.named(int(event["first"])),
            "last": of.named(int(event["last"])),
            "times": times,
            "limit": _stated(of.limit, epsilon_at(of.limit.rho, of.noise_delta)),
            "presence": presence_words(account),
        }
    return made


def unit_of(about: Mapping[str, str], windows: Windows | None = None) -> str:
    """Who is protected, from what was asked."""
    if "population" in about:
        return str(Device(about["population"]))
    if windows is not None:
        clock = f" ({windows.zone})" if windows.zone else ""
        return str(UserWithin(about["user"], windows.unit, clock))
    return str(User(about["user"])) if "user" in about else User.whom


def _stated(spend: Zcdp, epsilon: Fraction) -> dict[str, str]:
    return {**spelled_units(spend), "epsilon": epsilon_text(epsilon)}


def spelled_units(spend: Zcdp) -> dict[str, str]:
    """A cost of whole units, as a receipt has it."""
    rho, delta = int(spend.rho / RHO_UNIT), int(spend.delta / DELTA_UNIT)
    return {"rho": decimal(rho, 12), "delta": decimal(delta, 18)}


def decimal(units: int, digits: int) -> str:
    """Whole units of so many digits behind the point, as the shortest decimal number."""
    whole, rest = divmod(units, 10**digits)
    return f"{whole}.{rest:0{digits}d}".rstrip("0").removesuffix(".")


def units_in(text: str, unit: Fraction) -> int | None:
    """A decimal number in whole units; nothing where it is no whole number of them."""
    units = Fraction(text) / unit
    return int(units) if units.denominator == 1 else None


def epsilon_text(epsilon: Fraction) -> str:
    """An epsilon with six digits behind the point, rounded up."""
    return decimal(math.ceil(epsilon * MILLIONTH), 6)
