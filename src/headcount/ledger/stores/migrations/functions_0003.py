"""What PostgreSQL does itself, for whom it does not trust: charge an account, and store a result.

The functions run with the owner's rights and are all that an analyst may write with. They take the
analyst's name from the login, work the cost out from the event, and make the entry with its hash.
``headcount.ledger.stores.statements`` does the same on SQLite, and ``accounting.compose`` states
the costs; tests hold them to each other.

An analyst must not have them run anything else. They look for names where only a superuser can make
any, so ours carry their schema; and a number is of the very type that a function of ours takes, so
that no function of the same name fits better. An entry is kept in the server's own spelling of
JSON: what it reads twice or cuts short, nobody can read otherwise later.

A version that was released is never changed: a new one is a new file and a new step.
"""

from __future__ import annotations

INSIDE = (
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

# One text and one conversion: a call for each field would take most of a charge's time. The server
# keeps texts as UTF-8, or is refused, so the bytes of a field are those of the text it is part of.
# Only texts are put together, which no operator of an analyst's own does better.
HASH = """
CREATE FUNCTION {schema}.ledger_hash(e {schema}.entries) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN encode(sha256(convert_to('headcount entry 1'
        || octet_length(e.sequence::text)::text || ':' || e.sequence::text
        || octet_length(e.kind)::text || ':' || e.kind
        || octet_length(e.account)::text || ':' || e.account
        || octet_length(e.key)::text || ':' || e.key
        || octet_length(e.analyst)::text || ':' || e.analyst
        || octet_length(e.neighbours)::text || ':' || e.neighbours
        || octet_length(e.verb)::text || ':' || e.verb
        || octet_length(e.digest)::text || ':' || e.digest
        || octet_length(e.about)::text || ':' || e.about
        || octet_length(e.event)::text || ':' || e.event
        || octet_length(e.rho::text)::text || ':' || e.rho::text
        || octet_length(e.delta::text)::text || ':' || e.delta::text
        || octet_length(e.at)::text || ':' || e.at
        || octet_length(e.previous)::text || ':' || e.previous, 'UTF8')), 'hex');
END $$
"""
# A fraction is two whole numbers: numerator, denominator. Python reads none with more digits.
FRACTION = """
CREATE FUNCTION {schema}.ledger_fraction(event jsonb, field text) RETURNS numeric[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    word text := event ->> field;
    parts text[] := string_to_array(word, '/');
BEGIN
    IF word IS NULL OR jsonb_typeof(event -> field) <> 'string'
        OR greatest(length(parts[1]), length(parts[2])) > 4300
        OR word !~ '^[0-9]+(/0*[1-9][0-9]*)?$' THEN
        RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'an event lacks a number: ' || field;
    END IF;
    RETURN ARRAY[parts[1]::numeric, coalesce(parts[2], '1')::numeric];
END $$
"""
SUM = """
CREATE FUNCTION {schema}.ledger_sum(a numeric[], b numeric[]) RETURNS numeric[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    top numeric := a[1] * b[2] + b[1] * a[2];
    bottom numeric := a[2] * b[2];
    common numeric := gcd(top, bottom);
BEGIN
    RETURN ARRAY[div(top, common), div(bottom, common)];
END $$
"""
# rho and delta, each a fraction: four numbers. What a sample claims is certified by ``verify``, so
# its numbers must be such as can be, and there are at most 16 samples in a charge: each takes a
# part of a second, of everybody's ``verify``. No plan has more than one.
COST = """
CREATE FUNCTION {schema}.ledger_cost(event jsonb, depth integer) RETURNS numeric[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    kind text := event ->> 'kind';
    fields text[];
    field text;
    v numeric[];
    rho numeric[] := ARRAY[0, 1];
    delta numeric[] := ARRAY[0, 1];
    part jsonb;
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
    IF jsonb_typeof(event) <> 'object' OR jsonb_typeof(event -> 'kind') <> 'string'
        OR fields IS NULL OR depth > 8
        OR EXISTS (SELECT FROM jsonb_object_keys(event) k WHERE k <> 'kind' AND k <> ALL (fields))
    THEN
        RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'an event of a kind not known here';
    END IF;
    IF kind = 'composed' THEN
        IF jsonb_typeof(event -> 'events') IS DISTINCT FROM 'array' THEN
            RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'a composed event without parts';
        END IF;
        FOR part IN SELECT jsonb_array_elements(event -> 'events') LOOP
            v := {schema}.ledger_cost(part, depth + 1);
            rho := {schema}.ledger_sum(rho, v[1:2]);
            delta := {schema}.ledger_sum(delta, v[3:4]);
        END LOOP;
        RETURN rho || delta;
    END IF;
    FOREACH field IN ARRAY fields LOOP
        v := v || {schema}.ledger_fraction(event, field);
    END LOOP;
    CASE kind
    WHEN 'gaussian-noise', 'gaussian-threshold' THEN
        rho := ARRAY[v[1] * v[4], 2 * v[2] * v[3]];
    WHEN 'laplace-noise', 'laplace-threshold' THEN
        rho := ARRAY[v[1] * v[4] * v[1] * v[4], 2 * v[2] * v[3] * v[2] * v[3]];
    WHEN 'selection' THEN
        rho := ARRAY[v[1] * v[1], 8 * v[2] * v[2]];
    WHEN 'filtered' THEN
        rho := v[1:2];
    WHEN 'sample-threshold' THEN
        rho := v[7:8];
        IF v[1] >= v[2] OR v[1] * 10000000 < v[2] OR v[4] <> 1 OR v[6] <> 1
            OR v[3] NOT BETWEEN 1 AND 2000 OR v[5] NOT BETWEEN 1 AND 1000
            OR v[7] = 0 OR v[9] = 0 THEN
            RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'a sample that cannot be';
        END IF;
    END CASE;
    IF rho[2] = 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'an event without noise';
    END IF;
    IF 'delta' = ANY (fields) THEN
        delta := v[cardinality(v) - 1:cardinality(v)];
    END IF;
    RETURN rho || delta;
END $$
"""
UNITS = """
CREATE FUNCTION {schema}.ledger_units(top numeric, bottom numeric, per_one numeric)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT least(div(top * per_one + bottom - 1, bottom), 9223372036854775807)::bigint
$$
"""
APPEND = """
CREATE FUNCTION {schema}.ledger_append(e {schema}.entries) RETURNS {schema}.entries
LANGUAGE plpgsql AS $$
DECLARE
    last {schema}.entries;
BEGIN
    SELECT * INTO last FROM {schema}.entries ORDER BY sequence DESC LIMIT 1;
    e.sequence := last.sequence + 1;
    e.previous := last.hash;
    e.analyst := session_user;
    e.at := to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"');
    e.hash := {schema}.ledger_hash(e);
    INSERT INTO {schema}.entries SELECT e.*;
    -- The flush comes after the lock is gone, so that all who wait for one share it.
    PERFORM set_config('synchronous_commit', 'off', true);
    RETURN e;
END $$
"""
# The number is that of the lock in which writers queue, ``headcount.ledger.stores.postgres.QUEUE``.
# What is wrong with the journal, after a turn was taken; nothing if all is well.
START = """
CREATE FUNCTION {schema}.ledger_start(seen bigint, seen_hash text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    last {schema}.entries;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION USING ERRCODE = 'HC002', MESSAGE = 'a turn needs READ COMMITTED';
    END IF;
    PERFORM pg_advisory_xact_lock(4845414443455544);
    IF seen > 0 AND NOT EXISTS (
            SELECT FROM {schema}.entries WHERE sequence = seen AND hash = seen_hash) THEN
        RETURN 'lost';
    END IF;
    SELECT * INTO last FROM {schema}.entries ORDER BY sequence DESC LIMIT 1;
    IF last.hash IS DISTINCT FROM {schema}.ledger_hash(last) THEN
        RETURN 'changed';
    END IF;
    RETURN NULL;
END $$
"""
CHARGE = """
CREATE FUNCTION {schema}.ledger_charge(
    account_ text, key_ text, question text, digest_ text, verb_ text, about_ text, event_ text,
    neighbours_ text, covers_ text[], seen bigint, seen_hash text,
    OUT status text, OUT number bigint, OUT at_ text, OUT hash_ text
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    payer {schema}.accounts;
    mine {schema}.quotas;
    e {schema}.entries;
    spent numeric[];
    rho_ bigint;
    delta_ bigint;
    source_ text;
BEGIN
    -- Whatever an event takes to be read and added up, nobody waits for it.
    about_ := about_::jsonb::text;
    event_ := event_::jsonb::text;
    IF num_nulls(key_, question, digest_, verb_, about_, event_, neighbours_, covers_) > 0
        OR least(length(key_), length(verb_), length(digest_)) < 1
        OR greatest(length(key_), length(verb_), length(digest_)) > 2000
        OR length(about_) > 1000000 OR length(event_) > 1000000 OR cardinality(covers_) > 1048576
        OR cardinality(string_to_array(event_, '"kind"')) > 1001
        OR cardinality(string_to_array(event_, '"sample-threshold"')) > 17
        OR neighbours_ NOT IN ('add-remove', 'replace')
        OR jsonb_typeof(about_::jsonb) <> 'object'
        OR EXISTS (SELECT FROM jsonb_each(about_::jsonb) w WHERE jsonb_typeof(w.value) <> 'string')
    THEN
        RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'a charge that is not well formed';
    END IF;
    spent := {schema}.ledger_cost(event_::jsonb, 0);
    status := {schema}.ledger_start(seen, seen_hash);
    IF status IS NOT NULL THEN
        RETURN;
    END IF;
    SELECT * INTO payer FROM {schema}.accounts WHERE name = account_;
    IF NOT FOUND THEN
        status := 'no account';
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM {schema}.entries WHERE kind = 'charge' AND account = account_
            AND sequence + 0 > 0 AND (key = key_ OR (question <> '' AND digest = question))) THEN
        status := 'known';
        RETURN;
    END IF;
    IF neighbours_ <> payer.neighbours THEN
        IF neighbours_ = 'replace' OR spent[3] > 0 THEN
            RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'a cost in another relation';
        END IF;
        -- A group of two users costs four times the rho.
        spent[1] := 4 * spent[1];
    END IF;
    rho_ := {schema}.ledger_units(spent[1], spent[2], 1000000000000::numeric);
    delta_ := {schema}.ledger_units(spent[3], spent[4], 1000000000000000000::numeric);
    IF rho_ = 0 AND delta_ = 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'a charge of nothing';
    END IF;
    IF payer.rho_limit - payer.rho_spent < rho_ OR payer.delta_limit - payer.delta_spent < delta_
    THEN
        status := 'account';
        RETURN;
    END IF;
    IF payer.has_quotas = 1 THEN
        SELECT * INTO mine FROM {schema}.quotas
            WHERE account = account_ AND analyst = session_user;
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
    IF EXISTS (SELECT FROM {schema}.covers
            WHERE source = ANY (covers_) AND account <> account_) THEN
        status := 'covered';
        RETURN;
    END IF;
    -- Nothing was written so far, and nothing is refused from here on.
    FOREACH source_ IN ARRAY covers_ LOOP
        IF NOT EXISTS (SELECT FROM {schema}.covers WHERE source = source_) THEN
            INSERT INTO {schema}.covers VALUES (source_, account_);
            e := {schema}.ledger_append(ROW(0, 'cover', account_, source_, '', '', '', '', '', '',
                0, 0, '', '', '')::{schema}.entries);
        END IF;
    END LOOP;
    UPDATE {schema}.quotas SET rho_spent = rho_spent + rho_, delta_spent = delta_spent + delta_
        WHERE account = account_ AND analyst = session_user;
    UPDATE {schema}.accounts SET rho_spent = rho_spent + rho_, delta_spent = delta_spent + delta_
        WHERE name = account_;
    e := {schema}.ledger_append(ROW(0, 'charge', account_, key_, '', neighbours_, verb_, digest_,
        about_, event_, rho_, delta_, '', '', '')::{schema}.entries);
    status := 'charged';
    number := e.sequence;
    at_ := e.at;
    hash_ := e.hash;
END $$
"""
PUT = """
CREATE FUNCTION {schema}.ledger_put(number bigint, piece_ integer, payload_ bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF octet_length(payload_) > 16777216 OR piece_ < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'a piece that cannot be';
    END IF;
    INSERT INTO {schema}.pieces VALUES (number, piece_, payload_) ON CONFLICT DO NOTHING;
END $$
"""
# What is put and hashed comes before the turn: a result may be long, or have to wait for another
# process that stores one for the same charge. The inner block undoes it when it is refused.
STORE = """
CREATE FUNCTION {schema}.ledger_store(
    number bigint, last_piece integer, payload_ bytea, seen bigint, seen_hash text,
    OUT status text, OUT at_ bigint, OUT hash_ text
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    paid {schema}.entries;
    e {schema}.entries;
    digest_ text;
    n bigint;
BEGIN
    BEGIN
        PERFORM {schema}.ledger_put(number, last_piece, payload_);
        SELECT count(*), string_agg(encode(sha256(payload), 'hex'), '' ORDER BY piece)
            INTO n, digest_ FROM {schema}.pieces
            WHERE sequence = number AND piece BETWEEN 0 AND last_piece;
        IF last_piece > 0 THEN
            digest_ := encode(sha256(convert_to(digest_, 'UTF8')), 'hex');
        END IF;
        status := {schema}.ledger_start(seen, seen_hash);
        IF status IS NULL THEN
            SELECT * INTO paid FROM {schema}.entries
                WHERE sequence = number AND number > 0 AND kind = 'charge';
            IF NOT FOUND THEN
                status := 'no charge';
            ELSIF EXISTS (SELECT FROM {schema}.entries
                    WHERE kind = 'result' AND event = '{{"charge": ' || number || '}}') THEN
                status := 'stored before';
            END IF;
        END IF;
        IF status IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'HC003', MESSAGE = 'not stored';
        END IF;
    EXCEPTION WHEN SQLSTATE 'HC003' THEN
        RETURN;
    END;
    IF n <> last_piece + 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'a result with pieces missing';
    END IF;
    e := {schema}.ledger_append(ROW(0, 'result', paid.account, paid.key, '', '', '', digest_,
        '{{"pieces": "' || last_piece + 1 || '"}}', '{{"charge": ' || number || '}}', 0, 0,
        '', '', '')::{schema}.entries);
    status := 'stored';
    at_ := e.sequence;
    hash_ := e.hash;
END $$
"""
NEEDS_RESULT = """
CREATE FUNCTION {schema}.ledger_needs_result() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    n integer;
BEGIN
    SELECT (about::jsonb ->> 'pieces')::integer INTO n FROM {schema}.entries
        WHERE kind = 'result' AND event = '{{"charge": ' || NEW.sequence || '}}';
    IF n IS NULL OR NEW.piece NOT BETWEEN 0 AND n - 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'a piece of no stored result';
    END IF;
    RETURN NULL;
END $$
"""


def functions(schema: str) -> list[str]:
    """The statements that make the functions, for tables in this schema."""
    inside = (HASH, FRACTION, SUM, COST, UNITS, APPEND, START)
    return [text.format(schema=schema) for text in (*inside, CHARGE, PUT, STORE, NEEDS_RESULT)]
