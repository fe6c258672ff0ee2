"""What a receipt says of a release and its account, all of it worked out from the ledger's entries.

Whoever makes a receipt writes these down; whoever checks one works them out again and compares.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from headcount.accounting.convert import DELTA_UNIT, RHO_UNIT, epsilon_at, stated_epsilon
from headcount.ledger.account import from_units
from headcount.privacy.spend import Zcdp
from headcount.privacy.unit import Device, User

MILLIONTH = 10**6


def claims(
    opened: Mapping[str, Any], entry: Mapping[str, Any], spent: tuple[int, int]
) -> dict[str, dict[str, Any]]:
    """The parts ``release``, ``cost`` and ``account`` of a receipt.

    opened:  the entry that opened the account
    entry:   the charge
    spent:   all charges of the account up to this one, in whole units
    """
    about, event = json.loads(entry["about"]), json.loads(entry["event"])
    stated_delta = str(json.loads(opened["event"])["stated_delta"])
    limit = from_units(opened["rho"], opened["delta"])
    at = Fraction(stated_delta)
    charged = from_units(entry["rho"], entry["delta"])
    return {
        "release": {
            "verb": entry["verb"],
            "about": about,
            "events": event.get("events", [event]),
            "unit": unit_of(about),
            "neighbours": entry["neighbours"],
        },
        "cost": {
            **spelled_units(charged),
            "epsilon": epsilon_text(epsilon_at(charged.rho, at - limit.delta)),
            "at_delta": stated_delta,
        },
        "account": {
            "name": opened["account"],
            "neighbours": opened["neighbours"],
            "delta": stated_delta,
            "limit": _stated(limit, at),
            "spent": _stated(from_units(*spent), at),
        },
    }


def unit_of(about: Mapping[str, str]) -> str:
    """Who is protected, from what was asked."""
    if "population" in about:
        return str(Device(about["population"]))
    return str(User(about["user"])) if "user" in about else User.whom


def _stated(spend: Zcdp, at: Fraction) -> dict[str, str]:
    return {**spelled_units(spend), "epsilon": epsilon_text(stated_epsilon(spend, at))}


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
