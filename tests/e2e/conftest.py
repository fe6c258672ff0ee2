from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.browser import Browser

from headcount.tables.demo import write_demo

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def own_handler() -> Iterator[None]:
    """Spark puts a handler of its own in place of Python's, and leaves it there."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def demo_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "events.parquet"
    write_demo(path, n_users=20_000, n_pages=2_000)
    return path


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        ["uv", "build", "--quiet", "--wheel", "--out-dir", str(folder), str(ROOT)], check=True
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser")) as made:
        try:
            made.call("Browser.getVersion")
        except (AssertionError, OSError, TimeoutError):
            pytest.skip("Chromium does not start on this machine")
        yield made
