"""A ledger in memory, on SQLite and on PostgreSQL: the same answers to any sequence of requests."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from headcount.accounting.compose import cost
from headcount.accounting.convert import spend_of, zcdp_of
from headcount.errors import HeadcountError
from headcount.ledger.ledger import Ledger
from headcount.privacy.budget import Budget
from headcount.privacy.event import Event, GaussianNoise, GaussianThreshold
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

EVENTS: list[Event] = [
    GaussianNoise(Fraction(1), Fraction(2)),  # rho 1/4
    GaussianNoise(Fraction(1), Fraction(1)),  # rho 1/2
    GaussianNoise(Fraction(1), Fraction(1, 4)),  # rho 2
    GaussianThreshold(Fraction(1), Fraction(2), Fraction(3, 10**7)),
    GaussianThreshold(Fraction(1), Fraction(10**6), Fraction(1, 10**7)),
]
BUDGETS = [Budget(rho=1, delta=1e-6), Budget(rho=2, delta=1e-6), Budget(rho=1, delta=2e-6)]
QUOTAS = [Budget(rho="0.25"), Budget(rho="0.75"), Budget(rho=1, delta=4e-7), Budget(rho=3)]
KEYS = ["k1", "k2", "k3", "ключ ' \" \n"]


@dataclass
class ModelAccount:
    limit: Zcdp
    stated_delta: Fraction
    spent: Zcdp = field(default_factory=lambda: Zcdp(0))
    quotas: dict[str, Zcdp] = field(default_factory=dict)
    spent_by: dict[str, Zcdp] = field(default_factory=dict)
    charges: dict[str, tuple[str, list[bytes]]] = field(default_factory=dict)


class Refused(Exception):
    """What the model raises, with the name of the error a ledger must raise."""


class Model:
    """What a ledger is meant to do, without a disk."""

    def __init__(self) -> None:
        self.accounts: dict[str, ModelAccount] = {}
        self.covers: dict[str, str] = {}

    def open_account(self, name: str, budget: Budget | None, covers: list[str]) -> str:
        if any(self.covers.get(source, name) != name for source in covers):
            raise Refused("LedgerError")
        known = self.accounts.get(name)
        if known is None:
            if budget is None:
                raise Refused("NoAccountError")
            self.accounts[name] = ModelAccount(zcdp_of(budget), budget.stated_delta)
        elif budget is not None and (
            zcdp_of(budget) != known.limit or budget.stated_delta != known.stated_delta
        ):
            raise Refused("LedgerError")
        self.covers.update(dict.fromkeys(covers, name))
        return "opened"

    def set_quota(self, name: str, analyst: str, budget: Budget) -> str:
        if name not in self.accounts:
            raise Refused("NoAccountError")
        account = self.accounts[name]
        limit = spend_of(budget, account.limit, account.stated_delta)
        if not limit <= account.limit or not account.spent_by.get(analyst, Zcdp(0)) <= limit:
            raise Refused("UsageError")
        account.quotas[analyst] = limit
        return "set"

    def charge(self, name: str, key: str, request: str, event: Event) -> tuple[bool, bytes | None]:
        if name not in self.accounts:
            raise Refused("NoAccountError")
        account = self.accounts[name]
        if key in account.charges:
            before, results = account.charges[key]
            if before != request:
                raise Refused("KeyReusedError")
            return False, results[0] if results else None
        after = account.spent + cost(event)
        mine = account.spent_by.get("me", Zcdp(0)) + cost(event)
        if not after <= account.limit:
            raise Refused("BudgetError")
        if account.quotas and ("me" not in account.quotas or not mine <= account.quotas["me"]):
            raise Refused("BudgetError")
        account.spent, account.spent_by["me"] = after, mine
        account.charges[key] = request, []
        return True, None

    def store(self, name: str, key: str, rows: bytes) -> bytes:
        results = self.accounts[name].charges[key][1]
        results.append(rows)
        return results[0]


class Three(RuleBasedStateMachine):
    """Every request goes to the model and to both stores."""

    new_places: ClassVar[Callable[[], list[str]]]
    numbers = itertools.count()
    places: ClassVar[list[str]] = []
    ledgers: ClassVar[list[Ledger]] = []

    def __init__(self) -> None:
        super().__init__()
        number = next(self.numbers)
        # A sequence has accounts of its own in a ledger that it shares with others; opening one
        # ledger for each would test little else.
        if number % 50 == 0:
            Three.places = type(self).new_places()
            Three.ledgers = [Ledger(place) for place in Three.places]
        self.prefix = f"{number} "
        self.model = Model()
        self.sequences: dict[tuple[int, str, str], int] = {}

    def everywhere(self, expected: Callable[[], Any], real: Callable[[int, Ledger], Any]) -> None:
        try:
            wanted = expected()
        except Refused as refused:
            wanted = str(refused)
        for number, ledger in enumerate(self.ledgers):
            try:
                got = real(number, ledger)
            except HeadcountError as error:
                got = type(error).__name__
            assert got == wanted, ledger

    @rule(
        name=st.sampled_from("ab"),
        budget=st.sampled_from([*BUDGETS, None]),
        covers=st.lists(st.sampled_from(["s1", "s2"]), max_size=2),
    )
    def open_account(self, name: str, budget: Budget | None, covers: list[str]) -> None:
        def real(_number: int, ledger: Ledger) -> str:
            sources = [f"/{self.prefix}{source}" for source in covers]
            ledger.open_account(self.prefix + name, budget, covers=sources)
            return "opened"

        self.everywhere(lambda: self.model.open_account(name, budget, covers), real)

    @rule(
        name=st.sampled_from("ab"),
        analyst=st.sampled_from(["me", "bob"]),
        budget=st.sampled_from(QUOTAS),
    )
    def set_quota(self, name: str, analyst: str, budget: Budget) -> None:
        def real(_number: int, ledger: Ledger) -> str:
            who = ledger.analyst if analyst == "me" else analyst
            ledger.set_quota(self.prefix + name, who, budget)
            return "set"

        self.everywhere(lambda: self.model.set_quota(name, analyst, budget), real)

    @rule(
        name=st.sampled_from("aab"),
        key=st.sampled_from(KEYS),
        request=st.sampled_from("rrrq"),
        event=st.sampled_from(EVENTS),
    )
    def charge(self, name: str, key: str, request: str, event: Event) -> None:
        def real(number: int, ledger: Ledger) -> tuple[bool, bytes | None]:
            charge = ledger.charge(
                ledger.opening(self.prefix + name),
                key=key,
                fresh=True,
                request_hash=request,
                verb="count_users",
                event=event,
                neighbours=Neighbours.ADD_REMOVE,
            )
            self.sequences[number, name, key] = charge.sequence
            return charge.is_new, charge.result

        self.everywhere(lambda: self.model.charge(name, key, request, event), real)

    @rule(data=st.data(), rows=st.binary(max_size=20))
    def store(self, data: st.DataObject, rows: bytes) -> None:
        charged = sorted({(name, key) for _, name, key in self.sequences})
        if charged:
            name, key = data.draw(st.sampled_from(charged))
            self.everywhere(
                lambda: self.model.store(name, key, rows),
                lambda number, ledger: ledger.store_result(self.sequences[number, name, key], rows),
            )

    @rule()
    def reopen(self) -> None:
        Three.ledgers = [Ledger(place) for place in self.places]

    @invariant()
    def all_agree(self) -> None:
        for number, ledger in enumerate(self.ledgers):
            for name, wanted in self.model.accounts.items():
                account = ledger.account(self.prefix + name)
                assert (account.limit, account.spent) == (wanted.limit, wanted.spent)
                entries = ledger.entries(self.prefix + name)
                assert {entry.key: entry.has_result for entry in entries} == {
                    key: bool(results) for key, (_, results) in wanted.charges.items()
                }
                assert {
                    "me" if quota.analyst == ledger.analyst else quota.analyst: (
                        quota.limit,
                        quota.spent,
                    )
                    for quota in ledger.quotas(self.prefix + name)
                } == {
                    who: (limit, wanted.spent_by.get(who, Zcdp(0)))
                    for who, limit in wanted.quotas.items()
                }
            for source in ("s1", "s2"):
                owner = self.model.covers.get(source)
                place = f"/{self.prefix}{source}"
                found = ledger.covering([place]).get(place)
                assert found == (None if owner is None else self.prefix + owner), number


def test_memory_sqlite_and_postgres_are_one_ledger(server: Any, long: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        numbers = itertools.count()

        def new_places() -> list[str]:
            return [f"{folder}/ledger-{next(numbers)}.db", server.new_schema()]

        Three.new_places = staticmethod(new_places)
        run_state_machine_as_test(
            Three,
            settings=settings(
                max_examples=2000 if long else 100,
                stateful_step_count=20,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                database=None,
            ),
        )
        for ledger in Three.ledgers:
            ledger.verify()
        Three.ledgers = []
