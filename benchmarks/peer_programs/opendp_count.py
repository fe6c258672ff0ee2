"""Distinct users by item with OpenDP: python opendp_count.py EVENTS EPSILON DELTA BOUND OUT."""

import sys

import opendp.prelude as dp
import polars as pl

events, epsilon, delta, bound, out = sys.argv[1:]
dp.enable_features("contrib")
context = dp.Context.compositor(
    data=pl.scan_parquet(events),
    privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user_id")),
    privacy_loss=dp.loss_of(epsilon=float(epsilon), delta=float(delta)),
    split_evenly_over=1,
)
counted = (
    context.query()
    .truncate_per_group(1, by=["item"])
    .truncate_per_group(int(bound))
    .group_by("item")
    .agg(dp.len())
)
counted.release().collect().rename({"len": "count"}).write_parquet(out)
