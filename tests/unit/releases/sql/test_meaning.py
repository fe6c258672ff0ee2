"""What a query counts is what a database counts by it: the same groups, the same true numbers."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.releases.sql.accepted import ACCEPTED
from tests.unit.releases.sql.table import opened

from headcount.contributions.groups import USER, group_rows
from headcount.releases.sql.parse import parsed
from headcount.releases.sql.read import asked

N_ROWS = 400
IN_DUCKDB = {
    " truncate(time, 'month')": " date_trunc('month', time)",
    " trunc(time, 'month')": " date_trunc('month', time)",
    "DATE_TRUNC('MONTH', time)": "DATE_TRUNC('month', time)",
    "0.50": "0.5",
    "FROM events GROUP BY page ORDER BY count ": "FROM events GROUP BY page ORDER BY 2 ",
}
"""The same, as DuckDB knows it."""


def some_rows() -> pa.Table:
    """Rows of people, some of them missing, with negative numbers and times before others."""
    chooser = random.Random(7)

    def column(draw: Any, kind: pa.DataType) -> pa.Array:
        cells = [draw() if chooser.random() < 0.9 else None for _ in range(N_ROWS)]
        return pa.array(cells, kind)

    def moment() -> datetime:
        return datetime(2025, 11, 3) + timedelta(minutes=chooser.randrange(300_000))

    def text(*words: str) -> Any:
        return lambda: chooser.choice(words)

    return pa.table(
        {
            "user_id": pa.array([f"u{chooser.randrange(40)}" for _ in range(N_ROWS)]),
            "page": column(text("/home", "/news", "/Home", ""), pa.string()),
            "country": column(text("SE", "NO", "it's"), pa.string()),
            "age": column(lambda: chooser.randrange(-30, 90), pa.int64()),
            "price": column(lambda: chooser.randrange(-400, 400) / 16, pa.float64()),
            "amount": column(lambda: Decimal(chooser.randrange(-99, 99)) / 4, pa.decimal128(9, 2)),
            "time": column(moment, pa.timestamp("us")),
            "seen": column(moment, pa.timestamp("us", "UTC")),
            "day": column(lambda: moment().date(), pa.date32()),
            "ok": column(lambda: chooser.random() < 0.5, pa.bool_()),
            "order": column(text("a", "group by"), pa.string()),
            'a "b"': column(text("a", "b"), pa.string()),
            "user": column(text("x", "y"), pa.string()),
            "größe": column(lambda: chooser.randrange(3), pa.int64()),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("meaning")
    pq.write_table(some_rows(), folder / "events.parquet")
    return folder


@pytest.fixture(scope="module")
def data(folder: Path) -> Any:
    return opened(folder)


def same_cell(cell: Any) -> Any:
    """A cell as both write it: days are dates, and numbers of bins are whole."""
    if isinstance(cell, datetime):
        plain = cell.replace(tzinfo=None)
        return plain if plain.hour else plain.date()
    whole = isinstance(cell, float | Decimal)
    return int(cell) if whole else cell


def in_order(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted((tuple(map(same_cell, row)) for row in rows), key=repr)


def truth(query: str, data: Any) -> list[tuple[Any, ...]]:
    """What the verb counts, without a bound and without noise."""
    read = asked(parsed(query), data.table)
    table = data.table if read.where is None else data.table.narrowed(read.where)
    if not read.by:
        return [(table.expr[table.user].nunique().execute(),)]
    grouped = group_rows(table, list(read.by))
    rows = grouped.rows
    n = rows[USER].nunique() if read.verb == "count_users" else rows.count()
    counted = rows.group_by(list(grouped.columns)).agg(n=n).to_pyarrow().to_pylist()
    found = [tuple(row.values()) for row in counted]
    if read.top is not None:
        found = sorted(found, key=lambda row: -row[-1])[: read.top]
    return found


@pytest.mark.parametrize("query", [query for query, *_ in ACCEPTED])
def test_a_query_counts_what_a_database_counts_by_it(query: str, folder: Path, data: Any) -> None:
    spelled = query
    for ours, theirs in IN_DUCKDB.items():
        spelled = spelled.replace(ours, theirs)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.read_parquet(str(folder / "events.parquet")).create_view("events")
        answer = connection.execute(spelled).to_arrow_table()
        expected = list(zip(*(column.to_pylist() for column in answer.columns), strict=True))
    found = truth(query, data)
    assert expected
    if "LIMIT" in query:  # groups of one size may be taken in any order
        expected, found = [row[-1:] for row in expected], [row[-1:] for row in found]
    assert in_order(found) == in_order(expected)


def test_dates_of_weeks_begin_on_mondays(data: Any) -> None:
    query = "SELECT date_trunc('week', day), COUNT(*) FROM events GROUP BY 1"
    weeks = [row[0] for row in truth(query, data) if row[0] is not None]
    assert weeks
    assert {date.fromisoformat(str(week)[:10]).weekday() for week in weeks} == {0}
