"""What PostgreSQL does itself since cores show evidence; see the ones before.

A version that was released is never changed: a new one is a new file and a new step.
"""

from __future__ import annotations

from headcount.fleet.migrations import functions_0001 as first
from headcount.fleet.migrations import functions_0002 as before

INGEST = before.INGEST
"""What takes reports may call."""

ATTEST, ALLOW = "attest(bigint, bytea)", "allow(integer, bytea, bytea)"
DRIVER = (*before.DRIVER, ATTEST)
"""What drives rounds may call."""

CONTROL = before.CONTROL
"""What people are let in by may call."""

INSIDE = (*before.INSIDE, ALLOW)
"""What nobody but the owner of the tables calls."""
ADDED = (ATTEST, ALLOW)

ATTESTED = """
CREATE FUNCTION fleet.attest(round_ bigint, evidence_ bytea)
RETURNS boolean LANGUAGE plpgsql {definer} AS $$
BEGIN
    PERFORM fleet.read_committed();
    UPDATE fleet.round SET evidence = evidence_, attested = clock_timestamp()
        WHERE id = round_ AND state = 'open';
    RETURN FOUND;
END $$
"""
# An entry is there once, and after the one before it; what it says its owner signed.
ALLOWED = """
CREATE FUNCTION fleet.allow(number_ integer, spelled_ bytea, signature_ bytea)
RETURNS boolean LANGUAGE plpgsql {definer} AS $$
BEGIN
    PERFORM fleet.read_committed();
    INSERT INTO fleet.allowed (number, spelled, signature)
        SELECT number_, spelled_, signature_
        WHERE number_ = 0 OR EXISTS (SELECT FROM fleet.allowed WHERE number = number_ - 1)
        ON CONFLICT (number) DO NOTHING;
    RETURN EXISTS (SELECT FROM fleet.allowed WHERE number = number_ AND spelled = spelled_);
END $$
"""


def functions() -> list[str]:
    """The statements that make the functions of this step."""
    return [text.replace("{definer}", first.DEFINER) for text in (ATTESTED, ALLOWED)]
