"""Addresses of tables in databases: ``duckdb://…?table=…`` and ``postgres://…?table=…``."""

from __future__ import annotations

import glob
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from headcount.errors import UsageError
from headcount.screens import is_address_like

POSTGRES_SCHEMES = ("postgres", "postgresql")


@dataclass(frozen=True, slots=True)
class Address:
    """A database, a schema and a table. Printed without user name and password."""

    engine: str
    database: str = field(repr=False)
    shown: str
    schema: str | None
    table: str

    def __str__(self) -> str:
        return self.shown


def is_address(text: str) -> bool:
    """Whether a source is the address of a database table and not the path of a file."""
    scheme, found, _ = text.strip().partition("://")
    return bool(found) and scheme.lower() in ("duckdb", *POSTGRES_SCHEMES)


def refuse_other_address(text: str | Path) -> None:
    """Refuse what looks like an address, is none that we read, and names no file."""
    if is_address_like(text) and not glob.glob(str(text), recursive=True):
        raise UsageError(
            "The source looks like an address, but not like one that headcount reads, and there "
            "is no file of that name. It is not repeated here, since it may hold a password. "
            "Write duckdb://file.duckdb?table=name or postgres://user@host:5432/database?table="
            "schema.name. Nothing was read and nothing was charged."
        )


def parse_address(text: str) -> Address:
    """Take an address apart. No message repeats its user name or password."""
    parts = host = port = None
    # What the parser says repeats a part of the address: it is not even linked to the refusal.
    with suppress(ValueError):
        parts = urlsplit(text.strip())
        host, port = parts.hostname or "", parts.port
    if parts is None or host is None:
        raise _malformed()
    options = dict(parse_qsl(parts.query))
    table = options.pop("table", "")
    if not table:
        raise UsageError(
            f"The {parts.scheme} address names no table. Add ?table=name at its end. "
            "Nothing was charged."
        )
    if is_address_like(table):
        raise _malformed()
    schema, _, name = table.rpartition(".")
    if parts.scheme == "duckdb":
        path = unquote(parts.netloc + parts.path)
        return Address("duckdb", path, f"duckdb://{path}?table={table}", schema or None, name)
    # A password that is not percent-encoded may have ended up in any of these.
    if is_address_like(parts.path) or ("[" not in parts.netloc and is_address_like(host)):
        raise _malformed()
    place = f"{host}:{port}" if port else host
    shown = f"postgres://{place}{parts.path}?table={table}"
    # Not by urlunsplit, which leaves the slashes out where no host is named.
    database = f"postgresql://{parts.netloc}{parts.path}?{urlencode(options)}".rstrip("?")
    return Address("postgres", database, shown, schema or None, name)


def _malformed() -> UsageError:
    return UsageError(
        "The address of the database is not well formed. Write "
        "postgres://user@host:5432/database?table=schema.name with special characters "
        "percent-encoded. Nothing was charged."
    )
