"""What only Spark can get wrong: collations, and the settings of a session that is not ours."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from headcount.contributions import Tally, bound
from headcount.errors import EngineError, SchemaError, UsageError
from headcount.privacy.bounds import Bounds
from headcount.tables import Kind, open_table
from headcount.tables.public import public
from headcount.tables.source import Options

pytestmark = pytest.mark.spark


def test_text_that_folds_case_cannot_name_users(spark_cluster: Any) -> None:
    rows = spark_cluster.session.createDataFrame([("a", "x")], "who string, word string")
    frame = rows.selectExpr("who collate UTF8_LCASE as who", "word")
    with pytest.raises(SchemaError, match="treats different texts as equal"):
        open_table(frame, user="who")
    assert open_table(frame, user="word").columns["who"] is Kind.FOLDED_TEXT


MERGED: dict[str, Any] = {
    "exploded": lambda F, e, c: e.withColumn("who", F.explode(F.array(F.lower("who")))),
    "public": lambda F, e, c: e.drop("who").join(public(c), "word"),
    "public in a union": lambda F, e, c: e.union(public(c)),
}
FINE: dict[str, Any] = {
    "filtered": lambda F, e, c: e.filter("word > 'a'").withColumn("word", F.upper("word")),
    "joined": lambda F, e, c: e.join(public(c.withColumnRenamed("who", "de")), "word"),
    "union": lambda F, e, c: e.unionByName(e.select("word", "who")),
    "other exploded": lambda F, e, c: e.withColumn("n", F.explode(F.array(F.lit(1), F.lit(2)))),
}


@pytest.mark.parametrize("name", [*MERGED, *FINE])
def test_the_user_column_is_one_of_the_frame(name: str, spark_cluster: Any) -> None:
    from pyspark.sql import functions

    session = spark_cluster.session
    events = session.createDataFrame([("Ann", "a"), ("ANN", "b")], "who string, word string")
    codes = session.createDataFrame([("x", "a"), ("x", "b")], "who string, word string")
    if name in FINE:
        open_table(FINE[name](functions, events, codes), user="who")
        return
    frame = MERGED[name](functions, events, codes)
    with pytest.raises(UsageError, match="two users one value"):
        open_table(frame, user="who")
    open_table(frame, user="who", options=Options(trusted_view="Ann Lee: checked by hand"))


@pytest.mark.parametrize("by_sql", [True, False])
def test_a_failing_cell_is_not_logged(
    by_sql: bool, spark_cluster: Any, key: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    from pyspark.logger import PySparkLogger
    from pyspark.sql import functions

    session = spark_cluster.session
    heard: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = heard.append  # type: ignore[assignment, method-assign]
    loggers = [
        PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")
    ]
    rows = session.createDataFrame([("a", "SECRET")], "who string, word string")
    rows.createOrReplaceTempView("cells")
    if by_sql:
        frame = session.sql("select who, cast(word as int) as word from cells")
    else:
        frame = rows.withColumn("word", functions.col("word").cast("int"))
    table = open_table(frame, user="who")
    for logger in loggers:
        logger.addHandler(handler)
    try:
        with pytest.raises(EngineError):
            list(Tally(bound(table, "word", Bounds(1, 1), key=key)).parts())
        assert heard == []
        assert "SECRET" not in "".join(capfd.readouterr())
        with pytest.raises(Exception, match="SECRET"):
            frame.collect()
        assert len(heard) == 1
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


def test_the_session_keeps_its_own_settings(spark_cluster: Any) -> None:
    session = spark_cluster.session
    open_table(session.createDataFrame([(1,)], "who int"), user="who")
    assert session.conf.get("spark.sql.session.timeZone") == "America/New_York"
    assert session.conf.get("spark.sql.mapKeyDedupPolicy") == "EXCEPTION"
