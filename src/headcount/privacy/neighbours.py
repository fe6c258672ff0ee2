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
        if self is Neighbours.ADD_REMOVE:
            return "adding or removing one user with all their rows"
        return "replacing one user with all their rows by another"
