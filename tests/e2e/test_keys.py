"""A job that repeats its question under its key is shown the same rows, whatever others draw."""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.cli.main import main
from headcount.errors import EngineError, KeyReusedError, UsageError


@pytest.fixture
def data(tmp_path: Path) -> hc.Dataset:
    path = tmp_path / "events.parquet"
    pq.write_table(pa.table({"user": range(2000), "group": ["a"] * 2000}), path)
    budget = hc.Budget(rho=9, delta=1e-6)
    return hc.open(path, user="user", budget=budget, ledger=tmp_path / "ledger.db")


def plan_of(data: hc.Dataset, *groups: str) -> Any:
    return data.count_users("group", groups=groups or ("a",), spend=hc.Budget(rho=1))


def test_a_key_of_an_answered_question_shows_the_same_rows_for_ever(data: hc.Dataset) -> None:
    plan = plan_of(data)
    first = plan.release()
    job = plan.release(key="job")
    assert job.to_bytes() == first.to_bytes()
    fresh = plan.release(fresh=True)
    assert plan.release(key="job").to_bytes() == job.to_bytes()
    assert plan.release(key="another").to_bytes() == job.to_bytes()
    assert plan.release().to_bytes() == fresh.to_bytes(), "without a key: the newest"
    assert data.account.spent.rho == 2


def test_a_job_of_every_night_asks_afresh_under_its_own_key(
    data: hc.Dataset, tmp_path: Path
) -> None:
    """Each night has the rows of its night, and a night that is repeated costs nothing."""
    night, opened = 2000, data
    for key in ("night-1", "night-2", "night-3"):
        draft = tmp_path / "draft.parquet"
        pq.write_table(pa.table({"user": range(night), "group": ["a"] * night}), draft)
        draft.replace(tmp_path / "events.parquet")
        first, repeated = (plan_of(opened).release(key=key, fresh=True) for _ in range(2))
        opened = hc.open(tmp_path / "events.parquet", user="user", ledger=tmp_path / "ledger.db")
        assert first.to_bytes() == repeated.to_bytes()
        assert abs(first.to_arrow()["count"][0].as_py() - night) < 50
        night += 1000
    assert opened.account.spent.rho == 3


def test_it_says_that_the_key_was_not_used_and_which_one_was(data: hc.Dataset) -> None:
    plan = plan_of(data)
    first = plan.release()
    assert "was not used" not in str(plan.release().again)
    assert "was not used" not in str(plan.release(key=first.key).again)
    job = plan.release(key="job")
    assert job.key == first.key
    assert "The key 'job' was not used: this question was first charged under the key " in str(
        job.again
    )
    again = re.findall(r"again='(\w+)'", str(job.again))
    plan.release(fresh=True)
    assert plan.release(again=again[0]).to_bytes() == job.to_bytes()
    with pytest.raises(UsageError, match="No key begins with 'job'"):
        plan.release(again="job")


def test_a_key_that_paid_keeps_its_rows(data: hc.Dataset) -> None:
    plan = plan_of(data)
    job = plan.release(key="job")
    plan.release(fresh=True)
    assert plan.release(key="job").to_bytes() == job.to_bytes()
    assert job.key == plan.release(key="job").key == "job"
    with pytest.raises(KeyReusedError):
        plan_of(data, "a", "b").release(key="job")


def cut_short(plan: Any, **said: Any) -> None:
    def stop(stage: str) -> None:
        if "stored" not in stage and "charging" not in stage:
            raise RuntimeError

    with pytest.raises((EngineError, RuntimeError)):
        plan.release(progress=stop, **said)


def test_what_was_cut_short_is_drawn_again_by_whoever_asks_for_it(
    data: hc.Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    plan = plan_of(data)
    cut_short(plan)
    with caplog.at_level(logging.WARNING, "headcount"):
        job = plan.release(key="job")
    assert "The key 'job' was not used" in caplog.text
    cut_short(plan, fresh=True)
    newest = plan.release()
    assert newest.entry > job.entry, "the newest, also if it was cut short"
    assert plan.release(key="job").to_bytes() == job.to_bytes()
    assert data.account.spent.rho == 2


def test_the_command_says_so_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(pa.table({"user": range(2000), "group": ["a"] * 2000}), path)

    def shown(*more: str) -> str:
        command = ["headcount", "count-users", str(path), "--user", "user", "--by", "group"]
        command += ["--epsilon", "1", "--budget", "9", "--ledger", str(tmp_path / "ledger.db")]
        monkeypatch.setattr(sys, "argv", [*command, *more])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert ended.value.code in (None, 0), said.err
        return said.out

    (key,) = re.findall(r"^key (\w+)$", shown(), re.MULTILINE)
    said = shown("--key", "job")
    assert f"The key 'job' was not used: this question was first charged under the key '{key}'" in (
        said
    )
    assert f"--again {key} shows these rows" in said
    assert re.findall(r"^key (\w+)$", shown(f"--again={key}"), re.MULTILINE) == [key]
