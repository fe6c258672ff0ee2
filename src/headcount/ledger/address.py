"""Where a ledger lives: the path of a SQLite file, or the address of a PostgreSQL database."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from headcount.errors import LedgerError, UsageError

POSTGRES_SCHEMES = ("postgres", "postgresql")


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
    if text.split("://", 1)[0] not in POSTGRES_SCHEMES:
        raise UsageError(
            "A ledger is the path of a file, or postgresql://user@host:5432/database. "
            "Nothing was charged."
        )
    try:
        url = make_url(text).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        url = URL.create("postgresql+psycopg")
    if not url.database:
        raise UsageError(
            "The ledger's address is not well formed. Write postgresql://user@host:5432/database "
            "with special characters percent-encoded. Nothing was charged."
        )
    hosts = url.host or str(url.query.get("host", "localhost"))
    shown = f"postgresql://{hosts}:{url.port or url.query.get('port', 5432)}/{url.database}"
    # Another search path is another ledger.
    if "options" in url.query:
        shown += f"?options={url.query['options']}"
    return Address(shown, url)


def _file(path: Path) -> Address:
    if not path.parent.is_dir():
        raise LedgerError(f"The folder of the ledger {str(path)!r} does not exist. Make it first.")
    real = path.resolve()
    return Address(str(real), sa.URL.create("sqlite", database=str(real)))
