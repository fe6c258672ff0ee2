"""Tasks, rounds, and the sealed posts of rounds that are open."""

from __future__ import annotations

from alembic import op

from headcount.fleet.migrations.functions_0001 import DRIVER, INGEST, INSIDE, functions

revision = "0001"
down_revision = None

# The hash of a task is checked by the database too: 'headcount/1 task' and a zero, then the task.
TASK = """
CREATE TABLE fleet.task (
    id bytea PRIMARY KEY,
    spelled bytea NOT NULL,
    account text NOT NULL,
    entry bigint NOT NULL,
    rounds integer NOT NULL CHECK (rounds BETWEEN 1 AND 1000),
    applied timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT named_by_its_hash
        CHECK (id = sha256('\\x68656164636f756e742f31207461736b00'::bytea || spelled))
)
"""
ROUND = """
CREATE TABLE fleet.round (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task bytea NOT NULL REFERENCES fleet.task,
    number integer NOT NULL,
    state text NOT NULL DEFAULT 'open'
        CHECK (state IN ('open', 'closing', 'released', 'cancelled')),
    descriptor bytea NOT NULL CHECK (octet_length(descriptor) = 90),
    closes timestamptz NOT NULL,
    token bigint NOT NULL DEFAULT 0,
    leased_until timestamptz NOT NULL DEFAULT '-infinity',
    has_ended boolean NOT NULL DEFAULT false,
    UNIQUE (task, number)
)
"""
# No foreign key: a post has a partition, and a partition has a round.
POSTED = """
CREATE TABLE fleet.posted (
    round bigint NOT NULL,
    digest bytea NOT NULL GENERATED ALWAYS AS (sha256(body)) STORED,
    body bytea NOT NULL
        CHECK (octet_length(body) BETWEEN 320 AND 4194304 AND octet_length(body) % 320 = 0),
    PRIMARY KEY (round, digest)
) PARTITION BY LIST (round)
"""
COMMENTS = {
    "task.id": "SHA-256 that names the task with its terms; what devices know it by",
    "task.spelled": "the task in its one spelling, as devices get it; public",
    "task.account": "account of the ledger that paid",
    "task.entry": "entry of the ledger that paid for the whole period",
    "task.rounds": "how many rounds were paid for",
    "task.applied": "when it was written here, after the charge",
    "round.id": "names the round inside this database, and the partition of its posts",
    "round.task": "the task that it is a round of",
    "round.number": "which of the rounds paid for, from 0; also the part in the ledger",
    "round.state": "open: takes reports; closing: takes none, is counted; released: its part is in "
    "the ledger; cancelled: it has none. The charge stays in any case",
    "round.descriptor": "task, number, window and public key, as devices get it; public",
    "round.closes": "when the last report is taken",
    "round.token": "how often it was leased; whoever has an older number may not finish it",
    "round.leased_until": "until when nobody else counts it; before any lease, -infinity",
    "round.has_ended": "whether its key is destroyed and its posts are dropped",
    "posted.round": "the round that the reports were sealed for",
    "posted.digest": "SHA-256 of the body: a post that is sent again is the same row",
    "posted.body": "sealed reports of 320 bytes, end to end; nobody but the core can open them",
}


def upgrade() -> None:
    """Make the tables, and the functions that are all others may write with."""
    connection = op.get_bind()
    for text in (TASK, ROUND, POSTED, *functions()):
        # Without a look for variables of SQLAlchemy's: casts have colons.
        connection.exec_driver_sql(text.replace("%", "%%"))
    # Sealed bytes do not get shorter.
    op.execute("ALTER TABLE fleet.posted ALTER COLUMN body SET STORAGE EXTERNAL")
    for column, words in COMMENTS.items():
        op.execute(f"COMMENT ON COLUMN fleet.{column} IS '{words}'")
    for function in (*INGEST, *DRIVER, *INSIDE):
        op.execute(f"REVOKE ALL ON FUNCTION fleet.{function} FROM PUBLIC")


def downgrade() -> None:
    """Refuse: what was charged for and opened stays."""
    raise NotImplementedError("a fleet does not go back to an earlier schema")
