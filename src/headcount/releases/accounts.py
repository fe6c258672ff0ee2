"""Which account pays for a source: one for one table, however it is spelled."""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from headcount.errors import LedgerError, NoAccountError, UsageError
from headcount.ledger.account import Account, Opening
from headcount.ledger.address import usual_place
from headcount.ledger.opening import check_new, check_same, taken
from headcount.ledger.stores.mounts import file_system
from headcount.screens import as_word, quoted
from headcount.tables.identity import Identity, other_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headcount.ledger.ledger import Ledger
    from headcount.ledger.windows import Windows
    from headcount.privacy.budget import Budget
    from headcount.privacy.neighbours import Neighbours

POPULATION = re.compile(r"fleet:[a-z][a-z0-9_-]{0,62}")
"""Devices that are asked, as an account covers them; they are no table."""
FILES = (".parquet", ".csv", ".csv.gz", ".duckdb")
FLEETING = {
    "overlay": "a layer of a container",
    "aufs": "a layer of a container",
    "tmpfs": "memory",
    "ramfs": "memory",
}


def account_of(book: Ledger, account: str | None, identity: Identity, name: str | None) -> str:
    """The account of a source: as asked, or the one that covers it, or a new one of this name.

    A source that overlaps what another account covers is refused.
    """
    owners = _owners(book, identity)
    asked = {account} if account is not None else {owner for _, owner in owners}
    for source, owner in owners:
        if owner not in asked:
            raise LedgerError(taken(source, owner))
    if len(asked) > 1:
        raise LedgerError(
            f"This source overlaps those of several accounts: {', '.join(sorted(asked))}. "
            "Nothing was charged. Open the tables of each by themselves."
        )
    found = next(iter(asked), name)
    if found is None:
        raise nameless()
    return found


def named_source(
    book: Ledger, source: str, account: str | None, also: Sequence[str] = ()
) -> tuple[str, Identity]:
    """The account and the identity of a source that nobody reads yet, for its owner to open.

    What looks like a path or an address must be there; anything else is a name.
    """
    from headcount.tables.address import is_address
    from headcount.tables.sources import identify

    is_place = looks_like_place(source)
    places = ([source] if is_place else []) + list(also)
    parts = [
        Identity(names=(place,)) if POPULATION.fullmatch(place) else identify(place)
        for place in places
    ]
    identity = Identity(
        names=tuple(name for part in parts for name in part.names),
        files=tuple(file for part in parts for file in part.files),
        rows=tuple(row for part in parts for row in part.rows),
        former=tuple(name for part in parts for name in part.former),
    )
    own = source if not is_place else None
    if is_place and not is_address(source):
        own = str(Path(source).absolute())
    return account_of(book, account if is_place else account or source, identity, own), identity


def looks_like_place(text: str) -> bool:
    """Whether a text is meant as a path, a pattern or an address, and not as a bare name."""
    return any(mark in text for mark in "/\\*?") or text.lower().endswith(FILES)


def _owners(book: Ledger, identity: Identity) -> list[tuple[str, str]]:
    """Every part of the source that an account covers, and which: a file that was put in the place
    of another has that of its path and its own.
    """
    keys = (*identity.names, *identity.former, *(file.key for file in identity.files))
    owners = list(book.covering(keys).items())
    unseen = []
    for file in identity.files:
        inode = file.inode
        records = book.covered_from(inode) if inode else []
        owners += [(file.key, owner) for record, owner in records if file.is_recorded(record)]
        if file.record not in dict(records) or file.has_other_names:
            # Not charged as it is now: written anew since, perhaps, and then given this name.
            unseen.append(file)
    if unseen:
        covered = dict(book.covered_from("/"))
        owners += [(file.key, covered[key]) for file, key in other_names(unseen, list(covered))]
    return owners


def first_names(book: Ledger, identity: Identity) -> dict[str, str]:
    """What files that have several names are called in requests: by the one first charged."""
    linked = [file for file in identity.files if file.has_other_names]
    names: dict[str, list[str]] = {file.key: [file.key] for file in linked}
    if linked:
        covered = [key for key, _ in book.covered_from("/")]
        for file, key in other_names(linked, covered):
            names[file.key].append(key)
    return {key: book.first_covered(also) or key for key, also in names.items()}


def check_owner(book: Ledger, account: str, identity: Identity) -> None:
    """Refuse a source that is another one, or another account's, since it was opened."""
    for file in identity.files:
        if file.has_moved:
            raise LedgerError(
                f"{quoted(file.path)} leads to another file than when it was opened. Nothing was "
                "read and nothing was charged. Open the table again."
            )
    for source, owner in _owners(book, identity):
        if owner != account:
            raise LedgerError(taken(source, owner))


def opening_of(
    book: Ledger,
    name: str,
    budget: Budget | None,
    neighbours: Neighbours,
    identity: Identity,
    windows: Windows | None = None,
) -> Opening:
    """The account as it is, or as the first charge will open it. Nothing is written."""
    account = book.find_account(name)
    if account is not None:
        check_same(account, budget, neighbours, windows)
        return Opening(account, None, identity.covers)
    if identity.untraced:
        raise UsageError(
            f"Between this source and its rows stands {identity.untraced}, so that nobody can say "
            "whether they have an account already. Nothing was charged. Name the account that "
            "covers these people, account=..., or let the ledger's owner open one: headcount "
            f"ledger open {as_word(name)} --budget ..."
        )
    if budget is None and windows is None:
        raise NoAccountError(
            f"There is no account {quoted(name)} in the ledger {book.address!r}, and no budget to "
            "open it with. Say what may ever be spent on these people: "
            "budget=hc.Budget(epsilon=1, delta=1e-6), or headcount ledger open. If they are the "
            "people of an account that exists (a copy, or a file that was renamed and written "
            "to), use that one: account='...'. If there should be an account, check the ledger's "
            "place. Nothing was charged."
        )
    new = Account.new(name, neighbours, budget, windows)
    check_new(new, identity.covers)
    return Opening(new, budget, identity.covers, windows)


def nameless() -> UsageError:
    """The refusal of a source that no account can be named after."""
    return UsageError(
        "This source has no name of its own, and a budget belongs to a named dataset. "
        "Give it one: account='web-events'. Nothing was charged."
    )


def ledger_place(said: str | Path | None = None) -> str | Path:
    """Where the ledger is: as said, or in HEADCOUNT_LEDGER, or the user's data folder.

    Nothing is made. A path may begin with ``~``.
    """
    named = said or os.environ.get("HEADCOUNT_LEDGER")
    if not named:
        return usual_place()
    return os.path.expanduser(named) if str(named).startswith("~") else named


def default_ledger(said: str | Path | None = None) -> str | Path:
    """The same, to be written to: the usual place, if a ledger lasts there. Nothing is made."""
    place = ledger_place(said)
    if not said and not os.environ.get("HEADCOUNT_LEDGER") and not Path(place).exists():
        _check_lasts(Path(place).parent, Path(place))
    return place


def _check_lasts(folder: Path, place: Path) -> None:
    """Refuse to begin a ledger where it would be forgotten: its budgets would be, with it."""
    real = folder.resolve()
    what = FLEETING.get(file_system(real) or "")
    if real.is_relative_to(Path(tempfile.gettempdir()).resolve()):
        what = "the folder for temporary files"
    if what is not None:
        raise LedgerError(
            f"There is no ledger yet, and its usual place {str(place)!r} is in {what}, which does "
            "not last: a ledger that is lost forgets what was spent. Nothing was charged. Say "
            "where it is to be kept: --ledger or ledger=, or set HEADCOUNT_LEDGER, to a file on a "
            "disk that stays. To use this place all the same: "
            f"mkdir -p {shlex.quote(str(folder))} && "
            f"export HEADCOUNT_LEDGER={shlex.quote(str(place))}"
        )
