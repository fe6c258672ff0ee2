"""Where a ledger lives: the path of a SQLite file, or the address of a PostgreSQL database."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from headcount.errors import LedgerError, UsageError
from headcount.screens import is_address_like, quoted

POSTGRES_SCHEMES = ("postgres", "postgresql")
LONGEST_NAME, LONGEST_PATH = 240, 4_000
"""In bytes, with what SQLite adds to the name."""
SEARCH_PATH = re.compile(r"(?:-c\s*|--)search_path=(?:[^\s\\]|\\.)*")


@dataclass(frozen=True, slots=True)
class Address:
    """A place for a ledger. Printed without user name and password."""

    shown: str
    url: URL = field(repr=False)

    @property
    def is_postgres(self) -> bool:
        """Whether this is a database server and not a file."""
        return self.url.get_backend_name() == "postgresql"

    @property
    def path(self) -> Path:
        """The file, when it is one."""
        return Path(self.url.database or "")

    def __str__(self) -> str:
        return self.shown


def parse_address(text: str | Path) -> Address:
    """Read a path or an address. No message repeats a user name or a password."""
    if isinstance(text, Path) or "://" not in text:
        return _file(Path(text))
    if text.strip().split("://", 1)[0].lower() not in POSTGRES_SCHEMES:
        raise _neither()
    try:
        url = make_url(text.strip()).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        url = URL.create("postgresql+psycopg")
    hosts = url.host or str(url.query.get("host", "localhost"))
    ports = str(url.port or url.query.get("port", 5432))
    # A password that is not percent-encoded may have ended up in any of these.
    is_plain = _is_host(hosts) and re.fullmatch(r"[\d,]+", ports) is not None
    if not is_plain or not url.database or is_address_like(url.database):
        raise UsageError(
            "The ledger's address is not well formed. Write postgresql://user@host:5432/database "
            "with special characters percent-encoded. Nothing was charged."
        )
    shown = f"postgresql://{hosts}:{ports}/{url.database}"
    # Another search path is another ledger; no other option is.
    paths = SEARCH_PATH.findall(str(url.query.get("options", "")))
    if paths:
        shown += f"?options={' '.join(paths)}"
    return Address(shown, url)


def _is_host(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return not is_address_like(text)
    return True


def _neither() -> UsageError:
    return UsageError(
        "A ledger is the path of a file, or postgresql://user@host:5432/database. "
        "Nothing was charged."
    )


def usual_place() -> Path:
    """Where a ledger is when nobody says. Its folder is made with the ledger."""
    data_home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data_home) / "headcount" / "ledger.db"


def _file(path: Path) -> Address:
    if len(os.fsencode(path.name)) > LONGEST_NAME or len(os.fsencode(path)) > LONGEST_PATH:
        raise UsageError(
            "The ledger's path is longer than a path can be. Write ledger='ledger.db'. Nothing was "
            "charged."
        )
    has_folder = path.parent.is_dir() or path == usual_place()
    if is_address_like(path.name if has_folder else path) and not path.exists():
        # It would be a file whose name holds a password.
        raise _neither()
    if not has_folder:
        raise LedgerError(f"The folder of the ledger {quoted(path)} does not exist. Make it first.")
    real = path.resolve()
    return Address(str(real), sa.URL.create("sqlite", database=str(real)))
