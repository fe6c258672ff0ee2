"""There is no other way to private rows or to chance than those that the other rules look at.

They know what reads by our own names. Ibis, Spark and database drivers have names of their own, and
a machine has more sources of chance than a list could name: so outside ``tables/`` nothing runs a
query by these, releases have no relation in their hands, and mechanisms import what is listed here
and nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rules.source import SOURCE, modules

STAGES = ("contributions/", "mechanisms/", "releases/")
RUNS = frozenset(
    [
        "execute",
        "executemany",
        "raw_sql",
        "sql",
        "fetchall",
        "fetchone",
        "fetchmany",
        "fetch_arrow_table",
        "fetch_record_batch",
        "to_pyarrow",
        "to_pyarrow_batches",
        "to_pandas",
        "to_pandas_batches",
        "to_polars",
        "to_parquet",
        "to_csv",
        "to_delta",
        "to_torch",
        "to_dict",
        "toPandas",
        "toLocalIterator",
        "collect",
        "cache",
    ]
)
"""How Ibis, Spark and drivers are told to run a query."""

LIBRARIES = frozenset(
    [
        "__future__",
        "collections",
        "dataclasses",
        "fractions",
        "functools",
        "headcount",
        "itertools",
        "math",
        "numpy",
        "typing",
        "scipy.special",
    ]
)
"""What a mechanism may import. None of it draws, but ``numpy.random``, which the linter forbids."""

OPENS = frozenset({"open", "exec", "eval", "compile", "__import__", "import_module"})
VAGUE = frozenset({"utils", "util", "helpers", "helper", "common", "misc", "tools"})


def other_ways(path: str, source: str) -> Iterator[str]:
    """What in a module would pass by the rules."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr=name)) if name in RUNS:
                yield f"{path}: .{name}()"
            case ast.Attribute(attr="expr") if not path.startswith("contributions/"):
                # A relation gives its rows to whatever speaks Arrow, without any call of its own.
                yield f"{path}: .expr"
            case ast.Name(id=name) if name in OPENS and not path.startswith("releases/"):
                yield f"{path}: {name}"
            case _:
                pass
        if path.startswith("mechanisms/"):
            yield from (f"{path}: {name}" for name in imported(node) if not is_listed(name))


def imported(node: ast.AST) -> list[str]:
    """The modules of an import, as far as they are told apart by it."""
    match node:
        case ast.Import(names=names):
            return [one.name for one in names]
        case ast.ImportFrom(module=module, names=names):
            return [f"{module}.{one.name}" for one in names]
        case _:
            return []


def is_listed(name: str) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in LIBRARIES)


def test_nothing_runs_a_query_or_draws_by_another_name() -> None:
    assert [
        one for path, source in modules(*STAGES).items() for one in other_ways(path, source)
    ] == []


PLANTS = {
    "a count of all rows in a note": ("releases/profile.py", "n = table.expr.count().execute()"),
    "rows before the charge": ("releases/profile.py", "rows = table.expr.limit(1).to_pyarrow()"),
    "rows by the Arrow protocol": ("releases/profile.py", "rows = pa.table(self.table.expr)"),
    "a bare number": ("contributions/profile.py", "n = int(pairs.user.nunique().execute())"),
    "a file of chance": ("mechanisms/gaussian.py", "noise = open('/dev/urandom', 'rb').read(8)"),
    "a name made of chance": ("mechanisms/gaussian.py", "import uuid\nnoise = uuid.uuid1().int"),
    "a law of SciPy's": ("mechanisms/gaussian.py", "from scipy.stats import norm\nnorm.rvs()"),
    "a clock": ("mechanisms/gaussian.py", "import time\nnoise = time.time_ns() % 7"),
    "a key": ("mechanisms/gaussian.py", "import ssl\nnoise = ssl.RAND_bytes(8)"),
    "a module by its name": (
        "mechanisms/gaussian.py",
        "from importlib import import_module\nread = import_module('headcount.contributions.read')",
    ),
}


@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_one_is_found(plant: str) -> None:
    path, line = PLANTS[plant]
    before = set(other_ways(path, modules(path)[path]))
    assert set(other_ways(path, f"{modules(path)[path]}\n{line}\n")) - before


def vague(paths: Iterator[Path]) -> list[str]:
    return [str(path) for path in paths if path.stem in VAGUE]


def test_no_file_or_folder_has_a_name_that_says_nothing() -> None:
    assert vague(SOURCE.rglob("*")) == []
    assert vague(iter([Path("releases/utils.py"), Path("mechanisms/common")]))


def test_every_folder_is_a_package() -> None:
    """The contracts see packages: in another folder there could be anything."""
    folders = {path.parent for path in SOURCE.rglob("*.py")}
    assert [str(one) for one in folders if not (one / "__init__.py").exists()] == []
