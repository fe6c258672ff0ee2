"""What an event costs, worked out by PostgreSQL from the event as ``accounting.compose`` does.

Whole numbers only: both come to the same fraction, whatever the event says. Tests hold them to
each other.
"""

from __future__ import annotations

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
# The steps of ``accounting.laplace``, number by number; l1 is a / b, and the scale c / d.
LAPLACE = """
CREATE FUNCTION {schema}.ledger_laplace(a numeric, b numeric, c numeric, d numeric)
RETURNS numeric[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    grid numeric := 4294967296;
    pure numeric[] := ARRAY[a * d * a * d, 2 * b * c * b * c];
    rho numeric[];
    epsilon numeric;
    step numeric;
    exp numeric := 1;
    exp_unit numeric := 1;
    sinh numeric := 2;
    sinh_unit numeric := 1;
BEGIN
    IF c = 0 THEN
        RETURN pure;
    END IF;
    epsilon := div(a * d * grid + b * c - 1, b * c);
    step := div(d * grid + c - 1, c);
    IF epsilon >= 64 * grid OR step > 4 * grid THEN
        rho := ARRAY[epsilon, grid];
    ELSE
        FOR j IN REVERSE 32..1 LOOP
            exp_unit := exp_unit * grid * j;
            exp := exp * epsilon + exp_unit;
        END LOOP;
        FOR j IN REVERSE 16..1 LOOP
            sinh_unit := sinh_unit * grid * grid * (2 * j) * (2 * j + 1);
            sinh := sinh * step * step + sinh_unit;
        END LOOP;
        rho := ARRAY[
            epsilon * grid - div((exp - exp_unit) * sinh_unit * grid * grid, exp * sinh),
            grid * grid];
    END IF;
    RETURN CASE WHEN pure[1] * rho[2] <= rho[1] * pure[2] THEN pure ELSE rho END;
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
        rho := {schema}.ledger_laplace(v[1], v[2], v[3], v[4]);
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

COSTS = (FRACTION, SUM, LAPLACE, COST, UNITS)
"""Each before those that call it."""
