"""Which two tables must be hard to tell apart."""

from __future__ import annotations

from enum import StrEnum


class Neighbours(StrEnum):
    """The relation a guarantee is stated for. One account holds one relation."""

    ADD_REMOVE = "add-remove"
    """One table has all rows of one more user. The number of users is private."""

    REPLACE = "replace"
    """One user's rows are exchanged for another's. The number of users is public."""

    @property
    def sentence(self) -> str:
        """What the relation means, for a statement to a person."""
        return self.sentence_of("one user with all their rows")

    def sentence_of(self, whom: str) -> str:
        """The same where the protected are others than users."""
        if self is Neighbours.ADD_REMOVE:
            return f"adding or removing {whom}"
        return f"replacing {whom} by another"
