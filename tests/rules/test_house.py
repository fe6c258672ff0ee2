"""Rules of the house that no linter knows."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import headcount

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "headcount"


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def test_public_names_are_these_and_sorted() -> None:
    assert headcount.__all__ == [
        "Budget",
        "BudgetError",
        "Csv",
        "Dataset",
        "EngineError",
        "Expected",
        "HeadcountError",
        "KeyReusedError",
        "LedgerError",
        "MissingExtraError",
        "NoAccountError",
        "OutputError",
        "Plan",
        "Release",
        "SchemaError",
        "Series",
        "Stream",
        "UsageError",
        "WideRelease",
        "__version__",
        "bins",
        "open",
        "public",
        "truncate",
        "verify",
    ]
    assert all(hasattr(headcount, name) for name in headcount.__all__)


def test_import_loads_no_engine_and_is_fast() -> None:
    code = (
        "import sys, time; started = time.process_time(); import headcount; "
        "took = time.process_time() - started; import json; "
        "print(json.dumps([took, sorted({m.split('.')[0] for m in sys.modules})]))"
    )
    tries = []
    for _ in range(3):
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        took, modules = json.loads(ran.stdout)
        tries.append(took)
    heavy = {"ibis", "duckdb", "pyspark", "pyarrow", "pandas", "polars", "sqlalchemy", "numpy"}
    assert not heavy & set(modules)
    assert min(tries) < 0.3


def test_the_version_is_said_once() -> None:
    said = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert said["project"]["dynamic"] == ["version"]
    assert f'__version__ = "{headcount.__version__}"' in (
        ROOT / said["tool"]["hatch"]["version"]["path"]
    ).read_text("utf-8")


def test_what_the_contracts_forbid_breaks_them(tmp_path: Path) -> None:
    """A folder that nobody declared, and two siblings that import each other."""
    source = tmp_path / "src" / "headcount"
    shutil.copytree(SOURCE, source)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]

    def lint() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=tmp_path,
            env={"PYTHONPATH": str(tmp_path / "src"), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )

    assert lint().returncode == 0, lint().stdout
    planted = source / "releases" / "rows.py"
    shipped = planted.read_text("utf-8")
    planted.write_text(f"{shipped}\nimport headcount.releases.count_users.plan\n", "utf-8")
    broken = lint()
    assert broken.returncode != 0
    assert "No circle between siblings, anywhere BROKEN" in broken.stdout
    planted.write_text(shipped, "utf-8")
    (source / "utils").mkdir()
    (source / "utils" / "__init__.py").write_text('"""Planted."""\n')
    broken = lint()
    assert broken.returncode != 0
    assert "utils" in broken.stdout


def test_no_path_of_a_machine_and_no_registry_is_tracked() -> None:
    # Spelled in pieces, so that this file does not hold what it looks for.
    machine = re.compile("/(" + "|".join(["wor" + "k", "roo" + "t", "hom" + "e/[a-z]+"]) + ")/")
    registry = re.compile("pypi" + r"\.org|python" + "hosted")
    for path in tracked():
        if path.suffix in {".parquet", ".png"} or path.parts[-2:] == (".ci", "run"):
            continue
        # Only a database may hold bytes that are no text.
        text = path.read_bytes().decode(errors="replace" if path.suffix == ".db" else "strict")
        assert not registry.search(text), path
        if path.suffix != ".lock":
            assert not machine.search(text.replace("/home/0000", "")), path


def test_source_files_are_small() -> None:
    for path in tracked("src/*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, path


def test_every_package_and_module_says_what_it_is_for() -> None:
    for path in tracked("src/*.py"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith('"""'), path
        assert "TODO" not in text, path


def test_the_command_line_reference_is_up_to_date() -> None:
    where = ROOT / "scripts" / "cli_reference.py"
    spec = importlib.util.spec_from_file_location("cli_reference", where)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), "run: just reference"


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_between_pages_lead_somewhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).exists(), target
