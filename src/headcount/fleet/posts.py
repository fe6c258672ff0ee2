"""What is sent at a time: sealed reports of one length, end to end."""

from __future__ import annotations

from headcount.errors import UsageError
from headcount.fleet.wire import OVERHEAD, PAD

REPORT = PAD + OVERHEAD
MOST_BYTES = 1 << 22
"""Of one post."""


def check_post(body: bytes) -> None:
    """Refuse what is not reports of one length, end to end."""
    if not 0 < len(body) <= MOST_BYTES or len(body) % REPORT:
        raise UsageError(
            f"A post is reports of {REPORT} bytes, end to end, at most {MOST_BYTES:,} bytes. "
            "Nothing was taken."
        )
