"""A mechanism does not arrive without a proof, an audit and two mutants that the audit catches."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import headcount.mechanisms
from headcount.trials.register import MECHANISMS, trial_of

FOLDER = Path(headcount.mechanisms.__path__[0])


def mechanisms_in(folder: Path) -> list[str]:
    """What can be calibrated is a mechanism, or makes its room one; all else helps one."""

    def calibrates(path: Path) -> bool:
        return "    def calibrate(" in path.read_text("utf-8")

    modules = {path.stem for path in folder.glob("*.py") if calibrates(path)}
    return sorted(
        modules | {path.parent.name for path in folder.glob("*/*.py") if calibrates(path)}
    )


def proof_of(name: str, folder: Path) -> Path:
    """A module's proof has its name; a room's proof is in the room."""
    room = folder / name
    return room / "proof.md" if room.is_dir() else folder / f"{name}.md"


def lacking(name: str, folder: Path, audited: tuple[str, ...]) -> list[str]:
    """What a mechanism lacks, in words."""
    lacks = []
    proof = proof_of(name, folder)
    if not proof.exists() or "**Claim.**" not in proof.read_text(encoding="utf-8"):
        lacks.append("a proof page that states a claim")
    if name not in audited:
        return [*lacks, "an audit trial", "two mutants"]
    cases = trial_of(name).cases
    if not any(not case.is_mutant for case in cases):
        lacks.append("an audit of the mechanism as shipped")
    if len({case.name for case in cases if case.is_mutant}) < 2:
        lacks.append("two mutants")
    return lacks


@pytest.mark.parametrize("name", mechanisms_in(FOLDER))
def test_mechanism_is_proved_audited_and_mutated(name: str) -> None:
    assert not lacking(name, FOLDER, MECHANISMS)


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_trial_has_two_mutants(name: str) -> None:
    trial = trial_of(name)
    assert trial.mechanism == name
    assert len(trial.mutants) >= 2
    assert sum(not case.is_mutant for case in trial.cases) == 1


def test_the_rule_can_fail(tmp_path: Path) -> None:
    (tmp_path / "new_noise.py").write_text("class New:\n    def calibrate(cls): ...\n", "utf-8")
    (tmp_path / "helper.py").touch()
    room = tmp_path / "new_room"
    room.mkdir()
    (room / "mechanism.py").write_text("class New:\n    def calibrate(cls): ...\n", "utf-8")
    (tmp_path / "new_room.md").write_text("**Claim.** Not where it belongs.", "utf-8")
    assert mechanisms_in(tmp_path) == ["new_noise", "new_room"]
    for name in mechanisms_in(tmp_path):
        assert lacking(name, tmp_path, MECHANISMS) == [
            "a proof page that states a claim",
            "an audit trial",
            "two mutants",
        ]


def test_the_auditor_imports_no_maths() -> None:
    import headcount.audit

    for path in Path(headcount.audit.__path__[0]).glob("*.py"):
        source = path.read_text(encoding="utf-8")
        importlib.import_module(f"headcount.audit.{path.stem}")
        for layer in ("noise", "accounting", "mechanisms", "releases", "contributions"):
            assert f"headcount.{layer}" not in source, path.name
