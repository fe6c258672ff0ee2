"""What may be said to a ledger, in one table: names, budgets, sources."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Literal

from headcount.errors import UsageError
from headcount.ledger.storable import storable
from headcount.ledger.windows import check_windows
from headcount.privacy.argument import Check, items, refused, shown, whole
from headcount.privacy.budget import Budget
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.windows import FARTHEST

MAX_COVERED = 1 << 20
OF_A_SERVER = re.compile(r"[a-z]+:(?!//)")
"""``postgres:`` and what the server says, ``inode:`` and what the file system says: no address."""


def _named(what: str) -> Check:
    def read(value: Any, name: str) -> str:
        if not isinstance(value, str):
            raise refused(name, "a text", value, f"{name}='web-events'")
        return storable(value, what)

    return read


def _budget(value: Any, name: str) -> Budget | None:
    if value is not None and not isinstance(value, Budget):
        raise refused(name, "a Budget", value, f"{name}=hc.Budget(epsilon=1, delta=1e-6)")
    _for_all_time(value, name)
    return value


def _share(value: Any, name: str) -> Budget | Literal[0]:
    if isinstance(value, int | float) and not isinstance(value, bool) and value == 0:
        return 0
    if not isinstance(value, Budget):
        needed = "a Budget, or 0 for nothing more"
        raise refused(name, needed, value, f"{name}=hc.Budget(epsilon=0.5)")
    _for_all_time(value, name)
    return value


def _for_all_time(value: Budget | None, name: str) -> None:
    if value is not None and value.per is not None:
        instead = "windows=Windows.of('time', 'day', 'UTC', budget)"
        raise refused(name, "a budget without per=", value, instead)


def _neighbours(value: Any, name: str) -> Neighbours:
    if not isinstance(value, str) or value not in list(Neighbours):
        raise refused(name, "'add-remove' or 'replace'", value, f"{name}='add-remove'")
    return Neighbours(value)


def _sources(value: Any, name: str) -> list[str]:
    if isinstance(value, list | tuple) and not value:
        return []
    found = items(value, name, MAX_COVERED, f"{name}=['/data/events.parquet']")
    return [_named("A source")(one, f"a source in {name}") for one in found]


def _covers(value: Any, name: str) -> list[str]:
    """What a table is known by: any other text would cover nothing, and nobody would notice."""
    found = _sources(value, name)
    for source in found:
        real = os.path.realpath(source) if os.path.exists(source) else source
        if not (os.path.isabs(source) and real == source) and not OF_A_SERVER.match(source):
            raise UsageError(
                f"{shown(source)} in {name} is not what a table is known by here: the path of a "
                "file, from the root on and without links, or what its server says of it. "
                "headcount ledger open finds that out for files and addresses: headcount ledger "
                "open web --budget 3 --covers events.parquet. So does the first release of what "
                "hc.open opened. Nothing was charged."
            )
    return found


def _quotas(value: Any, name: str) -> list[tuple[str, Budget | Literal[0]]]:
    if isinstance(value, list | tuple) and not value:
        return []
    instead = f"{name}=[('ann', hc.Budget(epsilon=0.5))]"
    pairs = [
        items(one, f"a quota in {name}", 2, instead)
        for one in items(value, name, MAX_COVERED, instead)
    ]
    if any(len(pair) != 2 for pair in pairs):
        raise refused(f"a quota in {name}", "an analyst and a Budget", value, instead)
    analyst = _named("The analyst's name")
    return [
        (analyst(who, "an analyst"), _share(share, f"a quota in {name}")) for who, share in pairs
    ]


def _verb(value: Any, name: str) -> str | None:
    return None if value is None else _named("The verb")(value, name)


def _address(value: Any, name: str) -> str | Path:
    if not isinstance(value, str | Path) or not str(value) or "\x00" in str(value):
        needed = "the path of a file, or postgresql://user@host:5432/database"
        raise refused(name, needed, value, f"{name}='ledger.db'")
    try:
        str(value).encode()
    except UnicodeEncodeError:
        raise UsageError(
            f"{name} is a path that is not a text in UTF-8. Write {name}='ledger.db'. Nothing was "
            "charged."
        ) from None
    return value


def _place(value: Any, name: str) -> str | Path | None:
    return None if value is None else _address(value, name)


CHECKS: dict[str, Check] = {
    "address": _address,
    "heads": _place,
    "account": _named("The account's name"),
    "analyst": _named("The analyst's name"),
    "source": _named("A source"),
    "key": _named("The key"),
    "verb": _verb,
    "budget": _budget,
    "share": _share,
    "neighbours": _neighbours,
    "covers": _covers,
    "sources": _sources,
    "windows": check_windows,
    "first": whole(-FARTHEST, FARTHEST, "the number of a window, such as 20513"),
    "last": whole(-FARTHEST, FARTHEST, "the number of a window, such as 20513"),
    "quotas": _quotas,
    "sequence": whole(0, 2**63 - 1, "the number of an entry, such as 7"),
    "part": whole(0, 2**31 - 1, "the number of a round, such as 0"),
}


def read(name: str, value: Any, *, called: str | None = None) -> Any:
    """One argument by its line of the table; ``called``: its name where that is another."""
    return CHECKS[name](value, called or name)
