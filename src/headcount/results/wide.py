"""A release whose rows are in files: which they are, and how to read them again.

What the ledger stores is the list of the files with their digests. It holds no row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.errors import LedgerError, OutputError
from headcount.results.facts import Facts, facts_from
from headcount.results.output import reason
from headcount.results.paid import Paid
from headcount.results.plain import plain
from headcount.screens import quoted, visible

if TYPE_CHECKING:
    import pyarrow as pa

METADATA_KEY = b"headcount"
PLACE_KEY = b"headcount files"
COLUMNS = ("file", "bytes", "sha256", "rows")


class WideFile(NamedTuple):
    """One file of a release."""

    name: str
    bytes: int
    sha256: str
    rows: int


class Place(NamedTuple):
    """Where the files of a release are, and where they were before it was stored."""

    folder: str
    staging: str


class WideRelease(Paid):
    """A published result in Parquet files: one row per group, each with its error bar.

    Columns are those of a release in memory: the groups, then ``count``, ``low``, ``high`` and
    ``sd``. Every group is in one file alone.
    """

    folder: Path
    """Where the files are."""
    files: tuple[WideFile, ...]
    """The files, each with its name, its size, its SHA-256 and how many rows it has."""

    def __init__(self, manifest: pa.Table, facts: Facts, place: Place) -> None:
        self._manifest = plain(manifest).replace_schema_metadata(
            {
                METADATA_KEY: json.dumps(asdict(facts), sort_keys=True).encode(),
                PLACE_KEY: json.dumps(place._asdict(), sort_keys=True).encode(),
            }
        )
        self.facts, self.folder, self.place = facts, Path(place.folder), place
        self.files = tuple(WideFile(*row.values()) for row in manifest.to_pylist())

    @property
    def rows(self) -> int:
        """How many rows there are in all files."""
        return sum(file.rows for file in self.files)

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        return (
            f"<WideRelease {self.facts.verb}: {self.rows:,} rows in {_files(self)} of "
            f"{visible(str(self.folder))}, {visible(self.facts.guarantee)}, entry "
            f"{self.facts.entry} of account {self.facts.account!r}"
            f"{', shown again' if self.again else ''}>"
        )

    def __str__(self) -> str:
        lines = [f"{self.rows:,} rows in {_files(self)} of {self.folder}", self.facts.bars_said]
        return "\n".join(map(visible, (*lines, *self.facts.notes, self.facts.guarantee)))

    def check(self) -> None:
        """Refuse where a file is not there as it was released."""
        for file in self.files:
            self._bytes_of(file)

    def to_arrow(self, file: WideFile | str) -> pa.Table:
        """The rows of one file as an Arrow table: of one of ``files``, or by its name."""
        import pyarrow as pa
        import pyarrow.parquet

        names = {one.name: one for one in self.files}
        found = names.get(file if isinstance(file, str) else file.name)
        if found is None:
            raise OutputError(f"This release has no file {quoted(str(file))}.")
        return pyarrow.parquet.read_table(pa.BufferReader(self._bytes_of(found)))

    def to_spark(self) -> Any:
        """The rows as a data frame of the active Spark session; the query is not run again."""
        from headcount.tables.spark_workers import read_files

        self.check()
        return read_files([self.folder / file.name for file in self.files])

    def _bytes_of(self, file: WideFile) -> bytes:
        place = self.folder / file.name
        try:
            found = place.read_bytes()
        except OSError as error:
            raise OutputError(
                f"{quoted(place)} cannot be read: {reason(error)}. {self._lost}"
            ) from None
        if hashlib.sha256(found).hexdigest() != file.sha256:
            raise OutputError(f"{quoted(place)} was changed after its release. {self._lost}")
        return found

    @property
    def _lost(self) -> str:
        return (
            f"It is a file of entry {self.entry} of account {self.facts.account!r}, which cannot "
            "draw the same rows again: bring the file back. fresh=True draws new rows and charges "
            "again."
        )

    def to_bytes(self) -> bytes:
        """The list of files as the ledger stores it."""
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self._manifest.schema) as writer:
            writer.write_table(self._manifest)
        return bytes(sink.getvalue().to_pybytes())

    @classmethod
    def from_bytes(
        cls,
        payload: bytes,
        *,
        key: str | None = None,
        again: str | None = None,
        signer: Callable[[], str] | None = None,
    ) -> WideRelease:
        """Read a stored list of files back."""
        import pyarrow as pa

        # Whoever may store results may store anything, also names that lead elsewhere.
        try:
            with pa.ipc.open_stream(pa.BufferReader(payload)) as reader:
                manifest = reader.read_all()
            manifest.validate(full=True)
            metadata = manifest.schema.metadata
            facts = facts_from(json.loads(metadata[METADATA_KEY]))
            place = Place(**json.loads(metadata[PLACE_KEY]))
            release = cls(manifest, facts, place)
            if tuple(manifest.column_names) != COLUMNS or not all(
                Path(name).name == name and name not in (".", "..")
                for name in (place.staging, *(file.name for file in release.files))
            ):
                raise ValueError("no list of files")
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


def manifest_of(files: list[WideFile]) -> pa.Table:
    """The list of files as a table."""
    import pyarrow as pa

    kinds = (pa.string(), pa.int64(), pa.string(), pa.int64())
    schema = pa.schema(list(zip(COLUMNS, kinds, strict=True)))
    rows = [dict(zip(COLUMNS, file, strict=True)) for file in files]
    return pa.Table.from_pylist(rows, schema=schema)


def is_wide(payload: bytes) -> bool:
    """Whether what is stored says of itself that it is a list of files."""
    import pyarrow as pa

    try:
        with pa.ipc.open_stream(pa.BufferReader(payload)) as reader:
            return PLACE_KEY in (reader.schema.metadata or {})
    except pa.ArrowException:
        return False


def _files(release: WideRelease) -> str:
    return "1 file" if len(release.files) == 1 else f"{len(release.files):,} files"
