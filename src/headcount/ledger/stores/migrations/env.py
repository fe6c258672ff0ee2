"""How Alembic reaches a ledger: by the connection it is given, inside that transaction."""

from __future__ import annotations

from alembic import context

from headcount.ledger.schema import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
