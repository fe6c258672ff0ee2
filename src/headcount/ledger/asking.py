"""A charge as it is asked for, what came of it, and how an earlier one is found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from headcount.errors import KeyReusedError
from headcount.ledger.account import Account, Charge, Opening
from headcount.ledger.journal import CHARGE, IN_CHAIN, Head, is_kind
from headcount.ledger.pieces import Run, stored
from headcount.ledger.schema import entries
from headcount.privacy.event import Windowed, from_record
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp

WHAT = (entries.c.key, entries.c.at, entries.c.digest, entries.c.event, entries.c.neighbours)
CHARGE_OF_KEY = sa.select(entries.c.sequence, *WHAT).where(
    is_kind(CHARGE),
    IN_CHAIN,
    entries.c.account == sa.bindparam("account"),
    entries.c.key == sa.bindparam("key"),
)
LATEST_OF_QUESTION = (
    sa.select(entries.c.sequence, *WHAT)
    .where(
        is_kind(CHARGE),
        IN_CHAIN,
        entries.c.account == sa.bindparam("account"),
        entries.c.digest == sa.bindparam("question"),
    )
    .order_by(entries.c.sequence.desc())
    .suffix_with("LIMIT 1")
)
FIRST_OF_QUESTION = LATEST_OF_QUESTION.order_by(None).order_by(entries.c.sequence)
NO_QUESTION = ""
"""Matches no request: a fresh draw looks for none."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One charge as it is asked for. The cost comes from the event's parameters alone."""

    opening: Opening
    analyst: str
    key: str
    fresh: bool
    request_hash: str
    verb: str
    about: Mapping[str, str]
    event: Mapping[str, Any]
    neighbours: str
    spend: Zcdp
    rho: int
    """What the account pays, in whole units; a window pays that by ``times``."""
    delta: int
    windows: Windowed | None = None

    @property
    def account(self) -> Account:
        """Whose budget pays."""
        return self.opening.account

    @property
    def names(self) -> dict[str, str]:
        """What an earlier charge would be found by."""
        question = NO_QUESTION if self.fresh else self.request_hash
        return {"account": self.account.name, "key": self.key, "question": question}


CHARGED, KNOWN, NO_ACCOUNT = "charged", "known", "no account"
ACCOUNT_REFUSES, QUOTA_REFUSES, COVERED = "account", "quota", "covered"
WINDOW_REFUSES, WINDOWS_MISSING, NO_WINDOWS = "window", "windows missing", "no windows"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a store did with a charge: made it, or why not. Only one that was made has a head.

    short:  the window that could not pay, where that is known
    """

    status: str
    head: Head | None = None
    at: str = ""
    short: int | None = None


def find(run: Run, names: Mapping[str, str], request_hash: str) -> Charge | None:
    """The charge under this key, or else one for this question, with what it released.

    Without a key that is the newest. With a key that no charge has it is the first: no later draw
    changes which one that is, so a job that repeats its key is shown the same rows for ever.
    """
    which = FIRST_OF_QUESTION if names["key"] else LATEST_OF_QUESTION
    of_key, of_question = run((CHARGE_OF_KEY, names), (which, names))
    found = of_key or of_question
    if not found:
        return None
    sequence, key, at, digest, event, neighbours = found[0]
    if digest != request_hash:
        raise KeyReusedError(
            f"The key {key!r} was used before in account {names['account']!r} for a different "
            "question, or for the same one about other files or another table (a pattern that "
            "finds a new file, a table that was made again). Nothing was read and nothing was "
            "charged. Use a new key."
        )
    paid_for = from_record(json.loads(event)), Neighbours(neighbours)
    return Charge(int(sequence), False, key, at, stored(run, int(sequence)), paid_for)
