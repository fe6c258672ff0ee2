"""A release as a user makes it, with everything that leaves the process kept.

Rows, their order, what the dataset and the plan say of themselves before and after, the stages that
are said, ``repr``, standard output and error, log lines, warnings, the files that are written, and
the text of an error with everything it is linked to. Beside these, whether the table was read
before the ledger was charged.
"""

from __future__ import annotations

import io
import json
import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import headcount as hc
from headcount.ledger.ledger import Ledger
from headcount.mechanisms.chance import Chance
from headcount.privacy.spend import Zcdp
from headcount.releases.dataset import Dataset
from headcount.releases.plan import Plan
from headcount.releases.run import new_secret
from headcount.results.release import Release
from headcount.tables.duckdb import DuckDBEngine
from headcount.trials.door import ACCOUNT, released
from headcount.trials.seam import swapped
from headcount.trials.tables import GROUP, USER


@dataclass
class Seen:
    """Everything that left."""

    plan: Plan | None = None
    release: Release | None = None
    charged: Zcdp = field(default_factory=lambda: Zcdp(0))
    """What the account paid."""
    n_early: int = 0
    """How often the table was read before anything was charged."""
    texts: dict[str, str] = field(default_factory=dict)


@contextmanager
def overheard(seen: Seen) -> Iterator[None]:
    """Keep what is printed, logged or warned about."""
    out, error, log = io.StringIO(), io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(log)
    handler.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with (
            redirect_stdout(out),
            redirect_stderr(error),
            warnings.catch_warnings(record=True) as w,
        ):
            warnings.simplefilter("always")
            yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        seen.texts |= {
            "standard output": out.getvalue(),
            "standard error": error.getvalue(),
            "log": log.getvalue(),
            "warnings": "\n".join(str(warning.message) for warning in w),
        }


@contextmanager
def in_turn(seen: Seen) -> Iterator[None]:
    """Count what the engine is asked before the ledger has been charged."""
    charged: list[object] = []

    def charge(*arguments: Any, **named: Any) -> Any:
        paid = shipped_charge(*arguments, **named)
        charged.append(paid)
        return paid

    def early(shipped: Callable[..., Any]) -> Callable[..., Any]:
        def asked(*arguments: Any, **named: Any) -> Any:
            seen.n_early += not charged
            return shipped(*arguments, **named)

        return asked

    shipped_charge = Ledger.charge
    with (
        swapped(Ledger, "charge", charge),
        swapped(DuckDBEngine, "stream", early(DuckDBEngine.stream)),
        swapped(DuckDBEngine, "keep", early(DuckDBEngine.keep)),
    ):
        yield


def release(
    source: Any,
    *,
    epsilon: float,
    delta: float,
    bound: int,
    groups: list[Any] | None = None,
    chance: Chance | None = None,
) -> Seen:
    """Count users as in the README; an error is kept, not raised.

    chance:  where noise comes from, if not from the system
    """
    return asked(
        source,
        lambda data: data.count_users(GROUP, groups=groups, bound=bound, spend="1"),
        chance=chance,
        epsilon=epsilon,
        delta=delta,
    )


def asked(
    source: Any,
    ask: Callable[[Dataset], Plan],
    *,
    epsilon: float,
    delta: float,
    chance: Chance | None = None,
    new_key: Callable[[], bytes] = new_secret,
    **options: Any,
) -> Seen:
    """Open, ask and release; an error is kept, not raised.

    source:  a table, or a function that puts one into a folder
    """
    # It speaks when it is first imported, and never again.
    import alembic.runtime.plugins  # noqa: F401

    seen, stages = Seen(), list[str]()
    with tempfile.TemporaryDirectory() as folder, overheard(seen), in_turn(seen):
        try:
            data = hc.open(
                source(Path(folder)) if callable(source) else source,
                user=USER,
                account=ACCOUNT,
                budget=hc.Budget(epsilon=epsilon, delta=delta),
                ledger=Ledger(Path(folder) / "ledger.db", heads=Path(folder) / "heads"),
                **options,
            )
            plan = seen.plan = ask(data)
            seen.texts["plan"] = _of_itself(data, plan)
            seen.release = (
                plan.release(progress=stages.append)
                if chance is None
                else released(plan, chance, new_key, progress=stages.append)
            )
            known = plan.charged()
            day = "" if known is None else known.named
            seen.texts["plan afterwards"] = _of_itself(data, plan).replace(day, "its entry")
            seen.charged = plan.ledger.account(ACCOUNT).spent
        except Exception as error:
            seen.texts["error"] = told(error)
        if seen.release is not None:
            seen.texts |= _written(seen.release, Path(folder))
    seen.texts["stages"] = "\n".join(stages)
    # Where the ledger is says nothing of the table, and is elsewhere each time.
    seen.texts = {name: text.replace(folder, "") for name, text in seen.texts.items()}
    return seen


def _of_itself(data: Dataset, plan: Plan) -> str:
    """What a dataset and a plan show of themselves."""
    return f"{data!r}\n{data}\n{plan!r}\n{plan}\n{plan.explain()}"


def told(error: BaseException) -> str:
    """All that an error says, and all it is linked to."""
    parts = []
    link: BaseException | None = error
    while link is not None:
        parts.append(f"{type(link).__name__}: {link} {getattr(link, '__notes__', '')}")
        link = link.__cause__ or link.__context__
    return "\n".join(parts)


def _written(release: Release, folder: Path) -> dict[str, str]:
    """What the files say beyond the rows; a file must be a function of its rows and facts."""
    parquet, csv = release.write_parquet(folder / "a.parquet"), release.write_csv(folder / "a.csv")
    again = folder / "b.parquet"
    pq.write_table(pq.read_table(parquet), again)
    n_rows = f"{len(release):,} row{'' if len(release) == 1 else 's'}"
    metadata, schema = pq.read_metadata(parquet), release.to_arrow().schema
    return {
        "repr": repr(release).replace(n_rows, "N rows"),
        "facts": json.dumps(json.loads(schema.metadata[b"headcount"])),
        "schema": str(schema.remove_metadata()),
        "metadata beside the facts": str({**schema.metadata, b"headcount": b""}),
        "file metadata": f"{metadata.created_by} {metadata.num_columns} {metadata.format_version}",
        "file beyond its rows": str(parquet.read_bytes() != again.read_bytes()),
        "csv header": csv.read_text().split("\n", 1)[0],
        "files": " ".join(sorted(path.name for path in folder.iterdir())),
    }


def n_out_of_order(table: pa.Table) -> int:
    """How many rows come before a row of a smaller group; missing groups belong at the end."""
    labels = table.column(GROUP).to_pylist()
    keys = [(g is None, g.encode() if isinstance(g, str) else g or 0) for g in labels]
    return sum(a > b for a, b in pairwise(keys))
