"""A mechanism does not arrive without a proof, an audit and two mutants that the audit catches."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import headcount.mechanisms
from headcount.trials.roll import MECHANISMS, trial_of

FOLDER = Path(headcount.mechanisms.__path__[0])
# What mechanisms share, and the public side of one: nothing in them sees private data.
NOT_A_MECHANISM = {
    "__init__",
    "binomial_public",
    "distribution_public",
    "distribution_queries",
    "distribution_run",
    "draw",
    "equal_error_candidates",
    "equal_error_public",
    "equal_error_queries",
    "equal_error_run",
    "hierarchy_public",
    "norm_threshold",
    "sampled_public",
}


def mechanisms_in(folder: Path) -> list[str]:
    return sorted({path.stem for path in folder.glob("*.py")} - NOT_A_MECHANISM)


def lacking(name: str, folder: Path, audited: tuple[str, ...]) -> list[str]:
    """What a mechanism lacks, in words."""
    lacks = []
    proof = folder / f"{name}.md"
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
    (tmp_path / "new_noise.py").touch()
    (tmp_path / "draw.py").touch()
    assert mechanisms_in(tmp_path) == ["new_noise"]
    assert lacking("new_noise", tmp_path, MECHANISMS) == [
        "a proof page that states a claim",
        "an audit trial",
        "two mutants",
    ]


def test_tags_of_proofs_are_in_the_code() -> None:
    for name in sorted(path.stem for path in FOLDER.glob("*.md")):
        proof = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
        parts = sorted(FOLDER.glob(f"{name}*.py"))  # a long mechanism may have modules of its own
        code = "".join(part.read_text(encoding="utf-8") for part in parts)
        for tag in ("[P1]", "[P2]", "[P3]", "[P4]", "[P5]"):
            assert (tag in proof) <= (tag in code), f"{name}: {tag}"


def test_the_auditor_imports_no_maths() -> None:
    import headcount.audit

    for path in Path(headcount.audit.__path__[0]).glob("*.py"):
        source = path.read_text(encoding="utf-8")
        importlib.import_module(f"headcount.audit.{path.stem}")
        for layer in ("noise", "accounting", "mechanisms", "releases", "contributions"):
            assert f"headcount.{layer}" not in source, path.name
