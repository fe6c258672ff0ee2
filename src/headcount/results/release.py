"""What leaves: rows that may be published, with everything needed to read them rightly.

A ``Release`` is an allow-list. Whatever is in it was paid for or is public.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from headcount.errors import LedgerError, MissingExtraError
from headcount.results.cells import without_formulas
from headcount.results.facts import Facts, facts_from
from headcount.results.output import (
    BESIDE,
    PAGES,
    PICTURES,
    ROWS,
    check_beside,
    check_output,
    remove,
)
from headcount.results.paid import Paid, write_text
from headcount.results.plain import plain
from headcount.screens import visible

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd
    import polars as pl
    import pyarrow as pa

METADATA_KEY = b"headcount"


class Release(Paid):
    """A published result: one row per group, sorted by group, each with its error bar.

    Columns: the groups, then ``count``, ``low``, ``high`` and ``sd``. Print it to see the largest
    rows; a loop over it gives all of them.
    """

    withheld: pa.Table | None
    """Rows that were measured too, in the same columns, where a target left them out."""

    def __init__(self, table: pa.Table, facts: Facts, withheld: pa.Table | None = None) -> None:
        self._table = plain(table).replace_schema_metadata(
            {METADATA_KEY: json.dumps(asdict(facts), sort_keys=True).encode()}
        )
        self.facts = facts
        self.withheld = None if withheld is None else plain(withheld)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __repr__(self) -> str:
        rows = "row" if len(self) == 1 else "rows"
        return (
            f"<Release {self.facts.verb}: {len(self):,} {rows}, {visible(self.facts.guarantee)}, "
            f"entry {self.facts.entry} of account {self.facts.account!r}"
            f"{', shown again' if self.again else ''}>"
        )

    def __str__(self) -> str:
        from headcount.results.words import text_of

        return text_of(self._table, self.facts, n_withheld=self._n_withheld, again=self.again)

    def _repr_html_(self) -> str:
        from headcount.results.notebook import html_of

        return html_of(self._table, self.facts, n_withheld=self._n_withheld, again=self.again)

    @property
    def _n_withheld(self) -> int:
        return 0 if self.withheld is None else int(self.withheld.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows one by one, each by the names of its columns."""
        for batch in self._table.to_batches():
            yield from batch.to_pylist()

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table, with the facts in its metadata."""
        return self._table

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas data frame."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise MissingExtraError("pandas", "to_pandas()") from None
        return self._table.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """The rows as a Polars data frame."""
        try:
            import polars
        except ImportError:
            raise MissingExtraError("polars", "to_polars()") from None
        frame = polars.from_arrow(self._table)
        assert isinstance(frame, polars.DataFrame)  # noqa: S101  a table never reads as a series
        return frame

    def write_parquet(self, path: str | Path) -> Path:
        """Write one Parquet file: its statistics are those of the noisy rows, nothing else."""
        import pyarrow.parquet

        return self._written(
            path, (), lambda draft: pyarrow.parquet.write_table(self._table, draft)
        )

    def write_csv(self, path: str | Path) -> Path:
        """Write one CSV file, and the facts, which do not fit in it, to a JSON file beside it.

        That has the same name with ``-metadata.json`` after it. Texts that a spreadsheet would run
        as formulas have an apostrophe before them.
        """
        import pyarrow.csv

        rows = without_formulas(self._table)
        facts = json.dumps({"error bars": self.facts.of_bars, **asdict(self.facts)}, indent=2)
        beside = Path(f"{check_output(path, ())}{BESIDE}")
        check_beside(beside)
        # Old facts are never beside new rows, nor new ones beside old.
        remove(beside)
        written = self._written(path, (), lambda draft: pyarrow.csv.write_csv(rows, draft))
        self._written(beside, (), lambda draft: write_text(draft, f"{facts}\n"))
        return written

    def write(self, path: str | Path) -> Path:
        """Write by the file's ending: .parquet or .csv."""
        where = check_output(path, ROWS)
        if where.suffix.lower() == ".csv":
            return self.write_csv(where)
        return self.write_parquet(where)

    @overload
    def plot(self) -> alt.LayerChart: ...
    @overload
    def plot(self, path: str | Path) -> Path: ...
    def plot(self, path: str | Path | None = None) -> alt.LayerChart | Path:
        """Draw the rows with their error bars: .svg, .png or .html by the file's ending.

        Without a path, the Altair chart itself, which a notebook shows.
        """
        from headcount.results.chart import chart, save

        if path is None:
            drawn: alt.LayerChart = chart(self._table, self.facts)
            return drawn
        return self._written(path, PICTURES, lambda draft: save(self._table, self.facts, draft))

    def report(self, path: str | Path) -> Path:
        """Write one page, .html, with everything: the rows, a picture, the question, the method,
        the promise in plain words, the entry that paid. It loads nothing, and prints well.
        """
        from headcount.results.report import report_of

        page = report_of(
            self._table, self.facts, withheld=self.withheld, again=self.again, key=self.key
        )
        return self._written(path, PAGES, lambda draft: write_text(draft, page))

    def to_bytes(self) -> bytes:
        """The release as the ledger stores it."""
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        for table in (self._table, *([] if self.withheld is None else [self.withheld])):
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
        return bytes(sink.getvalue().to_pybytes())

    @classmethod
    def from_bytes(
        cls,
        payload: bytes,
        *,
        key: str | None = None,
        again: str | None = None,
        signer: Callable[[], str] | None = None,
    ) -> Release:
        """Read a stored release back."""
        import pyarrow as pa

        # Whoever may store results may store anything; a column that lies about itself would end
        # the process that looks at it.
        try:
            source, tables = pa.BufferReader(payload), list[pa.Table]()
            while source.tell() < source.size() and len(tables) < 2:
                with pa.ipc.open_stream(source) as reader:
                    tables.append(reader.read_all())
                tables[-1].validate(full=True)
            table, *others = tables
            facts = facts_from(json.loads(table.schema.metadata[METADATA_KEY]))
            release = CLASSES.get(facts.verb, cls)(table, facts, *others)
        except (
            *(pa.ArrowException, LookupError, TypeError, ValueError, AttributeError),
            RecursionError,
        ):
            raise LedgerError(
                f"What is stored under the key {key!r} is no release that headcount wrote. Nothing "
                "was charged. Ask the ledger's owner who stored it; fresh=True, under a new key, "
                "draws new rows and charges again."
            ) from None
        release.key, release.again, release.signer = key, again, signer
        return release


CLASSES: dict[str, type[Release]] = {}
"""Verbs whose rows have methods of their own; their modules enter themselves."""
