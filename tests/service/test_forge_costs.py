"""What a charge costs: the database works it out from the event as the accountant does, exactly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from types import ModuleType
from typing import Any

import psycopg
import pytest
from alembic import command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headcount.accounting.compose import cost, cost_in_account
from headcount.errors import HeadcountError, LedgerError
from headcount.ledger.account import units_up
from headcount.ledger.schema import metadata, per_window, windows
from headcount.ledger.stores import migrate
from headcount.ledger.units import LARGEST, NO_LIMIT
from headcount.ledger.windows import Windows
from headcount.privacy.budget import Budget
from headcount.privacy.event import (
    Composed,
    Event,
    Filtered,
    GaussianNoise,
    GaussianThreshold,
    LaplaceNoise,
    LaplaceThreshold,
    SampleThreshold,
    Selection,
    Windowed,
    to_record,
)
from headcount.privacy.neighbours import Neighbours

pytestmark = pytest.mark.postgres

MOST = Budget(rho=8_000_000, delta="0.9")
# Of every size: those of real plans, whole numbers, none at all, and what no float could hold.
numbers = st.one_of(
    st.fractions(min_value=0, max_value=1000, max_denominator=10**12),
    st.integers(0, 10**7).map(Fraction),
    st.builds(Fraction, st.integers(0, 10**300), st.integers(1, 10**300)),
)
deltas = st.one_of(
    st.just(Fraction(0)),
    st.builds(Fraction, st.integers(1, 10**9), st.integers(10**15, 10**40)),
    st.fractions(min_value=0, max_value=2, max_denominator=10**6),
)
# No plan has a rate below 1e-7, and the database takes none.
samples = st.builds(
    SampleThreshold,
    st.builds(Fraction, st.integers(2, 1 << 20), st.just(1 << 24)),
    st.integers(1, 2000).map(Fraction),
    st.integers(1, 1000).map(Fraction),
    numbers.filter(bool),
    deltas.filter(bool),
)
single = st.one_of(
    st.builds(GaussianNoise, numbers, numbers),
    st.builds(LaplaceNoise, numbers, numbers),
    st.builds(Selection, numbers),
    st.builds(GaussianThreshold, numbers, numbers, deltas),
    st.builds(LaplaceThreshold, numbers, numbers, deltas),
    st.builds(Filtered, numbers, deltas),
    samples,
)
events: st.SearchStrategy[Event] = st.recursive(
    single, lambda parts: st.builds(Composed, st.lists(parts, max_size=4).map(tuple)), max_leaves=8
)
CALL = (
    "SELECT status, number FROM ledger_charge(%s, 'key', '', 'digest', 'verb', '{}', %s, %s, "
    "ARRAY[]::text[], 0, '')"
)


def expected(event: Event, stated: Neighbours, account: Neighbours) -> tuple[int, int] | None:
    """What the accountant asks for; nothing where it refuses."""
    try:
        return units_up(cost_in_account(cost(event), stated, account))
    except (HeadcountError, ZeroDivisionError):
        return None


def charged(connection: Any, event: Event, stated: str, account: str) -> Any:
    """What the database takes, or how it refuses; and all as it was before."""
    record = json.dumps(to_record(event), sort_keys=True)
    try:
        status, number = connection.execute(CALL, [account, record, stated]).fetchone()
        if status != "charged":
            return status
        row = "SELECT rho, delta, event::jsonb = %s::jsonb FROM entries WHERE sequence = %s"
        rho, delta, is_same = connection.execute(row, [record, number]).fetchone()
        assert is_same
        taken = "SELECT rho_spent, delta_spent FROM accounts WHERE name = %s"
        assert connection.execute(taken, [account]).fetchone() == (rho, delta)
        return rho, delta
    except psycopg.Error as error:
        return error.sqlstate
    finally:
        connection.rollback()


@pytest.fixture(scope="module")
def limits_and_connection(server: Any, clients: ModuleType) -> Iterator[tuple[Any, Any]]:
    address = server.new_schema()
    ledger = clients.Ledger(address)
    for neighbours in Neighbours:
        ledger.open_account(neighbours.value, MOST, neighbours)
    with psycopg.connect(address) as connection:
        yield units_up(ledger.account("replace").limit), connection


@settings(
    max_examples=250, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
@given(events, st.sampled_from(Neighbours), st.sampled_from(Neighbours))
def test_the_database_and_the_accountant_agree(
    limits_and_connection: tuple[Any, Any], event: Event, stated: Neighbours, account: Neighbours
) -> None:
    (rho_limit, delta_limit), connection = limits_and_connection
    asked = expected(event, stated, account)
    took = charged(connection, event, stated, account)
    if asked is None:
        assert took in ("HC001", "account")
    elif asked == (0, 0):
        assert took == "HC001"
    elif asked[0] > rho_limit or asked[1] > delta_limit:
        assert took == "account"
    else:
        assert took == asked


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(events, st.integers(-(10**8), 10**8 - 99), st.integers(1, 99), st.integers(1, 1 << 34))
def test_they_agree_on_what_windows_and_their_account_pay(
    windowed: tuple[Any, Any], event: Event, first: int, n: int, times: int
) -> None:
    ledger, connection = windowed
    share = expected(event, Neighbours.ADD_REMOVE, Neighbours.ADD_REMOVE)
    asked = Windowed(first, first + n - 1, times, event)
    took = charged(connection, asked, "add-remove", "daily")
    if share is None:
        assert took in ("HC001", "account", "window")
    elif share == (0, 0) or times * max(share) >= LARGEST:
        assert took == "HC001"
    elif times * share[1] > NO_LIMIT[1]:
        assert took == "account"
    elif share[0] > units_up(ledger.limit)[0] or share[1] > units_up(ledger.limit)[1]:
        assert took == "window"
    else:
        assert took == (times * share[0], times * share[1])


@pytest.fixture(scope="module")
def windowed(server: Any, clients: ModuleType) -> Iterator[tuple[Any, Any]]:
    address = server.new_schema()
    per = Windows.of("time", "day", "UTC", Budget(rho=1_000_000, delta="0.9"))
    clients.Ledger(address).open_account("daily", windows=per)
    with psycopg.connect(address) as connection:
        yield per, connection


def spent_on_laplace(ledger: Any, key: str) -> Fraction:
    before = ledger.account("web").spent.rho
    ledger.charge(
        ledger.opening("web"),
        key=key,
        request_hash=key,
        verb="count_events",
        event=LaplaceNoise(Fraction(1), Fraction(1)),
        neighbours=Neighbours.ADD_REMOVE,
    )
    spent: Fraction = ledger.account("web").spent.rho - before
    return spent


def test_a_ledger_of_the_schema_before_is_brought_to_the_new_cost(
    server: Any, clients: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = server.new_schema()
    shipped, later = command.upgrade, [per_window, windows]

    def to_0003(config: Any, _head: str) -> None:
        shipped(config, "0003")
        # What this version reads at every opening; the step that makes them comes later.
        metadata.create_all(config.attributes["connection"], later)

    with monkeypatch.context() as patch:
        patch.setattr(migrate, "CURRENT", "0003")
        patch.setattr(command, "upgrade", to_0003)
        old = clients.Ledger(address)
        old.open_account("web", MOST)
        assert spent_on_laplace(old, "before") == Fraction(1, 2)
    with psycopg.connect(address) as connection:
        connection.execute("DROP TABLE per_window, windows")
    ledger = clients.Ledger(address)
    assert float(spent_on_laplace(ledger, "after")) == pytest.approx(0.462117157)
    ledger.verify()
    # Whoever knows the old cost alone would take the new entry for a forged one: it is kept out.
    monkeypatch.setattr(migrate, "KNOWN", ("0001", "0002", "0003"))
    with pytest.raises(LedgerError, match="newer version"):
        clients.Ledger(address)
