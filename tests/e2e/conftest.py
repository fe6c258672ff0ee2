from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from headcount.tables.demo import write_demo

ROOT = Path(__file__).parents[2]


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
