"""A ledger on PostgreSQL and the people of it: its owner, two analysts, an auditor."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
from typer.testing import CliRunner

from headcount.cli.commands import app
from headcount.ledger.ledger import Ledger
from headcount.ledger.statement.statement import statement

OWNER, PEOPLE = "keeper", ("mallory", "victor", "audrey")
ONE = json.dumps({"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"})
PARTS = ("account", "key", "question", "digest", "verb", "about", "event", "neighbours", "covers")


class Book:
    """A ledger of its owner's, with two analysts and an auditor."""

    def __init__(self, server: Any, clients: ModuleType, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.schema = server.new_schema().rsplit("%3D", 1)[1]
        server.sql(f"ALTER SCHEMA {self.schema} OWNER TO keeper")
        self.owner = clients.new_ledger(self.address("keeper"))
        for role, name in (("analyst", "mallory"), ("analyst", "victor"), ("auditor", "audrey")):
            self.run("grant", role, name)
        clients.charge(Ledger(self.address("victor")), "victor's")

    def address(self, user: str) -> str:
        return f"{self.server.address(user=user)}?options=-csearch_path%3D{self.schema}"

    def run(self, *words: str, user: str = "keeper") -> str:
        command = ["ledger", *words, "--ledger", self.address(user)]
        ran = CliRunner().invoke(app, command, catch_exceptions=False)
        assert ran.exit_code == 0, ran.output
        return ran.output

    def sql(self, *statements: str, user: str = "mallory") -> list[Any]:
        with psycopg.connect(self.address(user), autocommit=True) as connection:
            return [connection.execute(statement) for statement in statements]

    def charge(self, event: str = ONE, connection: Any = None, **other: Any) -> Any:
        """Call the function as it is, with words of one's own."""
        asked: dict[str, Any] = {
            "account": "web",
            "key": "k",
            "question": "",
            "digest": "d",
            "verb": "v",
        }
        asked |= {"about": "{}", "event": event, "neighbours": "add-remove", "covers": []}
        asked |= other
        call = f"SELECT status, number FROM {self.schema}.ledger_charge({'%s,' * 9} 0, '')"
        values = [asked[part] for part in PARTS]
        if connection is not None:
            return connection.execute(call, values).fetchone()
        with psycopg.connect(self.address("mallory"), autocommit=True) as own:
            return own.execute(call, values).fetchone()

    def is_in_order(self, charges: int, elsewhere: int = 0) -> None:
        """For someone who sees the ledger for the first time, by every way to read it."""
        fresh = Ledger(self.address("keeper"), heads=self.folder / "another machine")
        assert fresh.verify().n_charges == charges + elsewhere
        self.owner.verify()
        entries = fresh.entries("web")
        assert [e.analyst for e in entries] == ["victor"] + ["mallory"] * (charges - 1)
        assert sum(e.spend.rho for e in entries) == fresh.account("web").spent.rho
        for text in (statement(fresh, "web"), statement(fresh, "web", as_html=True)):
            assert "mallory" in text or charges == 1
        assert "victor" in self.run("show")
        assert len(self.run("export").splitlines()) == fresh.verify().head.sequence
