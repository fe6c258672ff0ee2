"""A release as a user makes it, with everything that leaves the process kept.

Rows, their order, the plan, ``repr``, standard output and error, log lines, warnings, the files
that are written, and the text of an error with everything it is linked to.
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
from headcount.trials.door import ACCOUNT, released
from headcount.trials.tables import GROUP, USER


@dataclass
class Seen:
    """Everything that left."""

    plan: Plan | None = None
    release: Release | None = None
    charged: Zcdp = field(default_factory=lambda: Zcdp(0))
    """What the account paid."""
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
    """Open, ask and release; an error is kept, not raised."""
    # It speaks when it is first imported, and never again.
    import alembic.runtime.plugins  # noqa: F401

    seen = Seen()
    with tempfile.TemporaryDirectory() as folder, overheard(seen):
        try:
            data = hc.open(
                source,
                user=USER,
                account=ACCOUNT,
                budget=hc.Budget(epsilon=epsilon, delta=delta),
                ledger=Ledger(Path(folder) / "ledger.db", heads=Path(folder) / "heads"),
                **options,
            )
            plan = seen.plan = ask(data)
            seen.texts["plan"] = f"{plan}\n{plan.explain()}"
            seen.release = plan.release() if chance is None else released(plan, chance, new_key)
            seen.charged = plan.ledger.account(ACCOUNT).spent
        except Exception as error:
            seen.texts["error"] = told(error)
        if seen.release is not None:
            seen.texts |= _written(seen.release, Path(folder))
    # Where the ledger is says nothing of the table, and is elsewhere each time.
    seen.texts = {name: text.replace(folder, "") for name, text in seen.texts.items()}
    return seen


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
