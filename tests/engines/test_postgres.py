"""What only PostgreSQL can get wrong: collations, and tables that one connection cannot see."""

from __future__ import annotations

import ibis
import psycopg
import pytest

from headcount.contributions import Tally, bound
from headcount.errors import SchemaError, UsageError
from headcount.privacy.bounds import Bounds
from headcount.tables import Kind, open_table

pytestmark = pytest.mark.postgres


def test_text_that_folds_case_cannot_name_users_or_groups(
    postgres_address: str, key: bytes
) -> None:
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute(
            "create collation fold (provider=icu, locale='und-u-ks-level2', deterministic=false)"
        )
        connection.execute("create table folded (who text collate fold, word text, id uuid)")
    address = f"{postgres_address}?table=folded"
    with pytest.raises(SchemaError, match="treats different texts as equal"):
        open_table(address, user="who")
    table = open_table(address, user="id")
    assert table.columns["word"] is Kind.TEXT
    with pytest.raises(SchemaError, match="treats different texts as equal"):
        bound(table, "who", Bounds(5, 5), key=key)


def test_an_ibis_table_is_read_through_a_connection_of_our_own(
    postgres_address: str, key: bytes
) -> None:
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("create table seen as select 1 as who, 'x' as word")
        connection.execute("create temporary table unseen as select 1 as who, 'x' as word")
        backend = ibis.postgres.from_connection(connection)
        tally = Tally(
            bound(open_table(backend.table("seen"), user="who"), "word", Bounds(1, 1), key=key)
        )
        assert [batch.to_pylist() for batch in tally.batches()] == [
            [{"word": "x", "true_total": 1}]
        ]
        with pytest.raises(UsageError, match="not visible"):
            open_table(backend.table("unseen"), user="who")


def test_a_missing_table_is_named_without_the_user(postgres_address: str) -> None:
    with pytest.raises(UsageError, match="no table to read") as raised:
        open_table(f"{postgres_address}?table=public.nothing", user="who")
    assert "postgres@" not in str(raised.value)
