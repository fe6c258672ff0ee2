"""Evidence of which code made a round's key, and the owner's log of code that may."""

from __future__ import annotations

from alembic import op

from headcount.fleet.migrations.functions_0003 import ADDED, functions

revision = "0003"
down_revision = "0002"

EVIDENCE = "ALTER TABLE fleet.round ADD COLUMN evidence bytea NOT NULL DEFAULT ''"
ATTESTED = "ALTER TABLE fleet.round ADD COLUMN attested timestamptz"
ALLOWED = """
CREATE TABLE fleet.allowed (
    number integer PRIMARY KEY CHECK (number >= 0),
    spelled bytea NOT NULL,
    signature bytea NOT NULL CHECK (octet_length(signature) = 64),
    made timestamptz NOT NULL DEFAULT clock_timestamp()
)
"""
COMMENTS = {
    "round.evidence": "what shows which code made the round's key, as devices get it; public",
    "round.attested": "since when the evidence is there; it is renewed by the clock",
    "allowed.number": "place in the owner's log of code that may have keys of rounds",
    "allowed.spelled": "a measurement that is allowed or withdrawn, and the hash of the last entry",
    "allowed.signature": "the owner's signature of the entry",
    "allowed.made": "when it came here",
}


def upgrade() -> None:
    """Add the columns, the table, and the functions that others write with."""
    connection = op.get_bind()
    for text in (EVIDENCE, ATTESTED, ALLOWED, *functions()):
        # Without a look for variables of SQLAlchemy's: casts have colons.
        connection.exec_driver_sql(text.replace("%", "%%"))
    for column, words in COMMENTS.items():
        said = words.replace("'", "''")
        op.execute(f"COMMENT ON COLUMN fleet.{column} IS '{said}'")
    for function in ADDED:
        op.execute(f"REVOKE ALL ON FUNCTION fleet.{function} FROM PUBLIC")


def downgrade() -> None:
    """Refuse: what was charged for and opened stays."""
    raise NotImplementedError("a fleet does not go back to an earlier schema")
