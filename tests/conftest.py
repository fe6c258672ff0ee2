from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True, scope="session")
def heads_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Heads of the ledgers that tests make; never in the settings of whoever runs them."""
    before = os.environ.get("HEADCOUNT_HEADS")
    os.environ["HEADCOUNT_HEADS"] = str(tmp_path_factory.mktemp("heads"))
    yield
    if before is None:
        del os.environ["HEADCOUNT_HEADS"]
    else:
        os.environ["HEADCOUNT_HEADS"] = before


@pytest.fixture
def headcount_command() -> str:
    return str(Path(sys.executable).with_name("headcount"))
