"""What a verb says of a release into files: rows that are drawn each by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from headcount.privacy.argument import NOTHING

if TYPE_CHECKING:
    import pyarrow as pa

    from headcount.contributions.tally import Tally
    from headcount.releases.rows import EachGroup
    from headcount.releases.session import Answer, Session

NOT_WIDE = (
    "to= writes rows that are drawn each by itself, and this question needs all of them in one "
    "place: a choice among groups, a target, or the largest of them. Count users with "
    "method='threshold' or method='laplace', or of listed groups with method='threshold', and "
    f"leave top= and within= out. {NOTHING}"
)


class To(NamedTuple):
    """Where a release goes."""

    folder: Path
    files: int | None
    """Into how many files, if that was said."""


@dataclass(frozen=True, slots=True)
class Wide:
    """How the rows of a question are counted, drawn and described, apart from one another."""

    tally: Callable[[Session], Tally]
    """The totals that this session asks for; nothing is read."""
    each: EachGroup
    """What is published of any of the groups."""
    described: Callable[[pa.Table], Answer]
    """The words around rows, or around a list of the files that they are in."""
