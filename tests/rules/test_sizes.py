"""How large a table is, and what the environment says, are looked at in the places listed here.

A size that is read off a file or a table costs nothing to look at, and nobody paid for it. A
variable of the environment could turn on what no test sees.
"""

from __future__ import annotations

import ast

import pytest
from tests.rules.source import modules

SIZES = frozenset(
    [
        "st_size",
        "getsize",
        "num_rows",
        "nbytes",
        "statistics",
        "num_row_groups",
        "total_byte_size",
        "row_group",
        "estimated_size",
    ]
)
LOOK_AT_SIZES = {
    "tables/": {
        "tables/parquet_mend.py": "whether all rows can be read, to leave out what cannot",
        "tables/spark_workers.py": "public rows, written to see whether they arrive",
        "tables/query_identity.py": "a copy of a table in memory, as long as it is",
        "tables/spark_tables.py": "a public table, whether it is sent to where the others are",
        "tables/views.py": "bytes of a type of integers, not of a table",
    },
    "cli/": {"cli/show.py": "rows of a release, which were published"},
}
ENVIRONMENT = {
    "fleet/settings.py": "where a fleet's database, ledger, core and key are",
    "ledger/address.py": "where data is kept",
    "ledger/heads.py": "where heads are kept",
    "releases/accounts.py": "which ledger",
    "tables/scratch.py": "where temporary files go",
}


def named(source: str, words: frozenset[str]) -> set[str]:
    """Which of these a module names, by attribute, by name or by text."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(attr=word) | ast.Name(id=word) | ast.Constant(value=str(word)):
                found |= {word} & words
            case _:
                pass
    return found


@pytest.mark.parametrize("place", LOOK_AT_SIZES)
def test_sizes_are_looked_at_in_the_places_that_are_listed(place: str) -> None:
    found = {path for path, source in modules(place).items() if named(source, SIZES)}
    assert found == set(LOOK_AT_SIZES[place])


def test_the_environment_is_asked_in_the_places_that_are_listed() -> None:
    words = frozenset(["environ", "environb", "getenv", "getenvb"])
    found = {path for path, source in modules().items() if named(source, words)}
    assert {path for path in found if not path.startswith("trials/")} == set(ENVIRONMENT)


def test_a_planted_look_is_found() -> None:
    assert named("said = path.stat().st_size", SIZES)
    assert named("size = getattr(found, 'st_size')", SIZES)
    assert named("import os\nif os.environ.get('DEBUG'): pass", frozenset(["environ"]))
