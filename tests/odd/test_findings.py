"""What was charged in vain in 0.1.0: each finding by its number, as it was found."""

from __future__ import annotations

import os
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.odd.commands import Ended, run

import headcount as hc
from headcount.ledger.ledger import Ledger

SPEND = hc.Budget(rho=1, delta="1e-7")


def table() -> pa.Table:
    n = 3_000
    text = {name: [f"{name}{i % 5}" for i in range(n)] for name in ("page", "count", "low", "sd")}
    return pa.table({"user_id": np.arange(n) % 1000, "x": np.arange(n) % 50, **text})


def opened(folder: Path) -> Any:
    return hc.open(
        table(), user="user_id", account="web", budget=hc.Budget(rho=1000, delta="0.1"),
        ledger=Ledger(folder / "l.db"),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["count", "low", "high", "sd"])
@pytest.mark.parametrize("verb", ["count_users", "count_events", "distribution"])
def test_d7_a_column_named_like_ours_is_refused(verb: str, name: str, tmp_path: Path) -> None:
    name = "share" if verb == "distribution" and name == "count" else name
    data = opened(tmp_path)
    with pytest.raises(hc.UsageError, match="Rename it in the table"):
        getattr(data, verb)(["page", name], spend=SPEND)
    assert data.ledger.entries("web") == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"top": 1.5}, "top must be a whole number"),
        ({"top": True}, "top must be a whole number"),
        ({"bound": True}, "bound must be a whole number"),
        ({"bound": "2"}, "bound must be a whole number"),
        ({"groups": "page1"}, "groups must be a list"),
        ({"groups": (name for name in ["page1"])}, "groups must be a list"),
        ({"groups": []}, "not an empty one"),
        ({"within": "a"}, "within must be a number"),
        ({"spend": 1}, "spend must be a Budget, or a share"),
        ({"method": ["auto"]}, "method must be one of"),
    ],
)
def test_d7_a_wrong_argument_is_refused_with_what_to_write(
    arguments: dict[str, Any], says: str, tmp_path: Path
) -> None:
    data = opened(tmp_path)
    with pytest.raises(hc.UsageError, match=says) as refused:
        data.count_users("page", **{"spend": SPEND, **arguments})
    assert "Write " in str(refused.value)
    assert str(refused.value).endswith("Nothing was charged.")
    assert data.ledger.entries("web") == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"within": Decimal("0.2")},
        {"within": Fraction(1, 5)},
        {"within": np.float32(0.2)},
        {"bound": np.int64(3)},
        {"groups": pd.Series(["page1", "page2"])},
        {"groups": np.array(["page1", "page2"])},
        {"groups": pa.array(["page1", "page2"])},
    ],
)
def test_d7_numbers_and_lists_of_other_libraries_are_taken(
    arguments: dict[str, Any], tmp_path: Path
) -> None:
    data = opened(tmp_path)
    data.count_users("page", spend=SPEND, **arguments).release()
    (entry,) = data.ledger.entries("web")
    assert entry.has_result


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADCOUNT_LEDGER", str(tmp_path / "l.db"))
    monkeypatch.setenv("HEADCOUNT_HEADS", str(tmp_path / "heads"))
    pq.write_table(table(), tmp_path / "t.parquet")
    (tmp_path / "hard.parquet").hardlink_to(tmp_path / "t.parquet")
    (tmp_path / "soft.parquet").symlink_to(tmp_path / "t.parquet")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "ledger.csv").symlink_to(tmp_path / "l.db")
    return tmp_path


def count(folder: Path, *options: str) -> Ended:
    return run(
        ["count-users", "t.parquet", "--user=user_id", "--by=page", "--account=web", *options],
        folder,
    )


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--out=x.json", "ends in .parquet or .csv"),
        ("--out=nowhere/x.csv", "folder that does not exist"),
        ("--out=folder.csv", "is a folder"),
        ("--out=/proc/x.csv", "cannot be written"),
        ("--plot=x.gif", "ends in .svg or .png or .html"),
        ("--plot=nowhere/x.svg", "folder that does not exist"),
        ("--out=t.parquet", "the same file"),
        ("--out=./soft.parquet", "the same file"),
        ("--out=hard.parquet", "the same file"),
        ("--out=ledger.csv", "the same file"),
    ],
)
def test_d7_an_output_that_cannot_be_is_refused_before_the_charge(
    option: str, says: str, folder: Path
) -> None:
    assert run(["ledger", "open", "web", "--epsilon=9", "--covers=t.parquet"], folder).code == 0
    source = (folder / "t.parquet").read_bytes()
    ended = count(folder, "--epsilon=1", option)
    assert (ended.code, says in ended.err) == (2, True), ended.err
    assert Ledger(folder / "l.db").entries("web") == []
    assert (folder / "t.parquet").read_bytes() == source
    assert not list(folder.glob(".headcount-*"))


def test_d7_a_picture_without_its_libraries_is_refused_before_the_charge(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert run(["ledger", "open", "web", "--epsilon=9", "--covers=t.parquet"], folder).code == 0
    ended = count(folder, "--epsilon=1", "--plot=x.svg")
    assert ended.code == 2
    assert "headcount[plots]" in ended.err
    assert Ledger(folder / "l.db").entries("web") == []


def test_d7_a_disk_that_fills_up_after_the_charge_loses_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headcount.results import output as output_module

    (folder / "x.csv").write_text("as it was", encoding="utf-8")

    def full(_draft: Path) -> None:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patched:
        patched.setattr(output_module, "_flush", full)
        ended = count(folder, "--epsilon=1", "--budget=9", "--out=x.csv")
    assert ended.code == 7, ended.err
    assert "the disk is full" in ended.err
    assert "entry" in ended.err
    assert "Traceback" not in ended.err
    assert (folder / "x.csv").read_text(encoding="utf-8") == "as it was"
    assert not list(folder.glob(".headcount-*"))
    assert len(Ledger(folder / "l.db").entries("web")) == 1
    assert "The same command shows them again, free." in ended.err
    again = count(folder, "--epsilon=1", "--out=x.csv")
    assert again.code == 0, again.err
    assert len(Ledger(folder / "l.db").entries("web")) == 1
    assert (folder / "x.csv").read_text(encoding="utf-8").startswith('"page","count"')


def test_d7_a_result_too_large_to_store_is_refused(tmp_path: Path) -> None:
    data = opened(tmp_path)
    long = ["x" * 1_000_000 + str(number) for number in range(200)]
    with pytest.raises(hc.UsageError, match="List fewer groups"):
        data.count_users("page", groups=long, spend=SPEND)
    with pytest.raises(hc.UsageError, match="1 to 1,048,576 items"):
        data.count_users("page", groups=range(1 << 21), spend=SPEND)


VERBS: dict[str, Any] = {
    "count_users": lambda data, **said: data.count_users("page", **said),
    "count_events": lambda data, **said: data.count_events("page", **said),
    "distribution": lambda data, **said: data.distribution("page", **said),
    "profile": lambda data, **said: data.profile("page", **said),
    "quantiles": lambda data, **said: data.quantiles("x", bounds=(0, 50), **said),
    "count_ranges": lambda data, **said: data.count_ranges("x", [0, 10, 50], **said),
    "frequencies": lambda data, **said: data.frequencies("page", **said),
}


@pytest.mark.parametrize("verb", VERBS)
def test_d8_nothing_takes_what_is_left_by_silence(verb: str, tmp_path: Path) -> None:
    data = opened(tmp_path)
    with pytest.raises(hc.UsageError, match="spend='1/10'"):
        VERBS[verb](data)
    assert data.account.spent.rho == 0


@pytest.mark.parametrize("verb", VERBS)
def test_d8_a_share_is_of_the_whole_limit_and_ten_tenths_fit(verb: str, tmp_path: Path) -> None:
    data = opened(tmp_path)
    limit = data.account.limit
    first, second = (VERBS[verb](data, spend=share) for share in ("1/10", Fraction(1, 10)))
    assert first.spend == second.spend
    assert Fraction(99, 1000) * limit.rho <= first.spend.rho <= limit.rho / 10
    assert first.spend.delta <= limit.delta / 10
    first.release()
    assert VERBS[verb](data, spend="1/10").spend == first.spend  # not a tenth of what is left
    with pytest.raises(hc.BudgetError):
        VERBS[verb](data, spend="1")
    for wrong in ("0", "2", "11/10", "1/0", "0.1", "-1/2", "10%", Fraction(0), Fraction(3, 2), 0.1):
        with pytest.raises(hc.UsageError, match="a share p/q"):
            VERBS[verb](data, spend=wrong)


def test_d8_a_command_says_what_it_spends(folder: Path) -> None:
    assert run(["ledger", "open", "web", "--epsilon=9", "--covers=t.parquet"], folder).code == 0
    silent = count(folder)
    assert (silent.code, "--spend 1/10" in silent.err) == (2, True), silent.err
    both = count(folder, "--epsilon=1", "--spend=1/10")
    assert both.code == 2
    done = count(folder, "--spend=1/10")
    assert done.code == 0, done.err
    (entry,) = Ledger(folder / "l.db").entries("web")
    assert entry.spend.rho <= Ledger(folder / "l.db").account("web").limit.rho / 10
