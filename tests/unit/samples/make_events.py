"""Makes a sample of every kind of event, as the installed version writes and charges them.

Run it once, with the code of the version that the sample is named after, and never again:

    PYTHONPATH=<that version>/src python tests/unit/samples/make_events.py 0.1.0

A line is one event as a ledger keeps it, and what it cost then.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction as F
from pathlib import Path

from headcount.accounting.compose import cost
from headcount.privacy.event import (
    Composed,
    Event,
    Filtered,
    GaussianNoise,
    GaussianThreshold,
    LaplaceNoise,
    LaplaceThreshold,
    SampleThreshold,
    Selection,
    to_record,
)

MILLIONTH = F(1, 10**6)
PLAIN: list[Event] = [
    GaussianNoise(F(1), F(50)),
    GaussianNoise(F(20), F(1, 3)),
    GaussianNoise(F(7, 5), F(10**30 + 1, 10**12)),
    LaplaceNoise(F(1), F(7, 2)),
    LaplaceNoise(F(3), F(123456789, 1000)),
    Selection(F(1, 10)),
    Selection(F(2)),
    GaussianThreshold(F(20), F(400), MILLIONTH),
    GaussianThreshold(F(1), F(13, 7), F(1, 3 * 10**17)),
    LaplaceThreshold(F(4), F(40), MILLIONTH),
    LaplaceThreshold(F(1), F(9, 4), F(0)),
    Filtered(F(1, 8), F(0)),
    Filtered(F(1, 3), MILLIONTH),
    SampleThreshold(F(1, 16), F(12), F(1), F(22, 7), MILLIONTH),
    SampleThreshold(F(1, 1000), F(7), F(3), F(1, 100), F(1, 10**9)),
]
NESTED: list[Event] = [
    Composed(()),
    Composed((Selection(F(1)), GaussianNoise(F(1), F(4)))),
    Composed((LaplaceThreshold(F(1), F(10), MILLIONTH), Filtered(F(1, 50), MILLIONTH))),
    Composed((Composed((Composed((Selection(F(1, 3)),)), LaplaceNoise(F(1), F(8)))),)),
    Composed(tuple(PLAIN)),
]


def line(event: Event) -> str:
    """An event as a ledger keeps it, and what it costs."""
    spend = cost(event)
    sample = {"event": to_record(event), "rho": str(spend.rho), "delta": str(spend.delta)}
    return json.dumps(sample, sort_keys=True) + "\n"


if __name__ == "__main__":
    where = Path(__file__).with_name(f"events-{sys.argv[1]}.jsonl")
    where.write_text("".join(map(line, PLAIN + NESTED)), encoding="utf-8")
