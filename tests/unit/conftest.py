"""What several files of unit tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from headcount.streams.stream import Stream

BARE = 60
"""An epsilon at which noise other than 0 has a chance of e**-60: counts come out as they are."""


@pytest.fixture
def abc() -> Callable[..., Stream]:
    """Makes a stream of three groups."""
    from headcount.streams.stream import Stream

    def make(epsilon: float = BARE, path: Path | None = None) -> Stream:
        return Stream(groups=["c", "a", "b"], epsilon=epsilon, path=path)

    return make


@pytest.fixture
def counts() -> Callable[[Stream], dict[str, int]]:
    """Finishes a stream and reads its rows."""

    def read(stream: Stream) -> dict[str, int]:
        rows = stream.finish().to_arrow().to_pydict()
        return dict(zip(rows["group"], rows["count"], strict=True))

    return read
