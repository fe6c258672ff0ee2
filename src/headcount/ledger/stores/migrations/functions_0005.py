"""How PostgreSQL stores parts from schema 0005 on: each once, and no more than were paid for.

The functions of ``functions_0003`` stay, but for the one that stores a result, which refuses a
charge that has parts: with both it would show more samples than it paid for.
"""

from __future__ import annotations

from headcount.ledger.stores.migrations import functions_0003

OFFERED = ("ledger_store_part(bigint, integer, bytea, bigint, text)",)
"""What an analyst may call."""

STORE_PART = """
CREATE FUNCTION {schema}.ledger_store_part(
    number bigint, part_ integer, payload_ bytea, seen bigint, seen_hash text,
    OUT status text, OUT at_ bigint, OUT hash_ text
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    paid {schema}.entries;
    e {schema}.entries;
    n numeric[] := ARRAY[0, 1];
    digest_ text;
    event_ text := '{{"charge": ' || number::text || ', "part": ' || part_::text || '}}';
BEGIN
    IF num_nulls(number, part_, payload_, seen, seen_hash) > 0
        OR octet_length(payload_) > 67108864 THEN
        RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'a part that cannot be';
    END IF;
    digest_ := encode(sha256(payload_), 'hex');
    status := {schema}.ledger_start(seen, seen_hash);
    IF status IS NOT NULL THEN
        RETURN;
    END IF;
    SELECT * INTO paid FROM {schema}.entries
        WHERE sequence = number AND number > 0 AND kind = 'charge';
    IF NOT FOUND THEN
        status := 'no charge';
        RETURN;
    END IF;
    IF paid.event::jsonb ->> 'kind' = 'sample-threshold' THEN
        n := {schema}.ledger_fraction(paid.event::jsonb, 'n_samples'::text);
    END IF;
    IF part_ < 0 OR part_::numeric >= div(n[1], n[2]) THEN
        status := 'no part';
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM {schema}.entries WHERE kind = 'part' AND event = event_) THEN
        status := 'stored before';
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM {schema}.entries
            WHERE kind = 'result' AND event = '{{"charge": ' || number::text || '}}') THEN
        status := 'has result';
        RETURN;
    END IF;
    INSERT INTO {schema}.parts VALUES (number, part_, payload_);
    e := {schema}.ledger_append(ROW(0, 'part', paid.account, paid.key, '', '', '', digest_,
        '', event_, 0, 0, '', '', '')::{schema}.entries);
    status := 'stored';
    at_ := e.sequence;
    hash_ := e.hash;
END $$
"""
STORED_BEFORE = "                status := 'stored before';\n            END IF;"
OR_HAS_PARTS = """                status := 'stored before';
            ELSIF EXISTS (SELECT FROM {schema}.parts WHERE sequence = number) THEN
                status := 'has parts';
            END IF;"""
STORE = functions_0003.STORE.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION").replace(
    STORED_BEFORE, OR_HAS_PARTS
)


def functions(schema: str) -> list[str]:
    """The statements that make the functions, for tables in this schema."""
    return [text.format(schema=schema) for text in (STORE_PART, STORE)]
