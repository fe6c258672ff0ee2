"""What PostgreSQL does itself for a fleet: all that changes a round, each in one transaction.

They run with the owner's rights and are all that anybody else may write with, so that a login which
takes reports can do nothing but that. No transaction waits for a program: one that is frozen holds
no lock.

A version that was released is never changed: a new one is a new file and a new step.
"""

from __future__ import annotations

INGEST = ("take(bigint, bytea[])",)
"""What takes reports may call."""

DRIVER = (
    "apply(bytea, bytea, text, bigint, integer)",
    "open_round(bytea, integer, bytea, bigint)",
    "close_rounds(bigint)",
    "lease(double precision)",
    "seize(bigint, double precision)",
    "beat(bigint, bigint, double precision)",
    "finish(bigint, bigint, text)",
    "end_round(bigint)",
)
"""What drives rounds may call."""

INSIDE = ("drop_posts(bigint)", "read_committed()")
"""What only the functions themselves call."""

# Locks decide who comes first, and what is read after a wait must be what is there then.
READ_COMMITTED = """
CREATE FUNCTION fleet.read_committed() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION USING ERRCODE = 'HC002', MESSAGE = 'a round needs READ COMMITTED';
    END IF;
END $$
"""
APPLY = """
CREATE FUNCTION fleet.apply(
    task_ bytea, spelled_ bytea, account_ text, entry_ bigint, rounds_ integer
) RETURNS boolean LANGUAGE plpgsql {definer} AS $$
BEGIN
    PERFORM fleet.read_committed();
    INSERT INTO fleet.task (id, spelled, account, entry, rounds)
        VALUES (task_, spelled_, account_, entry_, rounds_) ON CONFLICT (id) DO NOTHING;
    RETURN EXISTS (SELECT FROM fleet.task
        WHERE id = task_ AND account = account_ AND entry = entry_ AND rounds = rounds_);
END $$
"""
# A partition that is attached, unlike one that is made in place, lets uploads of others go on.
OPEN = """
CREATE FUNCTION fleet.open_round(
    task_ bytea, number_ integer, descriptor_ bytea, closes_ bigint
) RETURNS bytea LANGUAGE plpgsql {definer} AS $$
DECLARE
    made bigint;
    posts text;
BEGIN
    PERFORM fleet.read_committed();
    INSERT INTO fleet.round (task, number, descriptor, closes)
        SELECT id, number_, descriptor_, to_timestamp(closes_) FROM fleet.task
        WHERE id = task_ AND number_ >= 0 AND number_ < rounds
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
# FOR SHARE: a round is closed after those who are let in here are done, and they before it. In one
# order: two groups that hold the same posts must not wait for each other.
TAKE = """
CREATE FUNCTION fleet.take(round_ bigint, bodies bytea[])
RETURNS boolean LANGUAGE plpgsql {definer} AS $$
BEGIN
    PERFORM fleet.read_committed();
    PERFORM FROM fleet.round
        WHERE id = round_ AND state = 'open' AND closes > clock_timestamp() FOR SHARE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO fleet.posted (round, body)
        SELECT round_, body FROM unnest(bodies) body ORDER BY body ON CONFLICT DO NOTHING;
    RETURN true;
END $$
"""
CLOSE = """
CREATE FUNCTION fleet.close_rounds(only_ bigint)
RETURNS SETOF bigint LANGUAGE plpgsql {definer} AS $$
BEGIN
    PERFORM fleet.read_committed();
    RETURN QUERY UPDATE fleet.round SET state = 'closing'
        WHERE state = 'open' AND (id = only_ OR (only_ IS NULL AND closes <= clock_timestamp()))
        RETURNING id;
END $$
"""
LEASE = """
CREATE FUNCTION fleet.lease(seconds double precision)
RETURNS TABLE (round_ bigint, token_ bigint) LANGUAGE plpgsql {definer} AS $$
BEGIN
    PERFORM fleet.read_committed();
    RETURN QUERY UPDATE fleet.round
        SET token = token + 1, leased_until = clock_timestamp() + seconds * interval '1 second'
        WHERE id = (SELECT id FROM fleet.round
            WHERE state = 'closing' AND leased_until < clock_timestamp()
            ORDER BY leased_until, id LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING id, token;
END $$
"""
SEIZE = """
CREATE FUNCTION fleet.seize(round_ bigint, seconds double precision)
RETURNS SETOF bigint LANGUAGE plpgsql {definer} AS $$
BEGIN
    PERFORM fleet.read_committed();
    RETURN QUERY UPDATE fleet.round SET state = 'closing', token = token + 1,
            leased_until = clock_timestamp() + seconds * interval '1 second'
        WHERE id = round_ AND state IN ('open', 'closing') AND leased_until < clock_timestamp()
        RETURNING token;
END $$
"""
BEAT = """
CREATE FUNCTION fleet.beat(round_ bigint, token_ bigint, seconds double precision)
RETURNS boolean LANGUAGE plpgsql {definer} AS $$
BEGIN
    PERFORM fleet.read_committed();
    UPDATE fleet.round SET leased_until = clock_timestamp() + seconds * interval '1 second'
        WHERE id = round_ AND token = token_ AND state = 'closing';
    RETURN FOUND;
END $$
"""
FINISH = """
CREATE FUNCTION fleet.finish(round_ bigint, token_ bigint, state_ text)
RETURNS boolean LANGUAGE plpgsql {definer} AS $$
BEGIN
    PERFORM fleet.read_committed();
    UPDATE fleet.round SET state = state_
        WHERE id = round_ AND token = token_ AND state = 'closing'
            AND state_ IN ('released', 'cancelled');
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM fleet.drop_posts(round_);
    RETURN true;
END $$
"""
# Whoever is in the middle of reading keeps the table for a while. All uploads would wait behind us,
# so that we do not wait for long: what is left is dropped by ``end_round``.
DROP_POSTS = """
CREATE FUNCTION fleet.drop_posts(round_ bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('lock_timeout', '2s', true);
    EXECUTE format('DROP TABLE IF EXISTS fleet.posted_%s', round_);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$
"""
END = """
CREATE FUNCTION fleet.end_round(round_ bigint) RETURNS boolean LANGUAGE plpgsql {definer} AS $$
BEGIN
    PERFORM fleet.read_committed();
    PERFORM FROM fleet.round
        WHERE id = round_ AND state IN ('released', 'cancelled') FOR UPDATE;
    IF NOT FOUND OR NOT fleet.drop_posts(round_) THEN
        RETURN false;
    END IF;
    UPDATE fleet.round SET has_ended = true WHERE id = round_;
    RETURN true;
END $$
"""
DEFINER = "SECURITY DEFINER SET search_path = pg_catalog, pg_temp"


def functions() -> list[str]:
    """The statements that make the functions."""
    texts = (READ_COMMITTED, DROP_POSTS, APPLY, OPEN, TAKE, CLOSE, LEASE, SEIZE, BEAT, FINISH, END)
    return [text.replace("{definer}", DEFINER) for text in texts]
