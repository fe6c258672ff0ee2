"""Signatures of rounds, what people order, collection jobs, and tokens."""

from __future__ import annotations

from alembic import op

from headcount.fleet.migrations.functions_0002 import ADDED, OLD_OPEN, functions

revision = "0002"
down_revision = "0001"

SIGNED = "ALTER TABLE fleet.round ADD COLUMN proof bytea NOT NULL DEFAULT ''"
FINISHED = "ALTER TABLE fleet.round ADD COLUMN finished timestamptz"
ORDERED = """
CREATE TABLE fleet.ordered (
    task bytea NOT NULL REFERENCES fleet.task,
    number integer NOT NULL,
    what text NOT NULL CHECK (what IN ('open', 'cancel')),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (task, number)
)
"""
JOB = """
CREATE TABLE fleet.job (
    task bytea NOT NULL REFERENCES fleet.task,
    id text NOT NULL CHECK (id ~ '^[A-Za-z0-9_-]{1,64}$'),
    number integer NOT NULL,
    made timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (task, id)
)
"""
LET_IN = """
CREATE TABLE fleet.token (
    id text PRIMARY KEY CHECK (id ~ '^[0-9a-f]{16}$'),
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    name text NOT NULL,
    role text NOT NULL CHECK (role IN ('reader', 'analyst', 'operator', 'owner')),
    made timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires timestamptz NOT NULL CHECK (expires <= made + interval '366 days'),
    revoked timestamptz
)
"""
COMMENTS = {
    "round.proof": "signature of the descriptor by its owner, as devices get it; public",
    "round.finished": "when it was released or called off; what it shows is seen at a time that "
    "was fixed before",
    "ordered.task": "the task that a person, or the calendar, gave an order for",
    "ordered.number": "which of its rounds",
    "ordered.what": "open: before its time; cancel: never, which no later order changes",
    "ordered.at": "when it was ordered first",
    "job.task": "the task whose release is collected",
    "job.id": "the name that whoever collects has chosen",
    "job.number": "which of its rounds",
    "job.made": "when it was asked for first",
    "token.id": "names the token; no secret",
    "token.digest": "SHA-256 of the secret half, which is nowhere here",
    "token.name": "whose it is, for people",
    "token.role": "what it lets in to",
    "token.made": "when it was made",
    "token.expires": "from when on it lets nobody in",
    "token.revoked": "since when it lets nobody in, if it was taken back",
}


def upgrade() -> None:
    """Add the columns and tables, and the functions that others write with."""
    connection = op.get_bind()
    op.execute(f"DROP FUNCTION fleet.{OLD_OPEN}")
    for text in (SIGNED, FINISHED, ORDERED, JOB, LET_IN, *functions()):
        # Without a look for variables of SQLAlchemy's: casts have colons.
        connection.exec_driver_sql(text.replace("%", "%%"))
    for column, words in COMMENTS.items():
        op.execute(f"COMMENT ON COLUMN fleet.{column} IS '{words}'")
    for function in ADDED:
        op.execute(f"REVOKE ALL ON FUNCTION fleet.{function} FROM PUBLIC")


def downgrade() -> None:
    """Refuse: what was charged for and opened stays."""
    raise NotImplementedError("a fleet does not go back to an earlier schema")
