"""Ibis compiles and looks up types; rows move by the engines' own paths, never by Ibis's."""

from __future__ import annotations

import ast

import pytest
from tests.rules.source import modules

CARRIES = {
    "execute",
    "to_delta",
    "to_csv",
    "to_json",
    "to_pandas",
    "to_pandas_batches",
    "to_parquet",
    "to_polars",
    "to_pyarrow",
    "to_pyarrow_batches",
    "to_torch",
    "to_xlsx",
}
MAKES = {"create_table", "create_view", "raw_sql", "read_csv", "read_json", "read_parquet"}
IN_MEMORY = ("op.data", "op.schema")
"""A table that Ibis was given, and its types, are in Arrow already."""
SPEAK_IBIS = ("tables/", "contributions/", "trials/")
OTHERS = {
    "trials/reading_mutants.py": "a mutant reads CSV files by DuckDB itself",
}


def carried(source: str) -> list[str]:
    """The calls by which Ibis would run a query, or make something in an engine."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name, whose = node.func.attr, ast.unparse(node.func.value)
        if name in MAKES or (name in CARRIES and whose not in IN_MEMORY):
            # A cursor of an engine is told what to run by text.
            if name == "execute" and node.args and not _is_expression(node.args[0]):
                continue
            found.append(ast.unparse(node))
    return found


def _is_expression(argument: ast.expr) -> bool:
    """Whether what is run is made by a method, as expressions of Ibis are, and texts are not."""
    return isinstance(argument, ast.Call) and isinstance(argument.func, ast.Attribute)


def test_ibis_carries_nothing() -> None:
    sources = modules(*SPEAK_IBIS)
    assert sources
    for path, source in sources.items():
        if path not in OTHERS:
            assert carried(source) == [], path


ASTRAY = [
    "n = table.expr.count().execute()",
    "rows = expr.to_pyarrow()",
    "rows = connection.to_pyarrow(expr)",
    "frame = expr.limit(5).to_pandas()",
    "for batch in expr.to_pyarrow_batches(): pass",
    "rows = connection.execute(rows.agg(most=rows['n'].max()))",
    "connection.create_table('kept', expr)",
    "table = connection.read_parquet(path)",
]


@pytest.mark.parametrize("source", ASTRAY)
def test_what_carries_is_seen(source: str) -> None:
    assert carried(source)


@pytest.mark.parametrize(
    "source", ["connection.execute('select 1')", "cursor.execute(query, [name])"]
)
def test_what_engines_carry_is_none_of_it(source: str) -> None:
    assert not carried(source)
