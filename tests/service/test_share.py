"""The page on sharing a budget, done as it says: a team from nothing to two analysts at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
import pytest

from headcount.errors import BudgetError, LedgerError
from headcount.privacy.budget import Budget

pytestmark = pytest.mark.postgres

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "share-a-budget.md"


def analyst(
    number: int, ready: Callable[[], object], clients: ModuleType, addresses: list[str]
) -> tuple[int, int]:
    ledger = clients.Ledger(addresses[number])
    ready()
    won = lost = 0
    for attempt in range(80):
        try:
            won += clients.charge(ledger, f"{number}-{attempt}").is_new
        except BudgetError:
            lost += 1
    return won, lost


def test_the_page_takes_a_team_to_two_analysts_at_once(server: Any, clients: ModuleType) -> None:
    page = PAGE.read_text(encoding="utf-8")
    database, people = re.findall(r"^```sql\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    server.sql(*database.split(";\n")[:-1])
    owner = clients.Ledger(server.address("budget", "budget_owner"))
    owner.open_account("web", clients.HUNDRED, covers=["/warehouse"])
    owner.set_quota("web", "ann", Budget(rho="0.6"))
    owner.set_quota("web", "bob", Budget(rho="0.5"))
    server.sql(*people.split(";\n")[:-1], database="budget")
    for role, name in re.findall(r"^\$ headcount ledger grant (\w+) (\w+)$", page, re.MULTILINE):
        owner.grant(role, name)
    addresses = [server.address("budget", name) for name in ("ann", "bob")]
    got = clients.together(2, analyst, clients, addresses)
    won = sum(each[0] for each in got)
    assert won == 100, "together they spent the account's budget and not their quotas' sum"
    by = [entry.analyst for entry in owner.entries("web")]
    assert by.count("ann") <= 60
    assert by.count("bob") <= 50
    owner.verify()

    ann = clients.Ledger(addresses[0])
    assert ann.open_account("web", covers=["/warehouse"]).left.rho == 0
    with pytest.raises(LedgerError, match=r"Only the owner .* can open accounts"):
        ann.open_account("mine", Budget(rho=100))
    with pytest.raises(LedgerError, match=r"Only the owner .* can set quotas.*Nothing was changed"):
        ann.set_quota("web", "ann", Budget(rho=1))
    with psycopg.connect(addresses[0], autocommit=True) as connection:
        for statement in (
            "UPDATE accounts SET rho_limit = rho_limit * 2",
            "UPDATE accounts SET rho_spent = 0",
            "UPDATE quotas SET rho_limit = rho_limit * 2",
            "INSERT INTO accounts VALUES ('mine', 'add-remove', '1/1000', 1, 1, 0, 0, 0)",
            "UPDATE entries SET rho = 0",
            "DELETE FROM entries",
            "TRUNCATE entries",
            "DELETE FROM results",
            "DROP TABLE entries",
            "ALTER TABLE entries DISABLE TRIGGER ALL",
        ):
            with pytest.raises(psycopg.Error):
                connection.execute(statement)
    owner.verify()


def test_names_of_people_and_sources_cannot_break_out(server: Any, clients: ModuleType) -> None:
    ledger = clients.Ledger(server.new_schema())
    nasty = "'; DROP TABLE entries; -- %s %(x)s :y \\"
    source = f"/{nasty}1"
    ledger.open_account(nasty, clients.HUNDRED, covers=[source])
    ledger.set_quota(nasty, nasty, Budget(rho=1))
    ledger.set_quota(nasty, ledger.analyst, Budget(rho=1))
    clients.charge(ledger, nasty, nasty, nasty)
    assert ledger.covering([source]) == {source: nasty}
    assert [entry.key for entry in ledger.entries(nasty)] == [nasty]
    ledger.verify()
