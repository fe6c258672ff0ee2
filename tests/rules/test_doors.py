"""Two doors and no third: who charges the ledger, stores what is shown, and asks the core.

``releases/run.py`` is the door to tables, ``fleet/door.py`` the one to answers of devices. What
they do in order, nobody else does at all; and ``fleet/store.py`` alone asks the fleet's database.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from tests.rules.source import is_at, modules

MAY = {
    "charge": {
        "ledger/": "it is made here",
        "releases/run.py": "the door to tables",
        "fleet/door.py": "the door to answers of devices",
        "accounting/filter.py": "a filter charges within one release, not the ledger",
        "mechanisms/": "by their filter",
        "releases/frequencies/plan.py": "by a filter, to see what a plan comes to",
        "trials/": "by a filter that is watched",
        "cli/ledger.py": "a word that is printed",
    },
    "store_result": {"ledger/": "it is made here", "releases/run.py": "the door to tables"},
    "store_part": {"ledger/": "it is made here", "fleet/door.py": "the door to devices' answers"},
    "core_client": {
        "fleet/door.py": "it asks the core",
        "fleet/attesting.py": "is handed a core by the door, and asks for evidence alone",
    },
    "KeyBox": {
        "fleet/keybox.py": "it is made here",
        "fleet/core_process.py": "the core's own",
        "trials/fleet_noise.py": "an auditor asks it twice",
    },
    "Door": {
        "fleet/door.py": "it is made here",
        "fleet/driver.py": "opens, counts and ends by it",
        "fleet/control.py": "applies tasks by it, and has no core",
        "cli/fleet.py": "the same, from a shell",
        "fleet/simulate_fleet.py": "the same, for devices that are made up",
    },
}
SQL = frozenset({"exec_driver_sql", "execute", "executemany", "fetchall", "cursor", "text"})
MAY_ASK = {
    "fleet/store.py": "the fleet's questions",
    "fleet/migrate.py": "its schema, and who may do what",
    "fleet/migrations/": "its schema",
    "fleet/device_store.py": "a device's own file",
    "fleet/device_select.py": "the task's SELECT over an app's own file",
}


def names(source: str) -> Iterator[str]:
    """Whatever a module takes from elsewhere or calls by its name, also as the text of it."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Constant(value=str(name)):
                yield name
            case ast.ImportFrom(module=module, names=found):
                yield from (*(module or "").split("."), *(one.name for one in found))
            case ast.Import(names=found):
                yield from (part for one in found for part in one.name.split("."))
            case _:
                pass


def called(source: str) -> Iterator[str]:
    """The methods that a module calls, or hands on to be called."""
    tree = ast.parse(source)
    yield from (one.attr for one in ast.walk(tree) if isinstance(one, ast.Attribute))
    yield from (
        one.value
        for one in ast.walk(tree)
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
    )


def third_doors(path: str, source: str) -> list[str]:
    """What a module does that only a door may."""
    used = {"charge", "store_result", "store_part"} & set(called(source))
    used |= {"core_client", "KeyBox", "Door"} & set(names(source))
    found = [f"{path}: {name}" for name in sorted(used) if not is_at(path, MAY[name])]
    if path.startswith("fleet/") and not is_at(path, MAY_ASK):
        found += [f"{path}: .{name}" for name in sorted(SQL & set(called(source)))]
    return found


def test_there_are_two_doors() -> None:
    assert [one for path, text in modules().items() for one in third_doors(path, text)] == []


def test_every_place_that_is_listed_is_one() -> None:
    for name, places in MAY.items():
        for place in places:
            text = "\n".join(modules(place).values())
            assert name in text, (name, place)


PLANTS = {
    "a charge beside the door": ("fleet/lease.py", "ledger.charge(opening)"),
    "a charge handed on": ("fleet/store.py", "pay = ledger.charge"),
    "a charge by its text": ("fleet/intake.py", "getattr(ledger, 'charge')(opening)"),
    "a part beside the door": ("fleet/released.py", "ledger.store_part(1, 0, b'')"),
    "a part of a table": ("releases/run.py", "ledger.store_part(1, 0, b'')"),
    "a result of devices": ("fleet/door.py", "self.ledger.store_result(1, b'')"),
    "a count beside the door": (
        "fleet/intake.py",
        "from headcount.fleet.core_client import Core\nCore('x').count(t, d, [])",
    ),
    "keys beside the core": ("fleet/door.py", "from headcount.fleet.keybox import KeyBox"),
    "a question elsewhere": ("fleet/door.py", "self.store.engine.connect().exec_driver_sql('x')"),
}


@pytest.mark.parametrize("plant", PLANTS)
def test_a_third_door_is_found(plant: str) -> None:
    path, line = PLANTS[plant]
    assert third_doors(path, modules(path)[path]) == []
    assert third_doors(path, f"{modules(path)[path]}\n{line}\n")
