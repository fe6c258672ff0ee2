"""What reading CSV by our rules costs beside DuckDB's own reader, which sniffs a file's dialect.

The same query (distinct users per page) over the same file: once through the table that ``hc.open``
makes, once through ``read_csv`` with all columns as text. CPU time of the process, in turns in one
run, smallest of the repeats of each; a ratio, since machines differ and are noisy. *plain* has bare
cells, *quoted* has every text in quotes, *wide* has twelve more columns that nobody asks for.

``--quick``: 2e6 rows. Full: 2e7. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from headcount.tables import open_table

N_PAGES = 50_000
PART = 1_000_000


def write_files(folder: Path, n_rows: int) -> dict[str, Path]:
    """The three files, in parts, so that memory does not matter."""
    paths = {name: folder / f"{name}.csv" for name in ("plain", "quoted", "wide")}
    outs = {name: path.open("wb") for name, path in paths.items()}
    rng = np.random.default_rng(0)
    pages = pa.array([f"/page/{i:05d}" for i in range(N_PAGES)])
    for start in range(0, n_rows, PART):
        n = min(PART, n_rows - start)
        second = pa.array(1_767_225_600 + rng.integers(0, 90 * 86_400, n), pa.timestamp("s"))
        table = pa.table(
            {
                "user_id": pa.array(rng.integers(0, n_rows // 20, n)).cast(pa.string()),
                "page": pages.take(pa.array(rng.zipf(1.3, n) % N_PAGES)),
                "time": second.cast(pa.string()),
                "price": pa.array(np.round(rng.random(n) * 100, 2)),
            }
        )
        wide = table
        for index in range(12):
            wide = wide.append_column(f"more_{index}", table["page" if index % 2 else "price"])
        for name, rows, style in (
            ("plain", table, "none"), ("quoted", table, "needed"), ("wide", wide, "none"),
        ):  # fmt: skip
            options = pa.csv.WriteOptions(include_header=start == 0, quoting_style=style)
            pa.csv.write_csv(rows, outs[name], options)
    for out in outs.values():
        out.close()
    return paths


def cpu_seconds() -> float:
    """What this process has used, in all its threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def ours(path: Path) -> Callable[[], Any]:
    """Through the table that is opened as a user opens it."""

    def run() -> Any:
        table = open_table(path, user="user_id")
        pairs = table.expr.group_by(["page", "user_id"]).agg()
        counted = pairs.group_by("page").agg(n=pairs.count())
        schema = pa.schema({"page": pa.string(), "n": pa.int64()})
        return pa.Table.from_batches(table.engine.stream(counted, schema), schema)

    return run


def sniffing(path: Path) -> Callable[[], Any]:
    """Through DuckDB's own reader."""
    import duckdb

    def run() -> Any:
        rows = f"read_csv('{path}', all_varchar=true, header=true)"
        pairs = f"select page, user_id from {rows} where user_id is not null group by all"
        query = f"select page, count(*) as n from ({pairs}) group by page"
        return duckdb.connect().execute(query).to_arrow_table()

    return run


def ratio(path: Path, repeats: int) -> float:
    """Ours over theirs, after one round to warm up; both must find the same."""
    runs = {"ours": ours(path), "sniffing": sniffing(path)}
    least = dict.fromkeys(runs, float("inf"))
    for repeat in range(repeats + 1):
        found = []
        for name, run in runs.items():
            before = cpu_seconds()
            found.append(run().sort_by("page"))
            taken = cpu_seconds() - before
            print(f"  {path.stem:7} {name:9} cpu {taken:7.2f} s")
            if repeat:
                least[name] = min(least[name], taken)
        if found[0].to_pydict() != found[1].to_pydict():
            raise SystemExit("the two readers differ on a file that both can read")
    return round(least["ours"] / least["sniffing"], 2)


def main() -> None:
    """Run, and print one JSON line last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as name:
        paths = write_files(Path(name), 2_000_000 if quick else 20_000_000)
        found = {kind: ratio(path, 3 if quick else 2) for kind, path in paths.items()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
