"""Makes the test vectors of the wire format: what a client in any language must reproduce.

    python scripts/fleet_vectors.py tests/unit/fleet/vectors.json

Sealing draws a key of its own each time, so sealed reports are there to be opened, and all else to
be made again byte by byte. The file changes with the version of the wire format and never without.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

from headcount.fleet.seal import public_key_of, seal
from headcount.fleet.task import Task, Terms
from headcount.fleet.task_file import read_task
from headcount.fleet.wire import Descriptor, body, coin
from headcount.privacy.neighbours import Neighbours

PRIVATE_KEY, SECRET = bytes(range(32)), bytes([7]) * 32
TASK = {
    "task": "top_app",
    "population": "phones",
    "owner": "fleet-analytics@example.com",
    "purpose": "Which app is used most – »täglich«",
    "expires": "2027-03-01",
    "question": {"max_bytes": 64, "answers": 2, "sql": "SELECT app FROM usage"},
    "rounds": {"every": "1d", "keep_open": "18h", "n": 30},
    "spend": {"account": "app-users", "epsilon": 1},
}
VALUES = ("com.example.mail", None, "päckchen.日本", "x" * 252)


def made() -> dict[str, Any]:
    """All vectors but the sealed reports."""
    terms = Terms(
        Fraction(272793343263, 1 << 40), 20, Fraction(1, 8), Fraction(1, 10**7), Neighbours.REPLACE
    )
    task = Task(read_task(TASK), terms)
    descriptor = Descriptor(task.id, 7, 1_800_000_000, 1_800_064_800, public_key_of(PRIVATE_KEY))
    coins = [[number, answer] for number in range(4) for answer in range(2)]
    return {
        "task": json.loads(task.spelled),
        "canonical": task.spelled.decode(),
        "task_id": task.id.hex(),
        "round_private_key": PRIVATE_KEY.hex(),
        "descriptor": descriptor.spelled.hex(),
        "descriptor_hash": descriptor.hash.hex(),
        "device_secret": SECRET.hex(),
        "coin_limit": str(terms.coin_limit),
        "coins": [
            {"round": n, "answer": i, "coin": str(found), "keep": found < terms.coin_limit}
            for n, i in coins
            for found in [coin(SECRET, task.id, n, i)]
        ],
        "bodies": [{"value": value, "body": body(value).hex()} for value in VALUES],
    }


def sealed() -> list[dict[str, Any]]:
    """Reports of the bodies, each under an id of its own."""
    found = made()
    descriptor = Descriptor(
        bytes.fromhex(found["task_id"]),
        7,
        1_800_000_000,
        1_800_064_800,
        public_key_of(PRIVATE_KEY),
    )
    return [
        {"value": value, "report": seal(descriptor, bytes([i]) * 16, body(value)).hex()}
        for i, value in enumerate(VALUES)
    ]


if __name__ == "__main__":
    text = json.dumps({**made(), "reports": sealed()}, indent=1, ensure_ascii=False)
    Path(sys.argv[1]).write_text(text + "\n", encoding="utf-8")
