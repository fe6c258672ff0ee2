from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

# Their verdicts hang on noise. Each fails by chance at most once in some thousands of runs, which
# is often enough for one in a whole suite; a fault fails every time. So these alone are drawn anew,
# at most twice, and the summary counts them. Never a race, a crash or a time limit.
DRAWN = (
    "statistical/",
    "unit/audit/",
    "unit/mechanisms/",
    "unit/noise/",
    "unit/postprocess/",
    *(
        f"e2e/test_{name}.py"
        for name in [
            "before_spending",
            "count_events",
            "count_events_found",
            "count_users",
            "default_bars",
            "distribution",
            "first_example",
            "frequencies",
            "long_lists",
            "never_absurd",
            "one_pass",
            "pages_run",
            "peel",
            "profile",
            "quantiles",
            "robots",
            "sample",
            "seen",
            "stream",
            "top",
            "withheld",
            "within",
        ]
    ),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let what hangs on noise be drawn anew."""
    tests = Path(__file__).parent
    for item in items:
        if item.path.relative_to(tests).as_posix().startswith(DRAWN):
            item.add_marker(pytest.mark.flaky(reruns=2, only_rerun=["AssertionError"]))


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
