"""Check a receipt without the ledger, the table or a network, and say what is wrong with it.

All costs are worked out anew from the events. What one entry cannot show, the sum of all charges
before it, is checked for being possible: at least this charge, and at most the limit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from headcount.accounting.convert import DELTA_UNIT, RHO_UNIT
from headcount.accounting.sampling.search import MAX_THRESHOLD
from headcount.errors import HeadcountError, LedgerError
from headcount.ledger.costs import least_units, understated
from headcount.ledger.journal import CHARGE, HASHED, OPEN, PER_WINDOW, hash_of, start
from headcount.ledger.keys import is_public, is_signed
from headcount.receipts.claims import claims, units_in
from headcount.receipts.form import canonical
from headcount.screens import visible

EXACT = re.compile(r"\d{1,2000}(/\d{1,2000})?")
SIGNED = re.compile(r"-?\d{1,18}")
INSIDE = ("events", "event")
MOST_SAMPLES = 10**6
MOST_EVENTS = 10_000
MOST_OF_STRANGERS = {"events": 100, "samples": 3, "digits": 20_000}
"""So much is worked out for whoever it is from; receipts have a few events of a few digits."""
LONGEST_SAID = 240
BY_A_CRUMB = Fraction(2, 10**6)
"""Logarithms differ in their last digits from machine to machine."""
NOT_WORKED_OUT = (
    "What the entry cost was not worked out: it has very many or very long events, and that much "
    "work is done for a receipt of a key that you trust alone. Give it: --public-key in a shell, "
    "public_key= in Python."
)
SENSELESS = (HeadcountError, LookupError, ValueError, TypeError, AttributeError, ArithmeticError)


def faults(body: Mapping[str, Any], public_key: str | None) -> list[str]:
    """What is wrong with a receipt, in a sentence each; nothing where nothing is."""
    chain = body["chain"]
    found = list(_signature(body, public_key))
    is_known = public_key is not None and not found
    found += _chain(chain)
    try:
        if not is_known and _is_laborious(json.loads(chain["entry"]["event"])):
            return [*found, NOT_WORKED_OUT]
        found += _costs(chain["opened"], chain["entry"])
        found += _claims(body)
    except LedgerError as error:
        found.append(f"What the entry was charged for cannot be paid for: {_short(str(error))}")
    except (*SENSELESS, RecursionError):
        found.append(
            "The entry in chain makes no sense: what it was charged for cannot be worked out."
        )
    return found


def _signature(body: Mapping[str, Any], public_key: str | None) -> Iterator[str]:
    key, value = body["signature"]["key"], body["signature"]["value"]
    if not is_public(key):
        yield "signature.key is no public key: it must be ed25519: and 64 hexadecimal digits."
        return
    if public_key is not None and key != public_key:
        yield f"It was signed with another key than the one you gave: {key}."
    if not is_signed(key, value, canonical(body)):
        yield (
            "The signature is not of this text: something in it was changed after it was signed, "
            "or the key or the signature was."
        )


def _chain(chain: Mapping[str, Any]) -> Iterator[str]:
    opened, entry, head = chain["opened"], chain["entry"], chain["head"]
    for name, one, kind in (("opened", opened, OPEN), ("entry", entry, CHARGE)):
        if one["kind"] != kind:
            yield f"chain.{name} must be an entry of the kind {kind!r}."
        if one["hash"] != hash_of([one[field] for field in HASHED]):
            yield f"chain.{name} has not the hash that its fields make: one of them was changed."
    windows = chain.get("windows")
    if (windows is None) == ("windowed" in entry["event"]):
        yield "chain.windows is there if and only if the charge is of windows, and here it is not."
    elif windows is not None:
        yield from _windows(opened, windows, entry)
    if opened["account"] != entry["account"]:
        yield "chain.opened opens another account than the one that chain.entry charges."
    if not 0 < opened["sequence"] < entry["sequence"] <= head["sequence"]:
        yield (
            "The numbers in chain are not in order: an account is opened before it is charged, and "
            "no entry is newer than the head."
        )
    if head["sequence"] == entry["sequence"] and head["hash"] != entry["hash"]:
        yield "chain.head has the number of the entry and another hash."
    if entry["sequence"] == opened["sequence"] + 1 and entry["previous"] != opened["hash"]:
        yield "chain.entry comes right after chain.opened and does not hold its hash."
    if opened["sequence"] == 1 and opened["previous"] != start(chain["ledger"]).hash:
        yield "chain.opened is the first entry, and of another ledger than chain.ledger says."


def _windows(
    opened: Mapping[str, Any], windows: Mapping[str, Any], entry: Mapping[str, Any]
) -> Iterator[str]:
    """The entry that gave each window its budget, between the other two."""
    if windows["kind"] != PER_WINDOW:
        yield f"chain.windows must be an entry of the kind {PER_WINDOW!r}."
    if windows["hash"] != hash_of([windows[field] for field in HASHED]):
        yield "chain.windows has not the hash that its fields make: one of them was changed."
    if windows["account"] != entry["account"]:
        yield "chain.windows is of another account than the one that chain.entry charges."
    if not opened["sequence"] < windows["sequence"] < entry["sequence"]:
        yield "chain.windows is not between the opening of the account and the charge."
    elif windows["sequence"] == opened["sequence"] + 1 and windows["previous"] != opened["hash"]:
        yield "chain.windows comes right after chain.opened and does not hold its hash."


def _costs(opened: Mapping[str, Any], entry: Mapping[str, Any]) -> Iterator[str]:
    """The charge against what its events cost, worked out anew."""
    event = json.loads(entry["event"])
    _refuse_endless(event)
    rho, delta = least_units(entry["event"], entry["neighbours"], opened["neighbours"])
    if entry["rho"] < rho or entry["delta"] < delta:
        yield (
            "The entry was charged less than its events cost: rho and delta in units of 1e-12 and "
            f"1e-18 are {entry['rho']} and {entry['delta']}, and the events cost {rho} and {delta}."
        )
    elif understated(entry["event"], entry["neighbours"]):
        yield "An event of the entry says that its sample costs less than it does."


def _is_laborious(event: Any) -> bool:
    """Whether a cost takes long to work out: nobody who is not known may ask for that."""
    parts = _parts(event)
    found = {
        "events": len(parts),
        "samples": sum("n_samples" in part for part in parts),
        "digits": sum(
            len(str(one)) for part in parts for n, one in part.items() if n not in INSIDE
        ),
    }
    return any(found[name] > most for name, most in MOST_OF_STRANGERS.items())


def _parts(event: Any) -> list[Any]:
    """An event, and all those inside it."""
    parts = [event]
    for part in parts:
        parts += part.get("events", ())
        parts += [part["event"]] if "event" in part else []
        if len(parts) > MOST_EVENTS:
            raise ValueError("too many events")
    return parts


def _refuse_endless(event: Any) -> None:
    """Refuse numbers whose cost nobody could wait for, before anything is made of them."""
    for part in _parts(event):
        for name, value in part.items():
            if name in (*INSIDE, "kind"):
                continue
            if not (SIGNED if name in ("first", "last") else EXACT).fullmatch(value):
                raise ValueError(name)
        if Fraction(part.get("threshold", 0)) > MAX_THRESHOLD:
            raise ValueError("threshold")
        if Fraction(part.get("n_samples", 0)) > MOST_SAMPLES:
            raise ValueError("n_samples")


def _claims(body: Mapping[str, Any]) -> Iterator[str]:
    """What the receipt says against what its entries make of it."""
    chain, said = body["chain"], body["account"]["spent"]
    opened, entry = chain["opened"], chain["entry"]
    if not EXACT.fullmatch(str(json.loads(opened["event"])["stated_delta"])):
        raise ValueError("stated_delta")
    spent = units_in(said["rho"], RHO_UNIT), units_in(said["delta"], DELTA_UNIT)
    if spent[0] is None or spent[1] is None:
        yield "account.spent is no whole number of the ledger's units."
        return
    if spent[0] < entry["rho"] or spent[1] < entry["delta"]:
        yield "account.spent is less than this entry alone was charged."
    if spent[0] > opened["rho"] or spent[1] > opened["delta"]:
        yield "account.spent is more than the limit that the account was opened with."
        return
    expected = claims(opened, entry, (spent[0], spent[1]), chain.get("windows"))
    for part in expected:
        yield from _different(body[part], expected[part], part)


def _different(said: Any, made: Any, path: str) -> Iterator[str]:
    if isinstance(said, dict) and isinstance(made, dict) and said.keys() == made.keys():
        for name in made:
            yield from _different(said[name], made[name], f"{path}.{name}")
    elif path.endswith(".epsilon"):
        if abs(Fraction(said) - Fraction(made)) > BY_A_CRUMB:
            yield f"{path} is {said}, and worked out again it is {made}."
    elif said != made:
        yield f"{path} is {_short(said)}, and the entries in chain make it {_short(made)}."


def _short(value: Any) -> str:
    text = visible(value if isinstance(value, str) else json.dumps(value))
    return text if len(text) <= LONGEST_SAID else f"{text[: LONGEST_SAID - 1]}…"
