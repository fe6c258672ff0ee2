"""The ledger's tables.

``entries`` is the ledger: a journal that is only ever added to. The other tables are drawn from it
so that a question takes one row and not the whole history; opening checks that they agree.

``key`` and ``digest`` of an entry, by its kind:

================  ===================  ================================
kind              key                  digest
================  ===================  ================================
``open-account``
``cover``         the source
``quota``         the analyst
``per-window``    the unit of windows
``charge``        the idempotency key  SHA-256 of the request
``result``        the charge's key     of the stored pieces: ``pieces``
``part``          the charge's key     SHA-256 of the stored part: ``parts``
================  ===================  ================================
"""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

VERSION_TABLE = "ledger_version"

# SQLite keeps a table in the order of an INTEGER key, without an index of its own for it.
SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False)


ledger = sa.Table("ledger", metadata, sa.Column("id", sa.Text, primary_key=True))

entries = sa.Table(
    "entries",
    metadata,
    sa.Column("sequence", SEQUENCE, primary_key=True, autoincrement=False),
    *(_text(name) for name in ("kind", "account", "key", "analyst", "neighbours", "verb")),
    *(_text(name) for name in ("digest", "about", "event")),
    *(_number(name) for name in ("rho", "delta")),
    *(_text(name) for name in ("at", "previous", "hash")),
    sa.CheckConstraint("rho >= 0 AND delta >= 0", name="costs_are_not_negative"),
)
sa.Index(
    "one_charge_per_key",
    entries.c.account,
    entries.c.key,
    unique=True,
    sqlite_where=entries.c.kind == "charge",
    postgresql_where=entries.c.kind == "charge",
)

sa.Index(
    "charges_of_a_question",
    entries.c.account,
    entries.c.digest,
    sqlite_where=entries.c.kind == "charge",
    postgresql_where=entries.c.kind == "charge",
)

sa.Index(
    "one_result_per_charge",
    entries.c.event,
    unique=True,
    sqlite_where=entries.c.kind == "result",
    postgresql_where=entries.c.kind == "result",
)

accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    _text("neighbours"),
    _text("stated_delta"),
    _number("rho_limit"),
    _number("delta_limit"),
    _number("rho_spent"),
    _number("delta_spent"),
    _number("has_quotas"),
    sa.CheckConstraint("rho_spent >= 0 AND rho_spent <= rho_limit", name="rho_within_limit"),
    sa.CheckConstraint(
        "delta_spent >= 0 AND delta_spent <= delta_limit", name="delta_within_limit"
    ),
)

quotas = sa.Table(
    "quotas",
    metadata,
    sa.Column("account", sa.Text, primary_key=True),
    sa.Column("analyst", sa.Text, primary_key=True),
    _number("rho_limit"),
    _number("delta_limit"),
    _number("rho_spent"),
    _number("delta_spent"),
    sa.CheckConstraint("rho_spent >= 0 AND rho_spent <= rho_limit", name="rho_within_quota"),
    sa.CheckConstraint(
        "delta_spent >= 0 AND delta_spent <= delta_limit", name="delta_within_quota"
    ),
)

# From schema 0006 on: what a window of an account is, written once and with its opening.
per_window = sa.Table(
    "per_window",
    metadata,
    sa.Column("account", sa.Text, primary_key=True),
    sa.Column("level", sa.Text, primary_key=True),
    *(_text(name) for name in ("time_column", "zone", "stated_delta")),
    _number("rho_limit"),
    _number("delta_limit"),
)

# A row for each window that was ever charged, and none for the rest.
windows = sa.Table(
    "windows",
    metadata,
    sa.Column("account", sa.Text, primary_key=True),
    sa.Column("level", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    _number("rho_limit"),
    _number("delta_limit"),
    _number("rho_spent"),
    _number("delta_spent"),
    sa.CheckConstraint("rho_spent >= 0 AND rho_spent <= rho_limit", name="rho_within_window"),
    sa.CheckConstraint(
        "delta_spent >= 0 AND delta_spent <= delta_limit", name="delta_within_window"
    ),
    sqlite_with_rowid=False,
)

covers = sa.Table(
    "covers",
    metadata,
    sa.Column("source", sa.Text, primary_key=True),
    _text("account"),
)

results = sa.Table(
    "results",
    metadata,
    sa.Column("sequence", SEQUENCE, primary_key=True, autoincrement=False),
    sa.Column("payload", sa.LargeBinary, nullable=False),
)

# Written from schema 0003 on; ``results`` holds what was stored before.
pieces = sa.Table(
    "pieces",
    metadata,
    sa.Column("sequence", SEQUENCE, primary_key=True, autoincrement=False),
    sa.Column("piece", sa.Integer, primary_key=True),
    sa.Column("payload", sa.LargeBinary, nullable=False),
)

# From schema 0005 on: what each round of a charge that pays for several has shown.
sa.Index(
    "one_entry_per_part",
    entries.c.event,
    unique=True,
    sqlite_where=entries.c.kind == "part",
    postgresql_where=entries.c.kind == "part",
)

parts = sa.Table(
    "parts",
    metadata,
    sa.Column("sequence", SEQUENCE, primary_key=True, autoincrement=False),
    sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("payload", sa.LargeBinary, nullable=False),
)
