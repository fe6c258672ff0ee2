from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest


def pytest_configure() -> None:
    """Let Ctrl-C be tested where the shell that began the tests had it ignored, as for jobs."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        with suppress(ValueError):  # not in the first thread
            signal.signal(signal.SIGINT, signal.default_int_handler)


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
