"""A release as a user makes it, with everything that leaves the process kept.

Rows, their order, what the dataset and the plan say of themselves before and after, the stages that
are said, ``repr``, standard output and error, log lines, warnings, the files that are written, what
the ledger and a receipt show, and the text of an error with everything it is linked to. Beside
these, whether the table was read before the ledger was charged.
"""

from __future__ import annotations

import io
import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import headcount as hc
from headcount.ledger.ledger import Ledger
from headcount.mechanisms.chance import Chance
from headcount.privacy.event import Event
from headcount.privacy.spend import Zcdp
from headcount.releases.dataset import Dataset
from headcount.releases.plan import Plan
from headcount.releases.run import new_secret
from headcount.results.release import Release
from headcount.trials.door import ACCOUNT, released
from headcount.trials.leaving import (
    beside_its_rows,
    is_more_than_rows,
    n_out_of_order,
    of_its_charge,
    of_its_rows,
)
from headcount.trials.seam import swapped
from headcount.trials.statements import before_the_charge
from headcount.trials.tables import GROUP, USER


@dataclass
class Seen:
    """Everything that left."""

    plan: Plan | None = None
    release: Release | None = None
    charged: Zcdp = field(default_factory=lambda: Zcdp(0))
    """What the account paid."""
    early: list[str] = field(default_factory=list)
    """What read the table before anything was charged."""
    is_more_than_rows: bool = False
    """Whether its file holds more than its rows."""
    left_behind: list[str] = field(default_factory=list)
    """Temporary files that hold something after it."""
    n_out_of_order: int = 0
    events: list[Event] = field(default_factory=list)
    """What the ledger was told of, in the order of its entries."""
    rows: dict[str, str] = field(default_factory=dict)
    """What shows its rows."""
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
def temporary_files(place: Path, left: list[str]) -> Iterator[None]:
    """Have temporary files here; keep in ``left`` which of them hold something at the end."""
    place.mkdir()
    with swapped(tempfile, "tempdir", str(place)):
        yield
    left.extend(path.name for path in place.rglob("*") if path.is_file() and path.stat().st_size)


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
    with (
        tempfile.TemporaryDirectory() as folder,
        overheard(seen),
        before_the_charge(seen.early),
        temporary_files(Path(folder) / "temporary", seen.left_behind),
    ):
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
            seen.events = [entry.event for entry in plan.ledger.entries(ACCOUNT)]
            seen.texts |= of_its_charge(plan, seen.release)
        except Exception as error:
            seen.texts["error"] = told(error)
        if seen.release is not None:
            seen.texts |= beside_its_rows(seen.release, Path(folder))
            seen.rows = of_its_rows(seen.release)
            seen.n_out_of_order = n_out_of_order(seen.release.to_arrow())
            seen.is_more_than_rows = is_more_than_rows(seen.release, Path(folder))
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
