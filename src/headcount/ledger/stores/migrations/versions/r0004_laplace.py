"""On PostgreSQL, Laplace noise costs what its lattice law does; tables and entries stay.

A ledger file changes in nothing but its version: one that does not know the cost must not read it.
"""

from __future__ import annotations

from alembic import op

from headcount.ledger.stores.migrations.functions_0004 import INSIDE, functions

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Entries that were charged more stay as they are."""
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        return
    schema = connection.exec_driver_sql("SELECT quote_ident(current_schema())").scalar_one()
    for text in functions(str(schema)):
        # Without a look for variables of SQLAlchemy's: casts have colons.
        connection.exec_driver_sql(text.replace("%", "%%"))
    for function in INSIDE:
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")


def downgrade() -> None:
    """Refuse: a ledger only grows."""
    raise NotImplementedError("a ledger does not go back to an earlier schema")
