"""The ledger's tables, and how a database must be set up for the ledger's promise to hold."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

metadata = sa.MetaData()

accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("neighbours", sa.Text, nullable=False),
    sa.Column("stated_delta", sa.Text, nullable=False),
    sa.Column("rho_limit", sa.BigInteger, nullable=False),
    sa.Column("delta_limit", sa.BigInteger, nullable=False),
    sa.Column("rho_spent", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("delta_spent", sa.BigInteger, nullable=False, server_default="0"),
    sa.CheckConstraint("rho_spent >= 0 AND rho_spent <= rho_limit", name="rho_within_limit"),
    sa.CheckConstraint(
        "delta_spent >= 0 AND delta_spent <= delta_limit", name="delta_within_limit"
    ),
)

entries = sa.Table(
    "entries",
    metadata,
    sa.Column("sequence", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("account", sa.Text, sa.ForeignKey("accounts.name"), nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("request_hash", sa.Text, nullable=False),
    sa.Column("verb", sa.Text, nullable=False),
    sa.Column("rho", sa.BigInteger, nullable=False),
    sa.Column("delta", sa.BigInteger, nullable=False),
    sa.Column("event", sa.Text, nullable=False),
    sa.Column("charged_at", sa.Text, nullable=False),
    sa.UniqueConstraint("account", "key", name="one_entry_per_key"),
    sa.CheckConstraint("rho >= 0 AND delta >= 0", name="costs_are_not_negative"),
)

results = sa.Table(
    "results",
    metadata,
    sa.Column("sequence", sa.BigInteger, sa.ForeignKey("entries.sequence"), primary_key=True),
    sa.Column("payload", sa.LargeBinary, nullable=False),
)


def sqlite_engine(path: Path) -> sa.Engine:
    """An engine whose transactions take the write lock at once and are on disk when they end."""
    engine = sa.create_engine(f"sqlite:///{path}", poolclass=sa.NullPool)

    @sa.event.listens_for(engine, "connect")
    def _on_connect(connection: object, _record: object) -> None:
        cursor = connection.cursor()  # type: ignore[attr-defined]
        connection.isolation_level = None  # type: ignore[attr-defined]
        cursor.execute("PRAGMA busy_timeout=60000")
        cursor.execute("PRAGMA journal_mode=WAL")
        # NORMAL may lose committed charges when the power fails.
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def _on_begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine
