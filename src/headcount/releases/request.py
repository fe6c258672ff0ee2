"""What a release was asked for, as a value with one canonical spelling and one hash."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headcount.contributions.listed import Groups


ALWAYS_ASKED = ("by", "during", "where", "csv", "types", "trusted_view", "groups")
"""Arguments that no plan chooses: they are spelled as the request has them."""


@dataclass(frozen=True, slots=True)
class Request:
    """A verb and its public arguments. Two requests are the same when their hashes are.

    Nothing in here was read from the table's rows.
    """

    verb: str
    source: str
    """What people call it."""
    identity: tuple[str, ...]
    """Where its rows are, however it was spelled."""
    user: str
    arguments: tuple[tuple[str, Any], ...]
    given: tuple[tuple[str, Any], ...] = ()
    """What its asker wrote and did not leave to the plan. Two ways to ask one question differ in
    this alone, so that it is no part of the hash."""

    def about(self) -> dict[str, str]:
        """The request in words, for whoever reads the ledger; all of it is public."""
        return {"source": self.source, "rows": self.rows, "user": self.user, **self._words()}

    def asked(self) -> dict[str, str]:
        """The question alone, for whoever reads the rows: not where the table is kept."""
        words = self._words()
        always = {name: words[name] for name in ALWAYS_ASKED if name in words}
        return {"user": self.user, **always, **{name: _said(one) for name, one in self.given}}

    def settled(self) -> dict[str, str]:
        """What the plan made of what was asked, and of what was left to it."""
        asked = self.asked()
        return {name: text for name, text in self._words().items() if name not in asked}

    def _words(self) -> dict[str, str]:
        words = {name: _spelled(value) for name, value in self.arguments if value is not None}
        for unread in ("event", "parts"):
            words.pop(unread, None)
        return words

    @property
    def rows(self) -> str:
        """Which rows are counted, by which groups: a part of the hash of its own."""
        named = dict(self.arguments)
        what = [named.get(name) for name in ("parts", "where", "csv", "types", "trusted_view")]
        what += [named[name] for name in ("window", "during") if name in named]
        return _digest([self.identity, self.user, what])[:16]

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON spelling."""
        return _digest([self.verb, self.source, self.identity, self.user, self.arguments])


def _digest(value: object) -> str:
    spelled = json.dumps(value, sort_keys=True, default=str, ensure_ascii=True)
    return hashlib.sha256(spelled.encode()).hexdigest()


def _spelled(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _said(value: object) -> str:
    """An argument as its asker wrote it, for people: a pair is the ends of a range."""
    if isinstance(value, list):
        return ", ".join(map(_said, value))
    if isinstance(value, tuple):
        return " to ".join("…" if end is None else _said(end) for end in value)
    return f"{float(value):.15g}" if isinstance(value, Fraction) else str(value)


def spell_groups(groups: Groups | None) -> str | None:
    """A list of public groups as one short text, however long it is.

    Spelled from the groups that are counted and not from what was given: that may be of any type,
    and print as anything.
    """
    if groups is None:
        return None
    spelled = sorted(json.dumps([None if v is None else str(v) for v in g]) for g in groups)
    digest = hashlib.sha256(json.dumps(spelled).encode()).hexdigest()
    return f"{len(spelled)} groups {digest}"
