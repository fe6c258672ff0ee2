"""Tokens of people and programs that use the control API: made from entropy, kept as a hash.

``hc1.<16 hexadecimal digits that name it>.<43 letters of chance>``. It is shown once, when it is
made. A hash of 256 bits of chance needs no salt and no stretching.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

from headcount.errors import UsageError
from headcount.fleet.control_store import ControlStore
from headcount.privacy.argument import whole
from headcount.screens import quoted

SCOPES = {
    "reader": frozenset({"look"}),
    "analyst": frozenset({"look", "collect"}),
    "operator": frozenset({"look", "drive"}),
    "owner": frozenset({"look", "collect", "drive", "apply"}),
}
"""What each role may do: look at tasks and rounds, collect releases, drive rounds, spend."""
MOST_DAYS = 366
TOKEN = re.compile(r"hc1\.([0-9a-f]{16})\.([A-Za-z0-9_-]{43})")
HASHED = b"headcount/1 token\x00"
NOBODY = bytes(32)


def make_token(store: ControlStore, role: str, whose: str, days: int = 90) -> str:
    """A new token, shown this once; only the owner of the fleet's tables can make one."""
    if role not in SCOPES:
        raise UsageError(f"A role is {', '.join(SCOPES)}, not {quoted(role)}. Nothing was made.")
    whole(1, MOST_DAYS, "90")(days, "days")
    if not 0 < len(whose) <= 200 or not whose.isprintable():
        raise UsageError("A token says whose it is, in 1 to 200 characters. Nothing was made.")
    name, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    store.keep_token(name, _digest(name, secret), whose, role, days * 86_400)
    return f"hc1.{name}.{secret}"


def revoke_token(store: ControlStore, name: str) -> None:
    """Take a token back, by the digits that name it or by all of it."""
    found = TOKEN.fullmatch(name)
    if not store.revoke_token(found[1] if found else name):
        raise UsageError("There is no token of this name. Nothing was changed.")


def role_of(store: ControlStore, token: str) -> str | None:
    """The role of whoever holds this token; nothing where it lets nobody in."""
    found = TOKEN.fullmatch(token)
    if found is None:
        return None
    known = store.token(found[1])
    digest, role, is_good = known or (NOBODY, "", False)
    # Also where there is no such token, and in a time that does not tell how much is right.
    is_it = hmac.compare_digest(_digest(found[1], found[2]), digest)
    return role if is_it and is_good else None


def _digest(name: str, secret: str) -> bytes:
    return hashlib.sha256(HASHED + f"{name}.{secret}".encode()).digest()
