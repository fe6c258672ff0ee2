"""The part of a statement that is about answers collected from devices."""

from __future__ import annotations

from collections.abc import Sequence

from headcount.ledger.account import Entry
from headcount.ledger.statement.page import Block, Grid, Heading, Items, Paragraph

FLEET = "fleet"
"""The verb of a charge that pays for rounds of answers from devices."""

TRUST = (
    "The unit of privacy of these charges is one device with all its answers in one period. One "
    "person with several devices is several units.",
    "A device flips its own coins. What it sends is sealed for the counting core alone, and only "
    "counts of at least the threshold leave the core.",
    "Trusted: the device's own program, and the core, which sees the answers of the sampled share "
    "without knowing whose they are. Whoever controls the core's machine can see them too, unless "
    "its attestation says otherwise.",
    "Of a task by noise every answer reaches the core, which adds noise to the counts before it "
    "shows them.",
    "How many devices take part is not protected. With cover, every device that polls sends one "
    "report of one length; without it, whoever carries or keeps reports sees how many were "
    "sampled, and the guarantee holds against those who see the released counts alone.",
)


def from_devices(entries: Sequence[Entry]) -> list[Block]:
    """Who is trusted with what, where an account paid for answers from devices."""
    collected = [entry for entry in entries if entry.verb == FLEET]
    if not collected:
        return []
    rows = [
        [
            str(entry.sequence),
            _task(entry),
            entry.about.get("population", "not said"),
            entry.about.get("rounds", "not said"),
            entry.rounds_shown or "none so far",
            entry.about.get("cover", "not said"),
            entry.about.get("attestation", "not said"),
        ]
        for entry in collected
    ]
    header = ["entry", "task", "population", "rounds paid", "shown", "cover", "attestation"]
    return [
        Heading("Answers collected from devices"),
        Paragraph(
            "Each of these charges pays for a whole period of rounds. A round that showed nothing, "
            "or was called off, is paid for like any other."
        ),
        Grid(header, rows),
        Items(TRUST),
    ]


def _task(entry: Entry) -> str:
    """A task by its name, and how its answers are counted where that is not by a sample."""
    name, method = entry.about.get("task", "not said"), entry.about.get("method")
    return name if method is None else f"{name}, by {method}"
