"""What the entries of a ledger say, added up one by one; and a file to go on from."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headcount.errors import LedgerError
from headcount.ledger.costs import least_units, understated, windows_in
from headcount.ledger.journal import (
    CHARGE,
    COVER,
    HASHED,
    OPEN,
    PART,
    PER_WINDOW,
    QUOTA,
    RESULT,
    Head,
    hash_of,
)
from headcount.ledger.noted import Noted
from headcount.ledger.parts import paid_parts
from headcount.ledger.pieces import count_in

FORM = "headcount sums 2"
BOTH = "of a charge that has a result and parts"


class ContradictionError(Exception):
    """What is wrong with an entry, in words for people."""


@dataclass(slots=True)
class History:
    """The sums of all entries up to ``head``."""

    head: Head
    accounts: dict[str, list[Any]] = field(default_factory=dict)
    quotas: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    spent_by: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    covers: dict[str, str] = field(default_factory=dict)
    windows: dict[str, Noted] = field(default_factory=dict)
    last_of: dict[str, int] = field(default_factory=dict)
    n_charges: int = 0
    results: dict[int, tuple[str, int | None]] = field(default_factory=dict)
    """Digest and number of pieces, where all entries are read: the stored bytes are too."""
    parts: dict[tuple[int, int], str] = field(default_factory=dict)
    """Digests of stored parts by charge and round, where all entries are read."""
    paid_parts: dict[int, int] = field(default_factory=dict)
    """How many parts each charge paid for that pays for any, where all entries are read."""
    charges: array[int] = field(default_factory=lambda: array("q"))
    """The numbers of all charges, where all entries are read."""
    understated: list[int] = field(default_factory=list)
    """Charges for samples that cost more than they say, where all entries are read."""
    read_results: bool = False
    """Whether the stored bytes were read and have these digests."""
    is_noted: bool = True
    """Whether the head of this machine says how far this came; not while a standby is away."""

    def add(self, row: Any, *, full: bool) -> None:
        """Take one more entry into account."""
        head, sequence = self.head, row.sequence
        if sequence != head.sequence + 1:
            raise ContradictionError(f"entry {head.sequence + 1} is missing")
        if row.previous != head.hash or row.hash != hash_of(row[: len(HASHED)]):
            raise ContradictionError(f"entry {sequence} was changed after it was written")
        try:
            self._add(row, full=full)
        except ContradictionError:
            raise
        except (
            LookupError,
            ValueError,
            TypeError,
            AttributeError,
            ArithmeticError,
            RecursionError,
        ):
            raise ContradictionError(f"entry {sequence} makes no sense") from None
        self.last_of[row.account] = sequence
        self.head = Head(head.ledger, sequence, row.hash)

    def _add(self, row: Any, *, full: bool) -> None:
        if row.kind == OPEN:
            if row.account in self.accounts:
                raise ContradictionError(f"entry {row.sequence} opens an account a second time")
            stated_delta = json.loads(row.event)["stated_delta"]
            limits = [row.neighbours, stated_delta, row.rho, row.delta]
            self.accounts[row.account] = [*limits, 0, 0, 0]
        elif row.kind == PER_WINDOW:
            self._add_windows(row)
        elif row.kind == COVER:
            if self.covers.get(row.key, row.account) != row.account:
                raise ContradictionError(f"entry {row.sequence} moves a source to another account")
            self.covers[row.key] = row.account
        elif row.kind == QUOTA:
            self.quotas[row.account, row.key] = row.rho, row.delta
            self.accounts[row.account][6] = 1
        elif row.kind == CHARGE:
            self._add_charge(row, full=full)
        elif row.kind == RESULT:
            charge, n = json.loads(row.event)["charge"], count_in(row.about)
            if charge in self.results:
                raise ContradictionError(f"entry {row.sequence} is a second result of one charge")
            if full:
                at = bisect_left(self.charges, charge)
                if at == len(self.charges) or self.charges[at] != charge:
                    raise ContradictionError(f"entry {row.sequence} is a result of no charge")
                rounds = range(self.paid_parts.get(charge, 0))
                if any((charge, part) in self.parts for part in rounds):
                    raise ContradictionError(f"entry {row.sequence} is {BOTH}")
                self.results[charge] = row.digest, n
        elif row.kind == PART:
            self._add_part(row, full=full)
        else:
            raise ValueError(row.kind)

    def _add_part(self, row: Any, *, full: bool) -> None:
        of = json.loads(row.event)
        charge, part = of["charge"], of["part"]
        if type(charge) is not int or type(part) is not int:
            raise TypeError
        if not full:
            return
        if (charge, part) in self.parts:
            raise ContradictionError(f"entry {row.sequence} is a second part of one round")
        if not 0 <= part < self.paid_parts.get(charge, 0):
            raise ContradictionError(f"entry {row.sequence} is a part that nobody paid for")
        if charge in self.results:
            raise ContradictionError(f"entry {row.sequence} is {BOTH}")
        self.parts[charge, part] = row.digest

    def _add_charge(self, row: Any, *, full: bool) -> None:
        account = self.accounts[row.account]
        try:
            rho, delta = least_units(row.event, row.neighbours, account[0])
            cheap = row.rho < rho or row.delta < delta
            if full and not cheap and understated(row.event, row.neighbours):
                self.understated.append(row.sequence)
        except LedgerError as error:
            raise ContradictionError(f"entry {row.sequence} cannot be paid for: {error}") from None
        self._add_to_windows(row)
        if cheap:
            raise ContradictionError(
                f"entry {row.sequence} was charged less than what its event costs"
            )
        account[4] += row.rho
        account[5] += row.delta
        spent = self.spent_by.setdefault((row.account, row.analyst), [0, 0])
        spent[0] += row.rho
        spent[1] += row.delta
        quota = self.quotas.get((row.account, row.analyst), (0, 0)) if account[6] else account[2:4]
        if account[4] > account[2] or account[5] > account[3]:
            raise ContradictionError(f"entry {row.sequence} spends more than the account had")
        if spent[0] > quota[0] or spent[1] > quota[1]:
            raise ContradictionError(f"entry {row.sequence} spends more than its analyst's quota")
        self.n_charges += 1
        if full:
            self.charges.append(row.sequence)
            if n := paid_parts(row.event):
                self.paid_parts[row.sequence] = n

    def _add_windows(self, row: Any) -> None:
        *_, rho_spent, delta_spent, _ = self.accounts[row.account]
        if row.account in self.windows or rho_spent or delta_spent:
            raise ContradictionError(
                f"entry {row.sequence} gives windows to an account that was in use without them"
            )
        said = json.loads(row.event)
        fixed = [said["column"], said["zone"] or "", said["stated_delta"]]
        self.windows[row.account] = Noted([row.key, *fixed, row.rho, row.delta])

    def _add_to_windows(self, row: Any) -> None:
        asked, noted = windows_in(row.event), self.windows.get(row.account)
        if asked is None and noted is None:
            return
        if asked is None or noted is None:
            what = "names no windows, which" if asked is None else "names windows, which not"
            raise ContradictionError(f"entry {row.sequence} {what} its account has")
        if row.rho % asked.times or row.delta % asked.times:
            raise ContradictionError(f"entry {row.sequence} charged its windows unevenly")
        noted.add(asked, row.rho // asked.times, row.delta // asked.times)

    def fixed_rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows that the table of what windows are must have."""
        return ((name, *noted.fixed) for name, noted in self.windows.items())

    def window_rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows that the table of windows must have."""
        for name, noted in self.windows.items():
            unit, *_, rho_limit, delta_limit = noted.fixed
            for number, rho, delta in noted.balances():
                if rho > rho_limit or delta > delta_limit:
                    raise ContradictionError(f"a {unit} of account {name!r} spent more than it had")
                yield name, unit, number, rho_limit, delta_limit, rho, delta

    @property
    def too_cheap(self) -> str:
        """Which charges for samples cost more than they say."""
        if len(self.understated) == 1:
            return f"entry {self.understated[0]} was charged less than what its event costs"
        named = ", ".join(map(str, self.understated))
        return f"entries {named} were each charged less than what their events cost"

    def account_rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows that the table of accounts must have."""
        return ((name, *values) for name, values in self.accounts.items())

    def quota_rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows that the table of quotas must have."""
        return (
            (*who, *limits, *self.spent_by.get(who, (0, 0))) for who, limits in self.quotas.items()
        )

    def save(self, path: Path) -> None:
        """Keep the sums, to read on from here next time; whoever cannot reads from the start."""
        record = {
            "head": [self.head.ledger, self.head.sequence, self.head.hash],
            "accounts": self.accounts,
            "quotas": [[*who, *limits] for who, limits in self.quotas.items()],
            "spent_by": [[*who, *spent] for who, spent in self.spent_by.items()],
            "covers": self.covers,
            "windows": {name: noted.record for name, noted in self.windows.items()},
            "last_of": self.last_of,
            "n_charges": self.n_charges,
        }
        text = json.dumps(record)
        with suppress(OSError):
            handle, draft = tempfile.mkstemp(prefix=".sums-", dir=path.parent)
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(f"{FORM}\n{_check(text)}\n{text}")
                os.replace(draft, path)
            except OSError:
                os.unlink(draft)


def load(path: Path) -> History | None:
    """The sums as they were kept; nothing where there are none, or where a crash cut them short."""
    try:
        form, check, text = path.read_text(encoding="utf-8").split("\n", 2)
        if form != FORM or check != _check(text):
            return None
        record = json.loads(text)
        return History(
            Head(*record["head"]),
            record["accounts"],
            {(row[0], row[1]): (row[2], row[3]) for row in record["quotas"]},
            {(row[0], row[1]): [row[2], row[3]] for row in record["spent_by"]},
            record["covers"],
            {name: Noted.of(said) for name, said in record["windows"].items()},
            record["last_of"],
            record["n_charges"],
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _check(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
