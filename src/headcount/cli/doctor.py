"""``headcount doctor``: what works here, what is not installed, and where the ledger is."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable, Iterator
from importlib import metadata, util
from pathlib import Path
from typing import NamedTuple

import typer

from headcount.errors import HeadcountError
from headcount.screens import visible
from headcount.version import __version__

EXTRAS = {
    "pandas": ("pandas",),
    "plots": ("altair", "vl_convert"),
    "polars": ("polars",),
    "postgres": ("psycopg", "adbc_driver_postgresql"),
    "spark": ("pyspark",),
}
LITTLE_DISK = 1 << 30
FINE, MISSING, WRONG = "ok", "-", "WRONG"


class Finding(NamedTuple):
    """One line of what was found."""

    state: str
    what: str
    said: str


def doctor(
    ledger: str | None = typer.Option(
        None, help="The ledger's file, or postgresql://user@host/database."
    ),
) -> None:
    """Look at this machine: versions, engines, entropy, the ledger, free disk. Change nothing."""
    wrong = False
    for state, what, said in findings(ledger):
        wrong = wrong or state == WRONG
        print(f"{state:<5}  {what:<10}  {visible(said)}")
    if wrong:
        raise typer.Exit(1)


def findings(ledger: str | None) -> Iterator[Finding]:
    """Everything that is looked at, in order; what fails says why and stops nothing else."""
    yield Finding(FINE, "headcount", f"{__version__}, Python {platform.python_version()}")
    yield _tried("DuckDB", _duckdb)
    for extra, modules in EXTRAS.items():
        absent = [name for name in modules if util.find_spec(name) is None]
        said = f"not installed: pip install 'headcount[{extra}]'" if absent else "installed"
        yield Finding(MISSING if absent else FINE, extra, said)
    yield _java()
    yield _tried("entropy", _entropy)
    yield _tried("ledger", lambda: _ledger(ledger))
    yield _tried("heads", _heads)
    yield _disk(ledger)


def _tried(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(FINE, what, look())
    except HeadcountError as error:
        return Finding(WRONG, what, str(error))
    except Exception as error:  # what others raise may hold an address
        return Finding(WRONG, what, f"does not work: {type(error).__name__}")


def _duckdb() -> str:
    import pyarrow as pa

    from headcount.tables.user_table import open_table

    open_table(pa.table({"user": [1, 2]}), user="user")
    return f"{metadata.version('duckdb')}, opens tables"


def _java() -> Finding:
    java = shutil.which("java")
    return Finding(
        MISSING if java is None else FINE, "Java", java or "not found; only Spark needs it"
    )


def _entropy() -> str:
    first, second = os.getrandom(32), os.getrandom(32)
    if first == second:
        raise HeadcountError("The system hands out the same random bytes twice. Release nothing.")
    return "the system's, as every draw uses it"


def _ledger(said: str | None) -> str:
    from headcount.ledger.ledger import Ledger
    from headcount.releases.accounts import default_ledger

    book = Ledger(default_ledger(said))
    if not book.is_there:
        return f"none yet; the first charge makes it at {book.address}"
    accounts = book.accounts()
    names = "one account" if len(accounts) == 1 else f"{len(accounts):,} accounts"
    return f"{book.address}: in order, {names}. All of it: headcount ledger verify"


def _heads() -> str:
    from headcount.ledger.heads import default_folder

    folder = default_folder()
    there = next(one for one in (folder, *folder.parents) if one.exists())
    if not os.access(there, os.W_OK):
        raise HeadcountError(
            f"{str(folder)!r}, where it is remembered how far ledgers had come, cannot be written. "
            "Make it writable, or name another with HEADCOUNT_HEADS."
        )
    return f"{folder}, which can be written"


def _disk(said: str | None) -> Finding:
    from headcount.ledger.address import parse_address
    from headcount.releases.accounts import ledger_place

    folder = Path.cwd()
    try:
        place = parse_address(ledger_place(said))
        folder = folder if place.is_postgres else Path(place.path).resolve().parent
    except HeadcountError:
        pass  # the line of the ledger says what is wrong with it
    there = next(one for one in (folder, *folder.parents) if one.exists())
    free = shutil.disk_usage(there).free
    state = FINE if free > LITTLE_DISK else WRONG
    return Finding(state, "free disk", f"{free / LITTLE_DISK:,.1f} GiB where {folder} is")
