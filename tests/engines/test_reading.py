"""The law of reading on PostgreSQL and Spark: users are bytes, and views are looked into."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.reading.records import Record, arrow_records, law_holds, records, wild_records

import headcount as hc
from headcount.tables import Kind, open_table
from headcount.tables.source import Options

NUMBERS = count()
VOUCHED = Options(trusted_view="Ann Lee: one row a user")


@pytest.fixture(scope="module")
def database(postgres_address: str) -> Any:
    import psycopg

    with psycopg.connect(postgres_address, autocommit=True) as connection:
        yield connection


@pytest.mark.postgres
def test_r6_postgres_users_are_bytes(database: Any, postgres_address: str) -> None:
    database.execute("create extension citext")
    database.execute("create domain uid as citext")
    database.execute("create domain short as varchar(20)")
    database.execute(
        "create table folding (plain text, folded citext, domained uid, fixed char(10), "
        "loose bpchar, fine short, kind text, own name)"
    )
    address = f"{postgres_address}?table=folding"
    for column in ("folded", "domained"):
        with pytest.raises(hc.SchemaError, match="treats different texts as equal"):
            open_table(address, user=column)
    with pytest.raises(hc.SchemaError, match="holds other"):
        open_table(address, user="loose")
    for column in ("plain", "fixed", "fine", "own"):
        assert open_table(address, user=column).columns[column] is Kind.TEXT


@pytest.mark.postgres
def test_r6_r7_postgres_views_are_looked_into(database: Any, postgres_address: str) -> None:
    database.execute("create table base (who text, word text, n int)")
    views = {
        "plain_view": ("select who, lower(word) as word from base where n > 0", None),
        "nested_view": ("select who, word from plain_view", None),
        "all_view": ("select who, word from base union all select who, word from base", None),
        "joined": ("select b.who, c.word from base b join base c using (n)", "a join"),
        "grouped": ("select who, max(word) as word from base group by who", "GROUP BY"),
        "ranked": ("select who, word, rank() over (order by n) from base", "RANK"),
        "some_rows": ("select who, word from base limit 5", "LIMIT"),
        "lowered": ("select lower(who) as who, word from base", "two users one value"),
        "shortened": ("select who::varchar(2) as who, word from base", "two users one value"),
        "nested_bad": ("select who, word from grouped", "GROUP BY"),
        "random_view": ("select who, word from base where random() < 0.5", "RANDOM"),
        "folded_view": ('select who collate "fold2" as who, word from base', "equal|one value"),
    }
    database.execute(
        "create collation fold2 (provider=icu, locale='und-u-ks-level2', deterministic=false)"
    )
    for name, (query, said) in views.items():
        database.execute(f"create view {name} as {query}")
        address = f"{postgres_address}?table=public.{name}"
        if said is None:
            open_table(address, user="who")
        else:
            with pytest.raises(hc.UsageError, match=f"(?i){said}"):
                open_table(address, user="who")
    database.execute("create materialized view stored as select who, max(word) as word from base "
                     "group by who")  # fmt: skip
    with pytest.raises(hc.UsageError, match="GROUP BY"):
        open_table(f"{postgres_address}?table=stored", user="who")
    open_table(f"{postgres_address}?table=stored", user="who", options=VOUCHED)


@pytest.mark.postgres
def test_odd_columns_do_not_keep_a_table_from_being_opened(
    database: Any, postgres_address: str
) -> None:
    database.execute("create type mood as enum ('sad', 'happy')")
    database.execute("create type pair as (a int, b text)")
    database.execute(
        "create table strange (who text, mood mood, tags text[], pair pair, page xml, at tsrange, "
        "place point, doc jsonb, bits bit(3), money money, ip inet, span interval, clock time)"
    )
    database.execute("insert into strange (who, mood) values ('a', 'sad'), ('b', 'happy')")
    table = open_table(f"{postgres_address}?table=strange", user="who")
    assert table.columns["mood"] is Kind.TEXT
    others = {name for name, kind in table.columns.items() if kind is Kind.OTHER}
    assert others == set(table.columns) - {"who", "mood"}


@pytest.mark.postgres
def test_other_encodings_are_refused(database: Any, postgres_address: str) -> None:
    database.execute(
        "create database bytes encoding 'SQL_ASCII' locale 'C' template template0 "
        "locale_provider libc"
    )
    address = postgres_address.rpartition("/")[0] + "/bytes?table=t"
    with pytest.raises(hc.UsageError, match="SQL_ASCII"):
        open_table(address, user="who")


@pytest.mark.postgres
def test_the_law_on_postgres(database: Any, postgres_address: str) -> None:
    database.execute(
        "create table law (person text, place text, local timestamp, zoned timestamptz, "
        "number float8)"
    )
    copy = "copy law from stdin"

    def make(rows: Sequence[Record]) -> str:
        database.execute("truncate law")
        with database.cursor() as cursor, cursor.copy(copy) as out:
            for person, place, time, number in rows:
                moment = ["infinity", "-infinity", "4713-01-01 BC", "294276-01-01", "2024-01-01"]
                when = moment[time % len(moment)]
                out.write_row([person.decode(), place.decode(), when, when, number])
        return f"{postgres_address}?table=law"

    law_holds(make, records)


@pytest.mark.spark
def test_r7_spark_frames_are_looked_into(spark_cluster: Any) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    session = spark_cluster.session
    rows = session.createDataFrame([("a", "x", 1)], "who string, word string, n int")
    names = session.createDataFrame([("x", "X")], "word string, name string")
    fine = {
        "rows": rows,
        "filter": rows.filter("n > 0").withColumn("word", F.upper("word")),
        "public": rows.join(hc.public(names), "word", "left"),
        "union": rows.union(rows),
        "checkpoint": rows.limit(1).localCheckpoint(),
        "nested": rows.withColumn("list", F.array("n")),
    }
    for frame in fine.values():
        open_table(frame, user="who")
    mixing = {
        "join": (rows.join(names, "word"), "not declared public"),
        "window": (rows.withColumn("r", F.rank().over(Window.orderBy("n"))), "Window"),
        "aggregate": (rows.groupBy("who").agg(F.max("word").alias("word")), "Aggregate"),
        "distinct": (rows.distinct(), "Deduplicate|Aggregate"),
        "subquery": (rows.filter("n > (select 0)"), "query within"),
        "udf": (rows.withColumn("word", F.udf(str)("word")), "user-defined"),
    }
    for frame, said in mixing.values():
        with pytest.raises(hc.UsageError, match=said):
            open_table(frame, user="who")
        open_table(frame, user="who", options=VOUCHED)
    fleeting = {
        "limit": rows.limit(1),
        "sample": rows.sample(0.5),
        "random": rows.filter(F.rand() < 0.5),
        "number": rows.withColumn("i", F.monotonically_increasing_id()),
        "clock": rows.filter("current_date() > date'2020-01-01'"),
    }
    for frame in fleeting.values():
        for options in (Options(), VOUCHED):
            with pytest.raises(hc.UsageError, match="each time it is read"):
                open_table(frame, user="who", options=options)
    with pytest.raises(hc.UsageError, match="two users one value"):
        open_table(rows.withColumn("who", F.lower("who")), user="who")


@pytest.mark.spark
def test_the_law_on_spark(spark_cluster: Any, tmp_path: Path) -> None:
    def make(rows: Sequence[Record]) -> Any:
        path = tmp_path / f"{next(NUMBERS)}.parquet"
        pq.write_table(arrow_records(rows, "us"), path)
        return spark_cluster.session.read.parquet(str(path))

    law_holds(make, wild_records)
