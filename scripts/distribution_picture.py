"""Draw error against samples per user, from the last line of the benchmark.

``python benchmarks/distribution.py --law | python scripts/distribution_picture.py``
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import altair

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "distribution-law.svg"
NAMES = {
    "pure laplace": "Laplace, epsilon 1",
    "auto": "distribution(), epsilon 1",
    "non-private": "no privacy",
}
COLOURS = ["#999999", "#4c78a8", "#222222"]


def main() -> None:
    """Read, draw, write."""
    found = json.loads(sys.stdin.read().strip().splitlines()[-1])
    rows = [
        {"samples": row["samples"], "error": row[name], "method": shown}
        for row in found["law"]
        for name, shown in NAMES.items()
    ]
    title = f"{found['users']:,} users, {found['groups']} groups, mean of {found['runs']} runs"
    scale = altair.Scale(type="log")
    drawn = (
        altair.Chart(altair.Data(values=rows))
        .mark_line(point=True)
        .encode(
            x=altair.X("samples:Q", scale=scale, title="rows per user"),
            y=altair.Y("error:Q", scale=scale, title="l1 error of the shares"),
            color=altair.Color(
                "method:N",
                title=None,
                scale=altair.Scale(domain=list(NAMES.values()), range=COLOURS),
            ),
        )
        .properties(width=420, height=260, title=title)
    )
    PICTURE.parent.mkdir(exist_ok=True)
    drawn.save(str(PICTURE))


if __name__ == "__main__":
    main()
