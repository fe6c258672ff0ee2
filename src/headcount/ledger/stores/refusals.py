"""From a driver's error to words that give nothing away."""

from __future__ import annotations

from headcount.errors import LedgerError
from headcount.screens import as_word

NO_RIGHT, NO_TABLE = "42501", "42P01"
SQLITE_REASONS = (
    ("not a database", "it is not a ledger"),
    ("disk is full", "the disk is full"),
    ("disk I/O", "the disk failed or is full"),
    ("locked", "another process kept it locked for too long"),
    ("malformed", "its file is damaged; bring back the newest copy"),
    ("while it was read", "it was written to while it was read; try again"),
    ("readonly", "it may not be written to; check its permissions"),
    ("unable to open", "its file cannot be opened; check the path and its permissions"),
)


def is_forbidden(error: BaseException) -> bool:
    """Whether the role that logged in lacks a right."""
    return getattr(getattr(error, "orig", None) or error, "sqlstate", None) == NO_RIGHT


def forbidden(address: object, who: str, only: str = "") -> LedgerError:
    """What a role may not do, and who can change that; ``only``: what is the owner's alone."""
    if only:
        return LedgerError(
            f"Only the owner of {str(address)!r} can {only}, and the role {who!r} is not. Nothing "
            "was changed."
        )
    return LedgerError(
        f"The ledger {str(address)!r}: the role {who!r} may not do this. Nothing was changed and "
        f"nothing was charged. Its owner lets it: headcount ledger grant analyst {as_word(who)}"
    )


def reason(error: BaseException) -> str:
    """What a driver's error means. Never its own text, which may hold a password or a payload."""
    original = getattr(error, "orig", None) or error
    state = getattr(original, "sqlstate", None)
    if state == NO_TABLE:
        return "its tables are gone, or in a schema that the role that logged in may not use"
    if state is not None:
        return f"the database refused a statement (SQLSTATE {state})"
    if type(original).__module__.startswith("psycopg"):
        from headcount.tables.postgres_refusals import why_no_connection

        return why_no_connection(original)
    text = str(original)
    for part, meaning in SQLITE_REASONS:
        if part in text:
            return meaning
    return f"the database reported an error ({type(original).__name__})"
