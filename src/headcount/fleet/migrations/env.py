"""How Alembic reaches a fleet's database: by the connection it is given, in that transaction."""

from __future__ import annotations

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table="version",
    version_table_schema="fleet",
)
with context.begin_transaction():
    context.run_migrations()
