"""What PostgreSQL does itself since rounds are signed, scheduled and collected; see the one before.

A version that was released is never changed: a new one is a new file and a new step.
"""

from __future__ import annotations

from headcount.fleet.migrations import functions_0001 as before

INGEST = before.INGEST
"""What takes reports may call."""

OLD_OPEN = "open_round(bytea, integer, bytea, bigint)"
NEW_OPEN = "open_round(bytea, integer, bytea, bigint, bytea)"
ORDER = "order_round(bytea, integer, text)"
DRIVER = (*(one for one in before.DRIVER if one != OLD_OPEN), NEW_OPEN, ORDER)
"""What drives rounds may call."""

CONTROL = (
    "apply(bytea, bytea, text, bigint, integer)",
    "close_rounds(bigint)",
    ORDER,
    "make_job(bytea, text, integer)",
)
"""What people are let in by may call."""

INSIDE = before.INSIDE
ADDED = (NEW_OPEN, ORDER, "make_job(bytea, text, integer)")

# The task's row decides who comes first: a round is opened or called off, and never both.
OPEN_SIGNED = """
CREATE FUNCTION fleet.open_round(
    task_ bytea, number_ integer, descriptor_ bytea, closes_ bigint, proof_ bytea
) RETURNS bytea LANGUAGE plpgsql {definer} AS $$
DECLARE
    made bigint;
    posts text;
BEGIN
    PERFORM fleet.read_committed();
    PERFORM FROM fleet.task WHERE id = task_ FOR UPDATE;
    INSERT INTO fleet.round (task, number, descriptor, closes, proof)
        SELECT id, number_, descriptor_, to_timestamp(closes_), proof_ FROM fleet.task
        WHERE id = task_ AND number_ >= 0 AND number_ < rounds AND NOT EXISTS (
            SELECT FROM fleet.ordered
            WHERE task = task_ AND number = number_ AND what = 'cancel')
        ON CONFLICT (task, number) DO NOTHING RETURNING id INTO made;
    IF made IS NOT NULL THEN
        posts := format('fleet.posted_%s', made);
        EXECUTE format('CREATE TABLE %s (LIKE fleet.posted INCLUDING ALL)', posts);
        EXECUTE format('ALTER TABLE fleet.posted ATTACH PARTITION %s FOR VALUES IN (%s)',
            posts, made);
    END IF;
    RETURN (SELECT descriptor FROM fleet.round WHERE task = task_ AND number = number_);
END $$
"""
# Once called off is called off: an order to open it comes too late.
ORDER_ROUND = """
CREATE FUNCTION fleet.order_round(task_ bytea, number_ integer, what_ text)
RETURNS text LANGUAGE plpgsql {definer} AS $$
BEGIN
    PERFORM fleet.read_committed();
    PERFORM FROM fleet.task WHERE id = task_ AND number_ >= 0 AND number_ < rounds FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF EXISTS (SELECT FROM fleet.round WHERE task = task_ AND number = number_) THEN
        RETURN 'opened';
    END IF;
    INSERT INTO fleet.ordered (task, number, what) VALUES (task_, number_, what_)
        ON CONFLICT (task, number) DO UPDATE SET what = 'cancel' WHERE excluded.what = 'cancel';
    RETURN (SELECT what FROM fleet.ordered WHERE task = task_ AND number = number_);
END $$
"""
# The first one stays: whoever asks again is told what is there.
MAKE_JOB = """
CREATE FUNCTION fleet.make_job(task_ bytea, job_ text, number_ integer)
RETURNS integer LANGUAGE plpgsql {definer} AS $$
BEGIN
    PERFORM fleet.read_committed();
    INSERT INTO fleet.job (task, id, number)
        SELECT id, job_, number_ FROM fleet.task
        WHERE id = task_ AND number_ >= 0 AND number_ < rounds
        ON CONFLICT (task, id) DO NOTHING;
    RETURN (SELECT number FROM fleet.job WHERE task = task_ AND id = job_);
END $$
"""
FINISH_NOTED = before.FINISH.replace(
    "SET state = state_", "SET state = state_, finished = clock_timestamp()"
).replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")


def functions() -> list[str]:
    """The statements that make the functions of this step."""
    texts = (OPEN_SIGNED, ORDER_ROUND, MAKE_JOB, FINISH_NOTED)
    return [text.replace("{definer}", before.DEFINER) for text in texts]
