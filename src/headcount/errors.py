"""Every error headcount raises on purpose, in one tree.

::

    HeadcountError                what is wrong, what it means, what to do
    ├── UsageError        exit 2  the request itself: nothing was read, nothing was charged
    │   ├── SchemaError           a column is missing or of a kind that cannot be used
    │   └── MissingExtraError     an optional part is not installed
    ├── BudgetError       exit 3  the account cannot pay; nothing was read, nothing was charged
    ├── LedgerError       exit 4  the ledger cannot be trusted, opened or matched
    │   ├── NoAccountError        there is no account of this name
    │   └── KeyReusedError        one idempotency key, two different requests
    ├── EngineError       exit 5  the engine failed after the charge: one fixed text, no refund
    ├── FleetError        exit 8  the database of a fleet cannot be used, or a round as asked
    └── OutputError       exit 7  the result is there and paid for, but a file was not written

No message holds a true count, a user id, or a group that was found only in data.
"""

from __future__ import annotations

from typing import ClassVar


class HeadcountError(Exception):
    """The root: catch this to catch everything headcount raises on purpose."""

    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500


class UsageError(HeadcountError, ValueError):
    """The request makes no sense as it stands; nothing was read and nothing was charged."""

    exit_code = 2
    http_status = 400


class SchemaError(UsageError):
    """A column is missing, or of a kind that cannot be a user or a group."""


class MissingExtraError(UsageError, ImportError):
    """A part that is installed on demand is not there."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs an optional part that is not installed. "
            f"Run: pip install 'headcount[{extra}]'"
        )
        self.extra = extra


class BudgetError(HeadcountError):
    """The account cannot pay for this release; nothing was read and nothing was charged."""

    exit_code = 3
    http_status = 402


class LedgerError(HeadcountError):
    """The ledger cannot be opened, trusted, or matched with the request."""

    exit_code = 4
    http_status = 409


class NoAccountError(LedgerError):
    """There is no account of this name in the ledger."""

    http_status = 404


class KeyReusedError(LedgerError):
    """An idempotency key was used before, for a different request."""


class EngineError(HeadcountError):
    """The engine failed after the budget was charged.

    The text is fixed. What the engine said may hold cells of the table, so it is dropped, and
    the charge stays because the data may have been read.
    """

    exit_code = 5
    http_status = 500

    TEXT: ClassVar[str] = (
        "The engine could not finish this release. What it reported is withheld because it may "
        "quote private rows. The charge stays, since data may have been read; releasing again "
        "under the same key is free. The table's owner can run the plan's query by hand to see "
        "the cause."
    )

    def __init__(self) -> None:
        super().__init__(self.TEXT)


class OutputError(HeadcountError):
    """A file could not be written. What was to be in it is not lost, and not charged again."""

    exit_code = 7
    http_status = 507


class FleetError(HeadcountError):
    """The database of a fleet cannot be reached or trusted, or a round is not as it must be."""

    exit_code = 8
    http_status = 503
