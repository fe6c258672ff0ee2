"""``frequencies`` as people call it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import headcount as hc
from headcount.releases.dataset import Dataset
from headcount.results.frequencies import FrequencyRelease
from headcount.results.release import Release

BUDGET = hc.Budget(epsilon=100, delta=1e-6)
SIZES = {1: 4000, 2: 1500, 3: 700, 10: 60, 500: 3}


def table(groups_per_user: int = 1) -> pa.Table:
    """Groups of known sizes; every user in so many groups."""
    sizes = np.repeat(list(SIZES), list(SIZES.values()))
    group = np.repeat(np.arange(len(sizes)), sizes)
    np.random.default_rng().shuffle(group)
    user = np.arange(len(group)) // groups_per_user
    return pa.table({"user": user, "group": group})


def opened(tmp_path: Path, groups_per_user: int = 1) -> Dataset:
    return hc.open(
        table(groups_per_user), user="user", account="f", budget=BUDGET, ledger=tmp_path / "l.db"
    )


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"bound": 1},
        {"bound": 1, "at_most": 8000},
        {"bound": 1, "buckets": 40_000},
        {"bound": 1, "groups": range(8000)},
        {"bound": 1, "groups": range(8000), "method": "laplace"},
    ],
    ids=str,
)
def test_frequencies_come_back(settings: dict[str, object], tmp_path: Path) -> None:
    data = opened(tmp_path)
    plan = data.frequencies("group", spend=hc.Budget(epsilon=10), **settings)  # type: ignore[arg-type]
    release = plan.release()
    assert isinstance(release, FrequencyRelease)
    assert release.facts.value == "groups"
    rows = release.to_arrow()
    assert rows.column_names[:2] == ["count", "groups"]
    counts = rows.column("count").to_pylist()
    assert counts == sorted(counts)
    assert counts[0] == 1
    n_groups = sum(SIZES.values())
    assert release.distinct().value == pytest.approx(n_groups, rel=0.2)
    total = sum(size * n for size, n in SIZES.items())
    assert release.frequencies().total().value == pytest.approx(total, rel=0.2)
    shares = np.repeat(list(SIZES), list(SIZES.values())) / total
    entropy = -float(shares @ np.log(shares)) + (n_groups - 1) / (2 * total)
    assert release.entropy().value == pytest.approx(entropy, abs=0.2)
    assert release.expected_error < total / 4
    assert any("Expected error" in note for note in release.facts.notes)


def test_a_stored_release_still_answers(tmp_path: Path) -> None:
    plan = opened(tmp_path).frequencies("group", bound=1, spend=hc.Budget(epsilon=20))
    release = plan.release()
    again = Release.from_bytes(release.to_bytes())
    assert isinstance(again, FrequencyRelease)
    assert isinstance(release, FrequencyRelease)
    assert again.distinct() == release.distinct()
    assert again.entropy() == release.entropy()
    assert again.coverage(0.5) == release.coverage(0.5)
    assert plan.release().to_bytes() == release.to_bytes()


def test_the_bound_is_chosen_privately_and_stated(tmp_path: Path) -> None:
    plan = opened(tmp_path, groups_per_user=4).frequencies("group", spend=hc.Budget(epsilon=10))
    assert "chosen from a private profile" in plan.explain()
    release = plan.release()
    (note,) = [note for note in release.facts.notes if "chosen from a private profile" in note]
    assert "up to 4 groups" in note
    assert isinstance(release, FrequencyRelease)
    assert release.distinct().value == pytest.approx(sum(SIZES.values()), rel=0.15)


def test_strong_noise_is_warned_of(tmp_path: Path) -> None:
    data = opened(tmp_path)
    release = data.frequencies("group", bound=1, buckets=40_000, spend=hc.Budget(epsilon="0.1"))
    assert any(note.startswith("Warning") for note in release.release().facts.notes)


def test_too_few_buckets_are_said_so_and_nothing_is_lost(tmp_path: Path) -> None:
    release = opened(tmp_path).frequencies(
        "group", bound=1, buckets=1_000, spend=hc.Budget(epsilon=10)
    )
    notes = release.release().facts.notes
    assert any("Use more buckets" in note for note in notes)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"method": "laplace"}, "buckets="),
        ({"method": "guess"}, "method"),
        ({"buckets": 10, "groups": [1]}, "not both"),
        ({"buckets": 10, "method": "central"}, "no buckets"),
        ({"at_most": 5, "groups": [1]}, "at_most"),
        ({"at_most": 0}, "at_most"),
        ({"bound": 0}, "bound"),
        ({"buckets": 1}, "buckets"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(
    settings: dict[str, object], words: str, tmp_path: Path
) -> None:
    data = opened(tmp_path)
    with pytest.raises(hc.UsageError, match=words):
        data.frequencies("group", **{"spend": "1", **settings})  # type: ignore[arg-type]
    assert data.account.spent.rho == 0


@pytest.mark.parametrize("bound", [None, 1, 3])
def test_the_charge_is_no_more_than_the_spend(bound: int | None, tmp_path: Path) -> None:
    data = opened(tmp_path)
    spend = hc.Budget(rho="0.01")
    plan = data.frequencies("group", bound=bound, spend=spend)
    assert 0.0099 < float(plan.spend.rho) <= 0.01
    assert plan.spend.delta == 0
    plan.release()
    assert float(data.account.spent.rho) == pytest.approx(float(plan.spend.rho), abs=1e-11)


def test_the_picture(tmp_path: Path) -> None:
    release = opened(tmp_path).frequencies("group", bound=1, spend=hc.Budget(epsilon=10)).release()
    drawn = release.plot(tmp_path / "f.svg").read_text()
    assert "frequency of frequencies" in drawn
    assert "groups with exactly that count" in drawn


def test_from_a_shell(tmp_path: Path, demo_file: Path, headcount_command: str) -> None:
    ran = subprocess.run(
        [
            *(headcount_command, "frequencies", str(demo_file), "--user", "user_id"),
            *(
                "--by",
                "page",
                "--ledger",
                str(tmp_path / "l.db"),
                "--epsilon",
                "4",
                "--budget",
                "4",
            ),
            *("--out", str(tmp_path / "f.csv"), "--plot", str(tmp_path / "f.svg")),
        ],
        capture_output=True,
        text=True,
        check=True,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert "Expected error" in ran.stdout
    assert (tmp_path / "f.csv").read_text().startswith('"count","groups","or_more"')
    assert (tmp_path / "f.svg").exists()
