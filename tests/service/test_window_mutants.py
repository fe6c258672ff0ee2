"""Charges of windows that are a little wrong, each named: random ranges must show every one."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.service.windowed import walk

from headcount.errors import HeadcountError
from headcount.ledger.stores import statements
from headcount.ledger.stores.migrations import functions_0006

Edits = list[tuple[str, str]]
N = 250
TAKES = "_take_from_windows(writer, ask, ask.windows, of_windows)"
SERIES = "generate_series(first_, last_)"
LEFT_OUT = "one window that cannot pay is left out"
ONE_LESS = "replace(ask.windows, last=max(ask.windows.first, ask.windows.last - 1))"
ONE_ON = "replace(ask.windows, first=ask.windows.first + 1, last=ask.windows.last + 1)"

# What is edited in the charge of a file, and in that of a server.
MUTANTS: dict[str, tuple[Edits, Edits]] = {
    "a range charges one window too few": (
        [(TAKES, TAKES.replace("ask.windows,", f"{ONE_LESS},"))],
        [
            (
                "generate_series(first_, last_)",
                "generate_series(first_, greatest(first_, last_ - 1))",
            )
        ],
    ),
    "two windows are confused": (
        [(TAKES, TAKES.replace("ask.windows,", f"{ONE_ON},"))],
        [(SERIES, "generate_series(first_ + 1, last_ + 1)")],
    ),
    "two accounts are confused": (
        [(TAKES, TAKES.replace("ask,", "in_another(ask),", 1))],
        [("SELECT account_, per.level, n", "SELECT 'both', per.level, n")],
    ),
    "part of a range stays taken after a refusal": (
        [("if short is not None:", "if short is not None:\n            writer.finish()")],
        [
            (
                "        status := 'window';",
                "        INSERT INTO {schema}.windows AS w SELECT account_, per.level, first_, "
                "per.rho_limit, per.delta_limit, 1, 0 ON CONFLICT ON CONSTRAINT windows_pkey "
                "DO UPDATE SET rho_spent = least(w.rho_spent + 1, w.rho_limit);"
                "\n        status := 'window';",
            )
        ],
    ),
    "the account's filter is not charged": (
        [("{**ask.names, **cost}", '{**ask.names, "rho": 0, "delta": 0}')],
        [
            (
                "SET rho_spent = rho_spent + rho_, delta_spent = delta_spent + delta_\n"
                "        WHERE name",
                "SET rho_spent = rho_spent\n        WHERE name",
            )
        ],
    ),
    "the windows' filter is not charged": (
        [(TAKES, "None")],
        [("    IF asked IS NOT NULL THEN\n", "    IF false THEN\n")],
    ),
    "the account pays the share of one window": (
        [
            (
                '{"rho": ask.rho, "delta": ask.delta}',
                '{"rho": ask.rho // (ask.windows.times if ask.windows else 1), "delta": ask.delta}',
            )
        ],
        [("rho_ := times_ * rho_;", "")],
    ),
    "a window pays for all of them": (
        [(TAKES, TAKES.replace("ask.windows,", "replace(ask.windows, times=1),"))],
        [("share_rho := rho_;", "share_rho := times_ * rho_;")],
    ),
    "a release without windows charges the account only": (
        [("if ask.windows is None and of_windows is not None:", "if False:")],
        [("IF asked IS NULL AND per.account IS NOT NULL THEN", "IF false THEN")],
    ),
    LEFT_OUT: (
        [("if short is not None:", "if False:")],
        [("AND w.number BETWEEN first_ AND last_", "AND w.number = first_")],
    ),
}


def in_another(ask: Any) -> Any:
    """The same charge, taken from the windows of another account."""
    other = replace(ask.opening, account=replace(ask.account, name="both"))
    return replace(ask, opening=other)


def edited(text: str, edits: Edits) -> str:
    for before, after in edits:
        assert text.count(before) == 1, f"the code has no such line any more: {before}"
        text = text.replace(before, after)
    return text


@pytest.mark.parametrize("name", [None, *MUTANTS])
def test_random_ranges_show_every_mutant(
    new_address: Callable[[], str], monkeypatch: pytest.MonkeyPatch, name: str | None
) -> None:
    address = new_address()
    of_file, of_server = MUTANTS[name] if name else ([], [])
    monkeypatch.setattr(functions_0006, "CHARGE", edited(functions_0006.CHARGE, of_server))
    source = edited(textwrap.dedent(inspect.getsource(statements.charge)), of_file)
    around = {**vars(statements), "replace": replace, "in_another": in_another}
    exec(source, around)
    monkeypatch.setattr(statements, "charge", around["charge"])
    if name is None:
        walk(address, N // 5)
        return
    with pytest.raises((AssertionError, HeadcountError)) as caught:
        walk(address, N)
    by_the_table = name == LEFT_OUT and "://" in address
    assert by_the_table == ("unknown whether" in str(caught.value)), "it is shown by what it says"
