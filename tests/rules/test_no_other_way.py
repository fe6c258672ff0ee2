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

from headcount.tables.sources import ENGINES

STAGES = ("contributions/", "mechanisms/", "releases/")
BESIDE = ("cli/", "results/", "receipts/")
"""They have plans and releases in their hands, and run nothing."""
OWN_STORES = ("ledger/", "fleet/", "streams/")
"""They run what they like on stores of their own, and have no relation in their hands."""
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
        "checkpoint",
        "localCheckpoint",
    ]
)
"""How Ibis, Spark and drivers are told to run a query."""

RUN_BESIDE_ENGINES = frozenset(
    [
        "interrupts",
        "parquet_files",
        "parquet_mend",
        "query_identity",
        "sessions",
        "sources",
        "view_functions",
    ]
)
"""All that runs queries in ``tables/`` and is no engine's own. What is asked before a charge is
asked without rows: the trial of all verbs looks at every statement."""
MADE_OF_COLUMNS = {
    "contributions/equal_error/levels.py": "numbers",
    "contributions/listed.py": "arrays",
}
"""Where a table is made of columns that have a name; elsewhere they are written out."""

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

CLOSED = ("contributions/", "mechanisms/")
OPENS = frozenset({"open", "exec", "eval", "compile", "__import__", "import_module"})
VAGUE = frozenset({"utils", "util", "helpers", "helper", "common", "misc", "tools"})


def other_ways(path: str, source: str) -> Iterator[str]:
    """What in a module would pass by the rules."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr=name)) if name in RUNS and runs_nothing(path):
                # A release's own rows, which were published.
                if ast.unparse(node) != "self._table.to_pandas()":
                    yield f"{path}: .{name}()"
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="pa" | "pyarrow"), attr="table"),
                args=[ast.Name(id=name), *_],
            ) if path.startswith(STAGES) and MADE_OF_COLUMNS.get(path) != name:
                # A relation gives its rows to whatever speaks Arrow.
                yield f"{path}: table({name})"
            case ast.Attribute(attr="expr") if not path.startswith("contributions/"):
                # A relation gives its rows to whatever speaks Arrow, without any call of its own.
                yield f"{path}: .expr"
            case ast.Name(id=name) if name in OPENS and path.startswith(CLOSED):
                yield f"{path}: {name}"
            case _:
                pass
        if path.startswith("mechanisms/"):
            yield from (f"{path}: {name}" for name in imported(node) if not is_listed(name))


def runs_nothing(path: str) -> bool:
    return path.startswith((*STAGES, *BESIDE))


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
    looked_at = modules(*STAGES, *BESIDE, *OWN_STORES)
    assert [one for path, source in looked_at.items() for one in other_ways(path, source)] == []


def test_what_runs_in_tables_is_listed() -> None:
    def runs(source: str) -> bool:
        calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
        return any(isinstance(one.func, ast.Attribute) and one.func.attr in RUNS for one in calls)

    found = {Path(path).stem for path, source in modules("tables/").items() if runs(source)}
    engines = {"spark", *ENGINES}
    others = {name for name in found if name.split("_")[0] not in engines}
    assert others == RUN_BESIDE_ENGINES


PLANTS = {
    "a count of all rows in a note": ("releases/profile.py", "n = table.expr.count().execute()"),
    "rows before the charge": ("releases/profile.py", "rows = table.expr.limit(1).to_pyarrow()"),
    "rows by the Arrow protocol": ("releases/profile.py", "rows = pa.table(self.table.expr)"),
    "the number of rows on a screen": (
        "cli/show.py",
        "n = plan.work.table.expr.count().execute()",
    ),
    "a relation on a page": ("results/report.py", "rows = release.table.expr"),
    "a relation in a receipt": ("receipts/make.py", "n = table.count().to_pyarrow()"),
    "a relation in the ledger": ("ledger/reading.py", "rows = table.expr"),
    "the Arrow protocol among contributions": ("contributions/profile.py", "n = pa.table(users)"),
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
