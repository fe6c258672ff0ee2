"""``headcount verify``: a receipt, and the rows it is of, checked by whoever was not there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from headcount.accounting.convert import shown
from headcount.errors import LedgerError, UsageError
from headcount.ledger.keys import is_public
from headcount.ledger.units import NO_LIMIT, from_units
from headcount.privacy.argument import is_text, refused
from headcount.privacy.neighbours import Neighbours
from headcount.receipts.check import faults
from headcount.receipts.claims import spelled_units
from headcount.receipts.form import LARGEST, DamagedError, parsed
from headcount.receipts.journal import journal_faults
from headcount.receipts.rows import UnlikeError, digests, is_respelled, table_in
from headcount.receipts.software import installed
from headcount.screens import quoted, visible

GIVE = "Give what release.receipt() or headcount receipt wrote."
KEY = "public_key='ed25519:…', as headcount ledger key shows it, or a file that has it"
RESPELLED = (
    "The rows are those of the receipt, and the CSV file is not as headcount writes them: a "
    "spreadsheet or another program saved it again, or an apostrophe that keeps a text from being "
    "run as a formula was taken away. Compare the file that was handed over, or a .parquet file."
)
WITHOUT_LIMIT = spelled_units(from_units(*NO_LIMIT))["rho"]
AS_RELEASED, WITHHELD = "as they were released", "those that were measured and withheld"


@dataclass(frozen=True, slots=True)
class Verified:
    """A receipt in which nothing is wrong. Print it."""

    receipt: Mapping[str, Any]
    """The receipt, as it was signed."""
    is_pinned: bool
    """Whether it was compared with a public key that you gave."""
    rows: str = ""
    """Which rows of the release the file has; nothing where no file was given."""
    is_in_journal: bool = False
    """Whether the journal was read too, and has the entry and the sum before it."""

    def __str__(self) -> str:
        lines = (f"  {name:<9} {visible(text)}" for name, text in self._lines())
        return "\n".join(["The receipt is as it was signed, and its costs are right.", *lines])

    def _lines(self) -> Iterator[tuple[str, str]]:
        release, cost, account, chain, rows, software = (
            self.receipt[name]
            for name in ("release", "cost", "account", "chain", "rows", "software")
        )
        entry, head = chain["entry"], chain["head"]
        at = f"at delta {float(Fraction(account['delta'])):.3g}"
        by = f" by {release['about']['by']}" if "by" in release["about"] else ""
        yield "release", f"{release['verb']}{by}, entry {entry['sequence']} of {entry['at']}"
        relation = Neighbours(account["neighbours"])
        yield "protects", f"{release['unit']}; neighbours: {relation.value}"
        windows = self.receipt.get("windows")
        if windows is not None:
            named = " to ".join(dict.fromkeys((windows["first"], windows["last"])))
            yield "windows", f"{named}: each paid the cost, of epsilon {_epsilon(windows['limit'])}"
            yield "presence", windows["presence"]
        yield (
            "cost",
            f"epsilon {_epsilon(cost)} at delta {float(Fraction(cost['at_delta'])):.3g} (rho "
            f"{cost['rho']}, threshold delta {cost['delta']}), "
            f"worked out again from {len(release['events'])} event(s)",
        )
        yield (
            "account",
            f"{account['name']}: epsilon {_epsilon(account['spent'])} {_of(account)} {at}, this "
            "entry included"
            f"{', as the journal has it' if self.is_in_journal else ''}",
        )
        yield "chain", f"entry {entry['hash']}, head {head['sequence']} {head['hash']}"
        found = self.rows or "no file was given, so no row was compared"
        yield "rows", f"{rows['n']:,} released; {found}"
        yield "software", _software(software)
        pinned = "the one you gave" if self.is_pinned else "compare it with the owner's"
        yield "key", f"{self.receipt['signature']['key']}: {pinned}"


def _of(account: Mapping[str, Any]) -> str:
    if account["limit"]["rho"] == WITHOUT_LIMIT:
        return "spent by all windows together, which have no limit of their own,"
    return f"of {_epsilon(account['limit'])} spent"


def _epsilon(part: Mapping[str, str]) -> str:
    return shown(Fraction(part["epsilon"]))


def _software(said: Mapping[str, str]) -> str:
    same = said["files"] and said["files"] == installed()["files"]
    also = ", the same files as here" if same else ""
    return f"headcount {said['signed']} from {said['from']}{also}; drawn by {said['drew']}"


def verify(
    receipt: str | Path,
    rows: str | Path | None = None,
    *,
    public_key: str | Path | None = None,
    journal: str | Path | None = None,
) -> Verified:
    """Check a receipt, offline; refused with a sentence for each thing that is wrong.

    receipt:     the file that ``release.receipt(path)`` or ``headcount receipt`` wrote
    rows:        the rows that it should be of: .parquet or .csv
    public_key:  the key it must be signed with, or a file that has it: pin the owner's
    journal:     what ``headcount ledger export`` wrote: then the sum of all charges before this
                 one is checked too
    """
    path, key = _path(receipt, "receipt"), None if public_key is None else _key(public_key)
    try:
        body = parsed(_bytes(path))
    except DamagedError as error:
        raise LedgerError(f"{quoted(path)} is no receipt: {error}. {GIVE}") from None
    found = faults(body, key)
    which, wrong = "", list[str]()
    if rows is not None:
        which, wrong = _compared(body, _path(rows, "rows"))
    if journal is not None:
        found += journal_faults(body, _path(journal, "journal"))
    if found or wrong:
        listed = "".join(f"\n- {one}" for one in (*found, *wrong))
        raise LedgerError(f"{_headline(path, rows, is_receipt=bool(found))}:{listed}")
    return Verified(body, key is not None, which, journal is not None)


def _headline(path: Path, rows: str | Path | None, *, is_receipt: bool) -> str:
    """What is to blame: the receipt, or only the file that should have its rows."""
    if is_receipt or rows is None:
        return f"The receipt {quoted(path)} cannot be trusted"
    return (
        f"The receipt {quoted(path)} is as it was signed, and its costs are right. The file "
        f"{quoted(rows)} is not what was released"
    )


def _compared(body: Mapping[str, Any], path: Path) -> tuple[str, list[str]]:
    """Which rows of the release a file has, or what is wrong with them."""
    said, withheld = body["rows"], body["withheld"]
    try:
        table = table_in(path, said["columns"])
    except UnlikeError as error:
        return "", [f"The rows are not those of the receipt: {error}."]
    digest, of_sorted = digests(table, said["columns"])
    known = [said["digest"], *([] if withheld is None else [withheld["digest"]])]
    if digest in known and is_respelled(path, table):
        return "", [RESPELLED]
    if digest == said["digest"] and table.num_rows == said["n"]:
        return f"{quoted(path)} has them all, {AS_RELEASED}", []
    if withheld is not None and digest == withheld["digest"]:
        return f"{quoted(path)} has {WITHHELD}", []
    if of_sorted == said["digest_of_sorted"]:
        return "", ["The rows are those of the receipt, and are not in the order of the release."]
    if table.num_rows != said["n"]:
        return "", [f"The receipt is of {said['n']:,} rows, and there are {table.num_rows:,}."]
    return "", ["The rows are not those of the receipt: a cell was changed, or rows are others."]


def _path(given: Any, name: str) -> Path:
    if not isinstance(given, str | Path) or not is_text(str(given)) or not str(given):
        raise refused(name, "the path of a file", given, f"{name}='receipt.json'")
    return Path(given)


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except (OSError, ValueError):
        raise UsageError(f"The receipt {quoted(path)} cannot be read. {GIVE}") from None


def _key(given: Any) -> str:
    path = _path(given, "public_key")
    text = str(given).strip()
    if not is_public(text):
        try:
            with path.open("rb") as file:
                text = file.read(1000).decode().strip()
        except (OSError, ValueError):
            text = ""
    if not is_public(text):
        raise refused("public_key", "a public key, or a file that has one", given, KEY)
    return text
