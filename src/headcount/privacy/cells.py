"""Public cells on a line of numbers: chosen before anything is read, never from the data."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from headcount.errors import UsageError
from headcount.privacy.exact import Number, exact

MAX_CELLS = 1 << 16
DEFAULT_CELLS = 1 << 12
MAX_EDGES = 500
MAX_SIZE = Fraction(2) ** 50
"""Ends of bounds and ranges are at most this large, so that doubles tell neighbours apart."""
NOTHING = "Nothing was read and nothing was charged."


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells of one width: cell ``i`` holds ``low + i * step <= x < low + (i + 1) * step``.

    A value beyond an end is in the cell at that end. With ``whole``, values are integers and a
    cell is one of them.
    """

    low: Fraction
    step: Fraction
    n_cells: int
    whole: bool

    @property
    def high(self) -> Fraction:
        """Where the last cell ends; with ``whole``, the last integer."""
        return self.low + (self.n_cells - self.whole) * self.step

    def start(self, cell: int) -> float:
        """The least value of a cell."""
        return float(self.low + cell * self.step)

    def middle(self, cell: int) -> float:
        """The value that stands for a cell."""
        return (
            self.start(cell)
            if self.whole
            else float(self.low + (cell + Fraction(1, 2)) * self.step)
        )

    def end(self, cell: int) -> float:
        """The end of a cell; with ``whole``, its only value."""
        return self.start(cell) if self.whole else self.start(cell + 1)

    def __str__(self) -> str:
        width = "one integer each" if self.whole else f"{float(self.step):g} wide"
        return (
            f"{self.n_cells:,} from {float(self.low):g} to {float(self.high):g}, {width}; "
            "values beyond are moved to the nearest end"
        )


@dataclass(frozen=True, slots=True)
class Edges:
    """Cells between neighbouring public points: ``points[i] <= x < points[i + 1]``.

    The first point may be minus infinity and the last infinity. A value outside is in no cell.
    """

    points: tuple[float, ...]

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return len(self.points) - 1


@dataclass(frozen=True, slots=True)
class Blocks:
    """How cells are seen: in blocks of ``size``, or as those before ``split`` and the rest."""

    n_cells: int
    size: int = 1
    split: int | None = None

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return 2 if self.split is not None else -(-self.n_cells // self.size)

    def __str__(self) -> str:
        return f"size {self.size}" if self.split is None else f"split {self.split}"


def read_grid(bounds: tuple[Number, Number], step: Number | None, *, whole: bool) -> Grid:
    """Check bounds and step. ``whole``: the values are integers, by the schema."""
    try:
        low, high = (exact(end, "an end of bounds") for end in bounds)
    except (TypeError, ValueError):
        raise UsageError(f"bounds must be two numbers, (low, high). {NOTHING}") from None
    if not low < high or max(abs(low), abs(high)) > MAX_SIZE:
        raise UsageError(
            f"bounds must go from a smaller to a larger number, each at most 2**50, not from "
            f"{float(low):g} to {float(high):g}. {NOTHING}"
        )
    integers = whole and low.denominator == high.denominator == 1
    if step is None:
        default = -(-(high - low + 1) // MAX_CELLS) if integers else (high - low) / DEFAULT_CELLS
        width = Fraction(default)
    else:
        width = exact(step, "step")
    if width <= 0:
        raise UsageError(f"step must be greater than 0, not {step}. {NOTHING}")
    single = integers and width == 1
    n_cells = math.ceil((high - low) / width) + single
    if n_cells > MAX_CELLS:
        raise UsageError(
            f"bounds and step make {n_cells:,} cells and there can be {MAX_CELLS:,}; take a "
            f"larger step. {NOTHING}"
        )
    return Grid(low, width, n_cells, single)


def read_ranges(
    ranges: Iterable[tuple[Number | None, Number | None]],
) -> tuple[Edges, tuple[tuple[int, int], ...]]:
    """The cells that public ranges cut the line into, and each range as cells ``[first, end)``."""
    read = [_read_range(part) for part in ranges]
    if not read or len(read) > MAX_EDGES or len(set(read)) < len(read):
        raise UsageError(
            f"Give from 1 to {MAX_EDGES} ranges, each once, such as (18, 65). {NOTHING}"
        )
    points = tuple(sorted({end for part in read for end in part}))
    place = {point: index for index, point in enumerate(points)}
    return Edges(points), tuple((place[low], place[high]) for low, high in read)


def _read_range(part: tuple[Number | None, Number | None]) -> tuple[float, float]:
    try:
        first, last = part
    except (TypeError, ValueError):
        raise UsageError(f"A range is a pair such as (18, 65), not {part!r}. {NOTHING}") from None
    low = -math.inf if first is None else float(exact(first, "an end of a range"))
    high = math.inf if last is None else float(exact(last, "an end of a range"))
    sizes = [abs(end) for end in (low, high) if math.isfinite(end)]
    if not low < high or max(sizes, default=0.0) > MAX_SIZE:
        raise UsageError(
            f"A range goes from a smaller number up to, and without, a larger one, each at most "
            f"2**50; {part!r} does not. {NOTHING}"
        )
    return low, high
