"""What is read of a table with and without one record, held against the law of reading.

The rows that are read are the union, over the records, of a function of one record. So with the
record there must be the rows that are there without it, and those that the record gives when it is
alone: no other row is lost, changed or added, no column is renamed or gets another type, nothing
fails, no message tells of a cell, and nothing that is said meanwhile is another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headcount.audit.verdict import Finding, Tier

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Read:
    """What one table was read as.

    columns:  the names and kinds, as text
    rows:     each row and how often it is there; None when reading failed
    told:     what an error said
    heard:    what was printed, logged or warned about meanwhile
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    rows: Counter[Row] | None = None
    told: str = ""
    heard: str = ""


def compare_readings(
    with_record: Read, without: Read, alone: Read, subject: str, cells: tuple[str, ...] = ()
) -> list[Finding]:
    """Hold three readings against the law.

    alone:  the table of that record and nothing else
    cells:  what no message may hold
    """

    def finding(measure: str, found: float) -> Finding:
        return Finding(Tier.GREY_BOX, subject, measure, 0, found)

    told = "".join(read.told + read.heard for read in (with_record, without, alone))
    findings = [
        finding("readings that one record stops", _failed(with_record) - _failed(without)),
        finding("columns that one record changes", with_record.columns != without.columns),
        finding("words that one record changes", with_record.heard != without.heard),
        finding("cells in messages", sum(cell in told for cell in cells)),
    ]
    if with_record.rows is not None and without.rows is not None:
        own = alone.rows or Counter()
        findings += [
            finding("rows of others that are lost", (without.rows - with_record.rows).total()),
            finding("rows that are nobody's", (with_record.rows - without.rows - own).total()),
            finding("rows of the record that are lost", _lost(with_record, without, own)),
        ]
    return findings


def _failed(reading: Read) -> int:
    return int(reading.rows is None)


def _lost(with_record: Read, without: Read, own: Counter[Row]) -> int:
    assert with_record.rows is not None  # noqa: S101  looked at before
    assert without.rows is not None  # noqa: S101
    return (without.rows + own - with_record.rows).total()
