"""What a release was asked for, as a value with one canonical spelling and one hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    """A verb and its public arguments. Two requests are the same when their hashes are.

    Nothing in here was read from the table's rows.
    """

    verb: str
    source: str
    user: str
    arguments: tuple[tuple[str, Any], ...]

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON spelling."""
        spelled = json.dumps(
            [self.verb, self.source, self.user, self.arguments],
            sort_keys=True,
            default=str,
            ensure_ascii=True,
        )
        return hashlib.sha256(spelled.encode()).hexdigest()


def spell_groups(groups: Sequence[Any] | None) -> str | None:
    """A list of public groups as one short text, however long the list is."""
    if groups is None:
        return None
    spelled = json.dumps([list(g) if isinstance(g, tuple) else g for g in groups], default=str)
    return f"{len(groups)} groups {hashlib.sha256(spelled.encode()).hexdigest()}"
