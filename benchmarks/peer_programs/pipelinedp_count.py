"""Distinct users by item with PipelineDP: EVENTS EPSILON DELTA BOUND OUT."""

import sys

import pipeline_dp
import pyarrow as pa
import pyarrow.parquet as pq

events, epsilon, delta, bound, out = sys.argv[1:]
table = pq.read_table(events)
rows = list(zip(table["user_id"].to_pylist(), table["item"].to_pylist(), strict=True))
budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=float(epsilon), total_delta=float(delta))
engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
result = engine.aggregate(
    rows,
    pipeline_dp.AggregateParams(
        noise_kind=pipeline_dp.NoiseKind.GAUSSIAN,
        metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT],
        max_partitions_contributed=int(bound),
        max_contributions_per_partition=1,
    ),
    pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda _: 0,
    ),
)
budget.compute_budgets()
found = [(item, float(one.privacy_id_count)) for item, one in result]
items, counts = zip(*found, strict=True) if found else ((), ())
pq.write_table(pa.table({"item": list(items), "count": list(counts)}), out)
