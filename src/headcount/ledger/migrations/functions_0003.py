"""What PostgreSQL does itself, for whom it does not trust: charge an account, and store a result.

The functions run with the owner's rights and are all that an analyst may write with. They take the
analyst's name from the login, work the cost out from the event, and make the entry with its hash.
``headcount.ledger.statements`` does the same on SQLite, and ``accounting.compose`` states the
costs; tests hold them to each other.

A version that was released is never changed: a new one is a new file and a new step.
"""

from __future__ import annotations

INSIDE = (
    "ledger_spelled(text)",
    "ledger_hash(entries)",
    "ledger_fraction(jsonb, text)",
    "ledger_sum(numeric[], numeric[])",
    "ledger_cost(jsonb, integer)",
    "ledger_units(numeric, numeric, numeric)",
    "ledger_append(entries)",
    "ledger_start(bigint, text)",
    "ledger_needs_result()",
)
"""What only the functions themselves call."""

OFFERED = (
    "ledger_charge(text, text, text, text, text, text, text, text, text[], bigint, text)",
    "ledger_put(bigint, integer, bytea)",
    "ledger_store(bigint, integer, bytea, bigint, text)",
)
"""What an analyst may call."""

SPELLED = """
CREATE FUNCTION ledger_spelled(word text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT convert_to(octet_length(convert_to(word, 'UTF8')) || ':' || word, 'UTF8')
$$
"""
HASH = """
CREATE FUNCTION ledger_hash(e entries) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT encode(sha256(convert_to('headcount entry 1', 'UTF8')
        || ledger_spelled(e.sequence::text) || ledger_spelled(e.kind)
        || ledger_spelled(e.account) || ledger_spelled(e.key)
        || ledger_spelled(e.analyst) || ledger_spelled(e.neighbours)
        || ledger_spelled(e.verb) || ledger_spelled(e.digest)
        || ledger_spelled(e.about) || ledger_spelled(e.event)
        || ledger_spelled(e.rho::text) || ledger_spelled(e.delta::text)
        || ledger_spelled(e.at) || ledger_spelled(e.previous)), 'hex')
$$
"""
# A fraction is two whole numbers: numerator, denominator.
FRACTION = """
CREATE FUNCTION ledger_fraction(event jsonb, field text) RETURNS numeric[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    word text := event ->> field;
    parts text[];
BEGIN
    IF word IS NULL OR jsonb_typeof(event -> field) <> 'string' OR length(word) > 20000
        OR word !~ '^[0-9]+(/0*[1-9][0-9]*)?$' THEN
        RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'an event lacks a number: ' || field;
    END IF;
    parts := string_to_array(word, '/');
    RETURN ARRAY[parts[1]::numeric, coalesce(parts[2], '1')::numeric];
END $$
"""
SUM = """
CREATE FUNCTION ledger_sum(a numeric[], b numeric[]) RETURNS numeric[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    top numeric := a[1] * b[2] + b[1] * a[2];
    bottom numeric := a[2] * b[2];
    common numeric := gcd(top, bottom);
BEGIN
    RETURN ARRAY[div(top, common), div(bottom, common)];
END $$
"""
# rho and delta, each a fraction: four numbers.
COST = """
CREATE FUNCTION ledger_cost(event jsonb, depth integer) RETURNS numeric[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    kind text := event ->> 'kind';
    fields text[];
    a numeric[];
    b numeric[];
    rho numeric[] := ARRAY[0, 1];
    delta numeric[] := ARRAY[0, 1];
    part jsonb;
    parts numeric[];
BEGIN
    fields := CASE kind
        WHEN 'gaussian-noise' THEN ARRAY['l2_squared', 'sigma_squared']
        WHEN 'laplace-noise' THEN ARRAY['l1', 'scale']
        WHEN 'selection' THEN ARRAY['epsilon']
        WHEN 'gaussian-threshold' THEN ARRAY['l2_squared', 'sigma_squared', 'delta']
        WHEN 'laplace-threshold' THEN ARRAY['l1', 'scale', 'delta']
        WHEN 'filtered' THEN ARRAY['rho', 'delta']
        WHEN 'sample-threshold' THEN ARRAY['rate', 'threshold', 'n_samples', 'rho', 'delta']
        WHEN 'composed' THEN ARRAY['events'] END;
    IF jsonb_typeof(event) <> 'object' OR fields IS NULL OR depth > 8
        OR EXISTS (SELECT FROM jsonb_object_keys(event) k WHERE k <> 'kind' AND k <> ALL (fields))
    THEN
        RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'an event of a kind not known here';
    END IF;
    IF kind = 'composed' THEN
        IF jsonb_typeof(event -> 'events') IS DISTINCT FROM 'array' THEN
            RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'a composed event without parts';
        END IF;
        FOR part IN SELECT jsonb_array_elements(event -> 'events') LOOP
            parts := ledger_cost(part, depth + 1);
            rho := ledger_sum(rho, parts[1:2]);
            delta := ledger_sum(delta, parts[3:4]);
        END LOOP;
        RETURN rho || delta;
    END IF;
    a := ledger_fraction(event, fields[1]);
    CASE kind
    WHEN 'gaussian-noise', 'gaussian-threshold' THEN
        b := ledger_fraction(event, 'sigma_squared');
        rho := ARRAY[a[1] * b[2], 2 * a[2] * b[1]];
    WHEN 'laplace-noise', 'laplace-threshold' THEN
        b := ledger_fraction(event, 'scale');
        b := ARRAY[a[1] * b[2], a[2] * b[1]];
        rho := ARRAY[b[1] * b[1], 2 * b[2] * b[2]];
    WHEN 'selection' THEN
        rho := ARRAY[a[1] * a[1], 8 * a[2] * a[2]];
    ELSE
        rho := ledger_fraction(event, 'rho');
    END CASE;
    IF rho[2] = 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'an event without noise';
    END IF;
    IF 'delta' = ANY (fields) THEN
        delta := ledger_fraction(event, 'delta');
    END IF;
    RETURN rho || delta;
END $$
"""
UNITS = """
CREATE FUNCTION ledger_units(top numeric, bottom numeric, per_one numeric) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT least(div(top * per_one + bottom - 1, bottom), 9223372036854775807)::bigint
$$
"""
APPEND = """
CREATE FUNCTION ledger_append(e entries) RETURNS entries LANGUAGE plpgsql AS $$
DECLARE
    last entries;
BEGIN
    SELECT * INTO last FROM entries ORDER BY sequence DESC LIMIT 1;
    e.sequence := last.sequence + 1;
    e.previous := last.hash;
    e.analyst := session_user;
    e.at := to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"');
    e.hash := ledger_hash(e);
    INSERT INTO entries SELECT e.*;
    -- The flush comes after the lock is gone, so that all who wait for one share it.
    PERFORM set_config('synchronous_commit', 'off', true);
    RETURN e;
END $$
"""
# The number is that of the lock in which writers queue, ``headcount.ledger.postgres.QUEUE``.
# What is wrong with the journal, after a turn was taken; nothing if all is well.
START = """
CREATE FUNCTION ledger_start(seen bigint, seen_hash text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    last entries;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION USING ERRCODE = 'HC002', MESSAGE = 'a turn needs READ COMMITTED';
    END IF;
    PERFORM pg_advisory_xact_lock(4845414443455544);
    IF seen > 0 AND NOT EXISTS (SELECT FROM entries WHERE sequence = seen AND hash = seen_hash) THEN
        RETURN 'lost';
    END IF;
    SELECT * INTO last FROM entries ORDER BY sequence DESC LIMIT 1;
    IF last.hash IS DISTINCT FROM ledger_hash(last) THEN
        RETURN 'changed';
    END IF;
    RETURN NULL;
END $$
"""
CHARGE = """
CREATE FUNCTION ledger_charge(
    account_ text, key_ text, question text, digest_ text, verb_ text, about_ text, event_ text,
    neighbours_ text, covers_ text[], seen bigint, seen_hash text,
    OUT status text, OUT number bigint, OUT at_ text, OUT hash_ text
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
DECLARE
    payer accounts;
    mine quotas;
    e entries;
    spent numeric[];
    rho_ bigint;
    delta_ bigint;
    source_ text;
BEGIN
    status := ledger_start(seen, seen_hash);
    IF status IS NOT NULL THEN
        RETURN;
    END IF;
    IF least(length(key_), length(verb_), length(digest_)) < 1
        OR greatest(length(key_), length(verb_), length(digest_)) > 2000
        OR length(about_) > 1000000 OR length(event_) > 10000000
        OR neighbours_ NOT IN ('add-remove', 'replace')
        OR jsonb_typeof(about_::jsonb) <> 'object'
        OR EXISTS (SELECT FROM jsonb_each(about_::jsonb) w WHERE jsonb_typeof(w.value) <> 'string')
    THEN
        RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'a charge that is not well formed';
    END IF;
    SELECT * INTO payer FROM accounts WHERE name = account_;
    IF NOT FOUND THEN
        status := 'no account';
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM entries WHERE kind = 'charge' AND account = account_
            AND (key = key_ OR (question <> '' AND digest = question))) THEN
        status := 'known';
        RETURN;
    END IF;
    spent := ledger_cost(event_::jsonb, 0);
    IF neighbours_ <> payer.neighbours THEN
        IF neighbours_ = 'replace' OR spent[3] > 0 THEN
            RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'a cost in another relation';
        END IF;
        -- A group of two users costs four times the rho.
        spent[1] := 4 * spent[1];
    END IF;
    rho_ := ledger_units(spent[1], spent[2], 1000000000000);
    delta_ := ledger_units(spent[3], spent[4], 1000000000000000000);
    IF payer.rho_limit - payer.rho_spent < rho_ OR payer.delta_limit - payer.delta_spent < delta_
    THEN
        status := 'account';
        RETURN;
    END IF;
    IF payer.has_quotas = 1 THEN
        SELECT * INTO mine FROM quotas WHERE account = account_ AND analyst = session_user;
        IF NOT FOUND OR mine.rho_limit - mine.rho_spent < rho_
            OR mine.delta_limit - mine.delta_spent < delta_ THEN
            status := 'quota';
            RETURN;
        END IF;
    END IF;
    IF EXISTS (SELECT FROM unnest(covers_) s WHERE s IS NULL OR length(s) NOT BETWEEN 1 AND 2000)
    THEN
        RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'a source that is not well formed';
    END IF;
    IF EXISTS (SELECT FROM covers WHERE source = ANY (covers_) AND account <> account_) THEN
        status := 'covered';
        RETURN;
    END IF;
    -- Nothing was written so far, and nothing is refused from here on.
    FOREACH source_ IN ARRAY covers_ LOOP
        IF NOT EXISTS (SELECT FROM covers WHERE source = source_) THEN
            INSERT INTO covers VALUES (source_, account_);
            e := ledger_append(ROW(0, 'cover', account_, source_, '', '', '', '', '', '', 0, 0,
                '', '', '')::entries);
        END IF;
    END LOOP;
    UPDATE quotas SET rho_spent = rho_spent + rho_, delta_spent = delta_spent + delta_
        WHERE account = account_ AND analyst = session_user;
    UPDATE accounts SET rho_spent = rho_spent + rho_, delta_spent = delta_spent + delta_
        WHERE name = account_;
    e := ledger_append(ROW(0, 'charge', account_, key_, '', neighbours_, verb_, digest_, about_,
        event_, rho_, delta_, '', '', '')::entries);
    status := 'charged';
    number := e.sequence;
    at_ := e.at;
    hash_ := e.hash;
END $$
"""
PUT = """
CREATE FUNCTION ledger_put(number bigint, piece_ integer, payload_ bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
BEGIN
    IF octet_length(payload_) > 16777216 THEN
        RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'a piece that is too large';
    END IF;
    INSERT INTO pieces VALUES (number, piece_, payload_) ON CONFLICT DO NOTHING;
END $$
"""
STORE = """
CREATE FUNCTION ledger_store(
    number bigint, last_piece integer, payload_ bytea, seen bigint, seen_hash text,
    OUT status text, OUT at_ bigint, OUT hash_ text
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
DECLARE
    paid entries;
    e entries;
    digest_ text;
BEGIN
    status := ledger_start(seen, seen_hash);
    IF status IS NOT NULL THEN
        RETURN;
    END IF;
    SELECT * INTO paid FROM entries WHERE sequence = number AND kind = 'charge';
    IF NOT FOUND THEN
        status := 'no charge';
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM entries
            WHERE kind = 'result' AND event = '{{"charge": ' || number || '}}') THEN
        status := 'stored before';
        RETURN;
    END IF;
    PERFORM ledger_put(number, last_piece, payload_);
    IF last_piece + 1 <> (SELECT count(*) FROM pieces
            WHERE sequence = number AND piece BETWEEN 0 AND last_piece) THEN
        RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'a result with pieces missing';
    END IF;
    SELECT string_agg(encode(sha256(payload), 'hex'), '' ORDER BY piece) INTO digest_
        FROM pieces WHERE sequence = number AND piece <= last_piece;
    IF last_piece > 0 THEN
        digest_ := encode(sha256(convert_to(digest_, 'UTF8')), 'hex');
    END IF;
    e := ledger_append(ROW(0, 'result', paid.account, paid.key, '', '', '', digest_,
        '{{"pieces": "' || last_piece + 1 || '"}}', '{{"charge": ' || number || '}}', 0, 0,
        '', '', '')::entries);
    status := 'stored';
    at_ := e.sequence;
    hash_ := e.hash;
END $$
"""
NEEDS_RESULT = """
CREATE FUNCTION ledger_needs_result() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
DECLARE
    n integer;
BEGIN
    SELECT (about::jsonb ->> 'pieces')::integer INTO n FROM entries
        WHERE kind = 'result' AND event = '{{"charge": ' || NEW.sequence || '}}';
    IF n IS NULL OR NEW.piece NOT BETWEEN 0 AND n - 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'a piece of no stored result';
    END IF;
    RETURN NULL;
END $$
"""


def functions(schema: str) -> list[str]:
    """The statements that make the functions, for tables in this schema."""
    bound = [text.format(schema=schema) for text in (CHARGE, PUT, STORE, NEEDS_RESULT)]
    return [SPELLED, HASH, FRACTION, SUM, COST, UNITS, APPEND, START, *bound]
