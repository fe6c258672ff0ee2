"""What holds connections belongs to the process that opened them."""

from __future__ import annotations

import os

from headcount.errors import UsageError


class Owned:
    """Belongs to the process that made it: connections do not survive a fork or a pickle."""

    __slots__ = ("_process",)

    def __init__(self) -> None:
        self._process = os.getpid()

    def check(self, what: str) -> None:
        """Refuse in another process."""
        if os.getpid() != self._process:
            raise UsageError(
                f"This {what} was made in another process, and its connections cannot be used "
                "after a fork. Call hc.open(...) in this process. Nothing was read and nothing "
                "was charged."
            )


def not_pickled(what: str) -> UsageError:
    """The refusal of a copy for another process."""
    return UsageError(
        f"A {what} cannot be pickled: it holds connections to the table and to the ledger. Send "
        "the arguments of hc.open(...) instead, and open it there. Nothing was charged."
    )
