"""What is said of a release as a whole, and how its error bars are made; all of it public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from headcount.accounting.tail import upper_point

CONFIDENCE = 0.95
BAR_SDS = upper_point((1 - CONFIDENCE) / 2)
"""Half the width of a normal interval of that confidence, in standard deviations."""
NOISE_ONLY = "noise only"
"""Said of error bars that do not cover what a bound leaves out."""
LEFT_OUT = "No row is shown"
"""How a note begins that says why, where groups were found and measured in vain."""
WITHHELD = "measured rows are withheld"
"""What a note has that tells of rows which a target left out, and names the largest."""
LOW_TO_HIGH = "low to high"
"""How a note begins that says what error bars cover."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is true of a release as a whole; all of it public."""

    verb: str
    """The verb that was asked."""
    method: str
    """How it was answered."""
    guarantee: str
    """The promise, in one sentence."""
    rho: str
    """What it cost in rho, as a decimal number."""
    delta: str
    """The delta of its thresholds, as a decimal number."""
    bounds: str
    """The most that one user counted for."""
    noise: str
    """The law of the noise, and how large it is."""
    confidence: float
    """How many of the error bars hold the truth: 0.95."""
    account: str
    """The account that paid."""
    entry: int
    """The number of the ledger entry that paid."""
    version: str
    """The version of headcount that drew the rows."""
    notes: tuple[str, ...] = ()
    """What else a reader should know, a sentence each."""
    value: str = "count"
    """The column that ``low`` and ``high`` are around."""
    stated: Mapping[str, float] = field(default_factory=dict)
    """Further numbers that belong to the rows, by name."""
    bars: str = ""
    """What the error bars cover, where that is not all there is."""
    asked: Mapping[str, str] = field(default_factory=dict)
    """The question: its public arguments, by name."""
    settled: Mapping[str, str] = field(default_factory=dict)
    """What the plan made of the question, and of what was left to it, by name."""

    @property
    def of_bars(self) -> str:
        """What the error bars are, in a few words."""
        return f"{self.confidence:.0%} error bars{f' ({self.bars})' if self.bars else ''}"

    @property
    def bars_said(self) -> str:
        """What the error bars are, and what they cover, in a sentence."""
        covered = next((note for note in self.notes if note.startswith(LOW_TO_HIGH)), LOW_TO_HIGH)
        named = f"{self.confidence:.0%} error bars" if self.bars in covered else self.of_bars
        return f"{named}: {covered.rstrip('.')}"

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that are not groups."""
        return (self.value, "low", "high", "sd")


_KINDS: Mapping[str, type] = {
    "confidence": float,
    "entry": int,
    "notes": list,
    "stated": dict,
    "asked": dict,
    "settled": dict,
}
"""What is no text. Lists and mappings are of texts, and stated numbers of numbers."""


def facts_from(record: Mapping[str, Any]) -> Facts:
    """Facts as they were stored; whoever may store results may store anything."""
    kinds = {one.name: _KINDS.get(one.name, str) for one in fields(Facts)}
    wrong = [name for name, value in record.items() if not isinstance(value, kinds[name])]
    texts = [*record.get("notes", ())]
    for name in ("asked", "settled"):
        texts += [*record.get(name, {}).values()]
    numbers = [*record.get("stated", {}).values()]
    if (
        wrong
        or not all(isinstance(one, str) for one in texts)
        or not all(isinstance(one, int | float) for one in numbers)
    ):
        raise ValueError("no facts of a release")
    return Facts(**{**record, "notes": tuple(record.get("notes", ()))})
