"""How PostgreSQL charges windows from schema 0006 on: every one that is named, or none [TW2].

The functions of ``functions_0003`` stay, but for the one that charges. What a windowed event costs
a window is what the event in it costs; the account pays that so many ``times``. Both are whole
units: a window's share is rounded up first.
"""

from __future__ import annotations

from headcount.ledger.stores.migrations import functions_0003

DECLARED = "    source_ text;\nBEGIN"
AND_WINDOWS = """    source_ text;
    asked jsonb;
    first_ bigint;
    last_ bigint;
    times_ numeric := 1;
    per {schema}.per_window;
    share_rho bigint;
    share_delta bigint;
BEGIN"""
COSTS = "    spent := {schema}.ledger_cost(event_::jsonb, 0);"
COSTS_OF_WINDOWS = """    IF event_::jsonb ->> 'kind' = 'windowed' THEN
        asked := event_::jsonb;
        IF EXISTS (SELECT FROM unnest(ARRAY['first', 'last', 'times']) f
                WHERE jsonb_typeof(asked -> f) IS DISTINCT FROM 'string'
                OR asked ->> f !~ '^(0|-?[1-9][0-9]{{0,10}})$')
            OR EXISTS (SELECT FROM jsonb_object_keys(asked) k
                WHERE k <> ALL (ARRAY['kind', 'first', 'last', 'times', 'event']))
            OR jsonb_typeof(asked -> 'event') IS DISTINCT FROM 'object' THEN
            RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'windows that cannot be read';
        END IF;
        first_ := (asked ->> 'first')::bigint;
        last_ := (asked ->> 'last')::bigint;
        times_ := (asked ->> 'times')::numeric;
        IF first_ < -100000000 OR last_ > 100000000 OR first_ > last_ OR last_ - first_ >= 131072
            OR times_ < 1 OR times_ > 17179869184 THEN
            RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'windows that cannot be';
        END IF;
        spent := {schema}.ledger_cost(asked -> 'event', 0);
    ELSE
        spent := {schema}.ledger_cost(event_::jsonb, 0);
    END IF;"""
NOTHING = "    IF rho_ = 0 AND delta_ = 0 THEN"
TIMES_ITS_SHARE = """    share_rho := rho_;
    share_delta := delta_;
    IF asked IS NOT NULL AND times_ * greatest(rho_, delta_) >= 9223372036854775807 THEN
        RAISE EXCEPTION USING ERRCODE = 'HC001', MESSAGE = 'more than any ledger counts to';
    END IF;
    rho_ := times_ * rho_;
    delta_ := times_ * delta_;
    IF rho_ = 0 AND delta_ = 0 THEN"""
SOURCES = "    IF EXISTS (SELECT FROM unnest(covers_) s"
WINDOWS_CAN_PAY = """    SELECT * INTO per FROM {schema}.per_window WHERE account = account_;
    IF asked IS NULL AND per.account IS NOT NULL THEN
        status := 'windows missing';
        RETURN;
    ELSIF asked IS NOT NULL AND per.account IS NULL THEN
        status := 'no windows';
        RETURN;
    ELSIF asked IS NOT NULL AND (share_rho > per.rho_limit OR share_delta > per.delta_limit
        OR EXISTS (SELECT FROM {schema}.windows w
            WHERE w.account = account_ AND w.level = per.level
            AND w.number BETWEEN first_ AND last_
            AND (w.rho_limit - w.rho_spent < share_rho
                OR w.delta_limit - w.delta_spent < share_delta))) THEN
        status := 'window';
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM unnest(covers_) s"""
TAKES = "    UPDATE {schema}.accounts SET"
TAKES_FROM_WINDOWS = """    IF asked IS NOT NULL THEN
        INSERT INTO {schema}.windows AS w
            SELECT account_, per.level, n, per.rho_limit, per.delta_limit, share_rho, share_delta
            FROM generate_series(first_, last_) n
            ON CONFLICT ON CONSTRAINT windows_pkey DO UPDATE
            SET rho_spent = w.rho_spent + excluded.rho_spent,
                delta_spent = w.delta_spent + excluded.delta_spent;
    END IF;
    UPDATE {schema}.accounts SET"""


def _charge() -> str:
    text = functions_0003.CHARGE.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
    for before, after in (
        (DECLARED, AND_WINDOWS),
        (COSTS, COSTS_OF_WINDOWS),
        (NOTHING, TIMES_ITS_SHARE),
        (SOURCES, WINDOWS_CAN_PAY),
        (TAKES, TAKES_FROM_WINDOWS),
    ):
        text = text.replace(before, after)
    return text


CHARGE = _charge()


def functions(schema: str) -> list[str]:
    """The statements that make the functions, for tables in this schema."""
    return [CHARGE.format(schema=schema)]
