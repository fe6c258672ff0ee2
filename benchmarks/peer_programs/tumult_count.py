"""Distinct users by item with Tumult: python tumult_count.py EVENTS EPSILON DELTA BOUND OUT."""

import os
import sys

os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddRowsWithID,
    ApproxDPBudget,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    QueryBuilder,
    Session,
)

events, epsilon, delta, bound, out = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.driver.memory", "5g")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "8")
    .config("spark.ui.showConsoleProgress", "false")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
session = Session.from_dataframe(
    ApproxDPBudget(float(epsilon), float(delta)),
    "events",
    spark.read.parquet(events),
    protected_change=AddRowsWithID(id_column="user_id"),
)
bounded = (
    QueryBuilder("events")
    .enforce(MaxGroupsPerID("item", int(bound)))
    .enforce(MaxRowsPerGroupPerID("item", 1))
)
# Which items there are takes half of the budget, and counting them the other half.
half = float(epsilon) / 2
items = session.evaluate(bounded.get_groups(["item"]), ApproxDPBudget(half, float(delta)))
counts = session.evaluate(
    bounded.groupby(KeySet.from_dataframe(items)).count(name="count"), ApproxDPBudget(half, 0)
)
counts.toPandas().to_parquet(out)
spark.stop()
