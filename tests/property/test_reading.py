"""The law of reading, on random CSV files: a record changes its own rows and no other's."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from headcount.audit.reading import Read, compare_readings
from headcount.tables import open_table
from headcount.tables.csv import Csv
from headcount.tables.source import Options
from headcount.trials.reading import rows_read

EXAMPLES = int(os.environ.get("HEADCOUNT_EXAMPLES", "120"))
DIALECTS = (Csv(), Csv(";", "'"), Csv("\t", None), Csv("|"), Csv(header=False, columns=("a", "b")))
HEADER = b"\xc3\xa9,b"

pieces = st.sampled_from(
    [b"a", b"b", b"1", b",", b";", b"\t", b"|", b'"', b"'", b'""', b'","', b"\\", b"#", b" ", b"\0",
     b"\xff", b"\xc3", b"\xc3\xa9", b"\xf0\x9f\x98\x80", b"\xef\xbb\xbf", b"\r", b"\x1a"]
)  # fmt: skip
wild = st.lists(pieces, max_size=12).map(b"".join)
cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=4)


@st.composite
def lines(draw: Any, csv: Csv) -> bytes:
    """A line that the dialect allows, or any other."""
    if draw(st.booleans()):
        return draw(wild)
    quote, fields = csv.quote, []
    for cell in draw(st.lists(cells, min_size=2, max_size=2)):
        plain = csv.delimiter not in cell and (quote is None or quote not in cell)
        if quote is not None and (not plain or draw(st.booleans())):
            fields.append(quote + cell.replace(quote, 2 * quote) + quote)
        else:
            fields.append(cell)
    return csv.delimiter.join(fields).encode()


@st.composite
def files(draw: Any) -> tuple[Csv, list[bytes], bytes, int, bytes]:
    csv = draw(st.sampled_from(DIALECTS))
    others = draw(st.lists(lines(csv), max_size=8))
    end = draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    return csv, others, draw(lines(csv)), draw(st.integers(0, len(others))), end


def read(folder: Path, csv: Csv, records: list[bytes], end: bytes) -> Read:
    path = folder / "x.csv"
    names = [HEADER.replace(b",", csv.delimiter.encode())] if csv.header else []
    path.write_bytes(end.join([*names, *records]))
    user = "\u00e9" if csv.header else "a"
    table = open_table(path, user=user, options=Options(csv=csv))
    return Read({name: str(kind) for name, kind in table.columns.items()}, rows_read(table))


@settings(
    max_examples=EXAMPLES, deadline=None, database=None,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
@given(files())
def test_a_line_changes_no_other_line(given_file: Any) -> None:
    csv, others, record, place, end = given_file
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        without = read(folder, csv, others, end)
        with_record = read(folder, csv, [*others[:place], record, *others[place:]], end)
        alone = Read(without.columns, reference(csv, record))
    event("the record is a row" if alone.rows else "the record is dropped")
    findings = compare_readings(with_record, without, alone, "CSV")
    assert not [str(finding) for finding in findings if finding.violated]


def reference(csv: Csv, record: bytes) -> Counter[tuple[str | None, ...]]:
    """What one record gives, by the rule that a plan prints, in plain Python."""
    rows: Counter[tuple[str | None, ...]] = Counter()
    for line in record.replace(b"\r", b"\n").split(b"\n"):
        try:
            fields = csv.fields(line.decode())
        except UnicodeDecodeError:
            continue
        if fields is not None and len(fields) == 2 and fields != ["", ""] and fields[0]:
            # Columns come in the order of their names: b before \u00e9, a before b.
            user, other = fields[0], fields[1] or None
            rows[(other, user) if csv.header else (user, other)] += 1
    return rows
