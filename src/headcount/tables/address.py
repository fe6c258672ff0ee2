"""Addresses of tables in databases: ``duckdb://…?table=…`` and ``postgres://…?table=…``."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from headcount.errors import UsageError

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
    return text.split("://", 1)[0] in ("duckdb", *POSTGRES_SCHEMES) and "://" in text


def parse_address(text: str) -> Address:
    """Take an address apart. No message repeats its user name or password."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise UsageError(
            "The address of the database is not well formed. Write "
            "postgres://user@host:5432/database?table=schema.name with special characters "
            "percent-encoded. Nothing was charged."
        ) from None
    options = dict(parse_qsl(parts.query))
    table = options.pop("table", "")
    if not table:
        raise UsageError(
            f"The {parts.scheme} address names no table. Add ?table=name at its end. "
            "Nothing was charged."
        )
    schema, _, name = table.rpartition(".")
    if parts.scheme == "duckdb":
        path = unquote(parts.netloc + parts.path)
        return Address("duckdb", path, f"duckdb://{path}?table={table}", schema or None, name)
    place = f"{host}:{port}" if port else host
    shown = f"postgres://{place}{parts.path}?table={table}"
    database = urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(options), ""))
    return Address("postgres", database, shown, schema or None, name)
