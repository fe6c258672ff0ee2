"""An index by which a question that was charged before is found."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Entries stay as they are; only the way to find them is new."""
    only = sa.text("kind = 'charge'")
    op.create_index(
        "charges_of_a_question",
        "entries",
        ["account", "digest"],
        sqlite_where=only,
        postgresql_where=only,
    )
