"""What whoever holds a release can say of it, whether its rows are here or in files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from headcount.errors import OutputError, UsageError
from headcount.results.output import check_output, write_whole
from headcount.screens import as_word

if TYPE_CHECKING:
    from headcount.results.facts import Facts

RECEIPTS = (".json",)


class Paid:
    """Something that an entry of a ledger paid for."""

    facts: Facts
    """What is true of the release as a whole: method, guarantee, notes, who paid."""
    key: str | None = None
    """The key of the entry: with it, a job that is repeated is shown the same rows."""
    again: str | None = None
    """Which entry these rows were shown from, if they were not drawn just now."""

    signer: Callable[[], str] | None = None
    """Signs the receipt, where the ledger that paid is at hand; it stays in its process."""

    @property
    def guarantee(self) -> str:
        """The promise, in one sentence."""
        return self.facts.guarantee

    @property
    def entry(self) -> int:
        """The number of the ledger entry that paid for this."""
        return self.facts.entry

    def to_bytes(self) -> bytes:
        """What the ledger stores of it."""
        raise NotImplementedError

    @overload
    def receipt(self) -> str: ...
    @overload
    def receipt(self, path: str | Path) -> Path: ...
    def receipt(self, path: str | Path | None = None) -> str | Path:
        """Sign what this release was, cost and was paid from, for whoever was not there.

        The text, or with a path a .json file. ``headcount verify`` checks it, also offline and
        without the ledger. Nothing is read from the table and nothing is charged.
        """
        if self.signer is None:
            held = (
                f"headcount receipt {as_word(self.key)}"
                if self.key
                else "headcount receipt, with its key"
            )
            raise UsageError(
                "This release does not know the ledger that paid for it: it was copied, or is a "
                "stream's, which has none. Nothing was signed. From a ledger, sign it by: "
                f"{held}"
            )
        if path is None:
            return self.signer()
        where, signer = check_output(path, RECEIPTS), self.signer
        return self._written(where, RECEIPTS, lambda draft: write_text(draft, signer()))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "signer"}

    def _written(
        self, path: str | Path, endings: tuple[str, ...], write: Callable[[Path], None]
    ) -> Path:
        """Write a file whole; if that fails, say where the rows are."""
        where = check_output(path, endings)
        try:
            return write_whole(where, write)
        except OutputError as error:
            paid = f" They are stored under entry {self.entry} of account {self.facts.account!r}."
            raise OutputError(
                f"{error} The rows are not lost: write this release again, to another place."
                f"{paid if self.facts.account else ''} That is not charged."
            ) from None


def write_text(draft: Path, text: str) -> None:
    """Write a text to a draft."""
    draft.write_text(text, encoding="utf-8")
