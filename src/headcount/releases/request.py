"""What a release was asked for, as a value with one canonical spelling and one hash."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headcount.contributions.listed import Groups


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

    def about(self) -> dict[str, str]:
        """The request in words, for whoever reads the ledger; all of it is public."""
        return {"source": self.source, "rows": self.rows, **self.asked()}

    def asked(self) -> dict[str, str]:
        """The question alone, for whoever reads the rows: not where the table is kept."""
        words = {name: _spelled(value) for name, value in self.arguments if value is not None}
        for unread in ("event", "parts"):
            words.pop(unread, None)
        return {"user": self.user, **words}

    @property
    def rows(self) -> str:
        """Which rows are counted, by which groups: a part of the hash of its own."""
        named = dict(self.arguments)
        what = [named.get(name) for name in ("parts", "where", "csv", "types", "trusted_view")]
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
