"""Table 1 of contribution bounding for user-level histograms (ICML 2023), with ``count_events``.

The paper's synthetic sets at full size, 500,000 users: i.i.d., every user draws Poi(100) events
from p over d groups, p proportional to 1 / (j + 50); and not, user i draws Poi(l_i) events from
p_i, where l is 100 n Dir(2) and p_i is Dir(p / 2). Sentiment140 is the sample that HEADCOUNT_DATA
has: 70,457 of about 600,000 users, and fewer tweets of each, so its rows are beside the paper's
and not comparable with them.

The paper spends epsilon 1 on the counts and 0.1 on the bound, delta 1 / 2n each. Ours spends
epsilon 1 at delta 1 / n on all of it. Loss: the l1 distance to the true counts over their sum. The
paper's groups are found; ``--groups found`` does that too, ``known`` names them.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import headcount as hc

N_USERS = 500_000
AT_ONCE = 10_000
PAPER = {
    ("iid", 50): (0.001, 0.0015),
    ("iid", 100): (0.0026, 0.0026),
    ("iid", 200): (0.0048, 0.0048),
    ("not iid", 50): (0.0094, 0.0124),
    ("not iid", 100): (0.0175, 0.0224),
    ("not iid", 200): (0.0461, 0.0462),
    ("sentiment140_sample", 100): (0.0076, 0.0285),
    ("sentiment140_sample", 1000): (0.1250, 0.1483),
}
"""Relative loss of the best C in hindsight, and of the private one."""

rng = np.random.default_rng()


def counts_of(kind: str, n_users: int, n_groups: int) -> np.ndarray:
    """Events of some users in each group."""
    p = 1 / (np.arange(1, n_groups + 1) + 50)
    p /= p.sum()
    if kind == "iid":
        return rng.poisson(100 * p, (n_users, n_groups))
    own = rng.dirichlet(p / 2, n_users)
    # Shares of a Dirichlet of many parts are gammas over their sum, which is its mean here.
    return rng.poisson(rng.gamma(2, 50, (n_users, 1)) * own)


def write(path: Path, kind: str, n_users: int, n_groups: int) -> np.ndarray:
    """One row per event; returns the true counts."""
    truth = np.zeros(n_groups, np.int64)
    schema = pa.schema({"user": pa.int64(), "item": pa.int64()})
    with pq.ParquetWriter(path, schema) as out:
        for start in range(0, n_users, AT_ONCE):
            counts = counts_of(kind, min(AT_ONCE, n_users - start), n_groups)
            truth += counts.sum(axis=0)
            users, items = np.nonzero(counts)
            n_each = counts[users, items]
            columns = [np.repeat(users + start, n_each), np.repeat(items, n_each)]
            out.write_table(pa.table(columns, schema=schema))
    return truth


def write_words(path: Path, folder: Path, n_groups: int) -> np.ndarray:
    """The most frequent words of the sample, one row per use."""
    connection = duckdb.connect()
    source = folder / "sentiment140_sample.parquet"
    connection.execute(
        f"""create table words as
            select item, row_number() over (order by sum(count) desc, item) - 1 as place
            from '{source}' group by item qualify place < {n_groups}"""
    )
    connection.execute(
        f"""copy (select user, place as item, unnest(range(count)) as n
                  from '{source}' join words using (item)) to '{path}'"""
    )
    query = f"select item, count(*) from '{path}' group by item order by item"
    return np.array([n for _, n in connection.execute(query).fetchall()])


def released(path: Path, truth: np.ndarray, n_users: int, known: bool, folder: Path) -> float:
    """The relative loss of one release."""
    data = hc.open(
        str(path),
        user="user",
        account=path.stem,
        budget=hc.Budget(epsilon=1, delta=1 / n_users),
        ledger=folder / f"{path.stem}.db",
    )
    groups = list(range(len(truth))) if known else None
    rows = data.count_events("item", groups=groups, spend="1").release().to_arrow()
    estimate = np.zeros(len(truth))
    estimate[np.asarray(rows["item"])] = np.asarray(rows["count"])
    return float(np.abs(estimate - truth).sum() / truth.sum())


def main() -> None:
    """Print one line per row of the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=N_USERS)
    parser.add_argument("--groups", choices=["known", "found"], default="known")
    arguments = parser.parse_args()
    data_folder = os.environ.get("HEADCOUNT_DATA")
    print("data                    d  paper best C  paper private  ours, private", flush=True)
    for (kind, n_groups), (best, private) in PAPER.items():
        with tempfile.TemporaryDirectory() as name:
            folder, n_users = Path(name), arguments.users
            os.environ["HEADCOUNT_HEADS"] = str(folder / "heads")
            path = folder / f"{kind.replace(' ', '_')}_{n_groups}.parquet"
            if kind.startswith("sentiment"):
                if not data_folder:
                    print("HEADCOUNT_DATA is not set: no Sentiment140 rows", file=sys.stderr)
                    continue
                truth, n_users = write_words(path, Path(data_folder), n_groups), 70_457
            else:
                truth = write(path, kind, n_users, n_groups)
            ours = released(path, truth, n_users, arguments.groups == "known", folder)
        print(f"{kind:20} {n_groups:4}  {best:12.4f}  {private:13.4f}  {ours:13.6f}", flush=True)


if __name__ == "__main__":
    main()
