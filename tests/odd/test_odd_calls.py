"""Odd calls of everything there is: refused with a fix, or a result; never a charge for nothing.

``HEADCOUNT_ODD_CALLS`` says how many; three in four from Python, the others as commands.
"""

from __future__ import annotations

import os
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.odd import commands
from tests.odd.python_calls import (
    is_slow,
    some_ledger_call,
    some_opening,
    some_stream_call,
    some_verb,
    some_word,
)

import headcount as hc
from headcount.ledger.ledger import Ledger

N_CALLS = int(os.environ.get("HEADCOUNT_ODD_CALLS", "500"))
N_PARTS = 5
FIX = re.compile(
    r"Write |Nothing was|must |Give |Choose |Rename |rename|Say |say |Make |Take |Run: |leave |use "
    r"|Use |List |There is no |needs |has no |Add |cannot |can |may ",
)
CODES = (0, 1, 2, 3, 4, 7)


def table() -> pa.Table:
    n = 900
    return pa.table(
        {
            "user": np.repeat(np.arange(n // 3), 3),
            "group": [f"g{i % 7}" for i in range(n)],
            "x": np.arange(n) % 50,
            "f": np.arange(n) * 0.37,
            "count": ["c"] * n,
            "true_total": ["t"] * n,
        }
    )


@pytest.fixture
def data(tmp_path: Path) -> Any:
    return hc.open(
        table(), user="user", account="web", budget=hc.Budget(rho=10**6, delta="0.5"),
        ledger=Ledger(tmp_path / "l.db", heads=tmp_path / "heads"),
    )  # fmt: skip


def charges(ledger: Ledger) -> dict[int, bool]:
    """All charges of the ledger, and whether each has its result."""
    return {
        entry.sequence: entry.has_result
        for account in ledger.accounts()
        for entry in ledger.entries(account.name)
    }


def refused(call: Any, what: str) -> bool:
    """Whether a call was refused in our own words; any other exception is the test's."""
    try:
        call()
    except hc.EngineError:
        raise AssertionError(f"charged and failed: {what}") from None
    except hc.HeadcountError as error:
        said = str(error)
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {what}: {error}") from error
    else:
        return False
    assert FIX.search(said), f"no fix: {what}: {said}"
    assert len(said) < 3_000, f"too long: {what}"
    return True


def spelled(verb: str, arguments: dict[str, Any]) -> str:
    parts = []
    for name, value in arguments.items():
        try:
            parts.append(f"{name}={str(value)[:40]!r}")
        except Exception:
            parts.append(f"{name}=<{type(value).__name__}>")
    return f"{verb}({', '.join(parts)})"


@pytest.mark.parametrize("part", range(N_PARTS))
def test_odd_calls_of_verbs_are_refused_or_have_a_result(part: int, data: Any) -> None:
    ledger, released = data.ledger, 0
    for number in range(N_CALLS // 2 // N_PARTS):
        chooser = random.Random(f"verbs {part} {number}")
        verb, arguments = some_verb(chooser)
        if is_slow(arguments):
            continue
        before, what = charges(ledger), spelled(verb, arguments)
        if refused(lambda: getattr(data, verb)(**arguments).release(fresh=True), what):  # noqa: B023
            assert charges(ledger) == before, f"charged and refused: {what}"
        else:
            new = {key: good for key, good in charges(ledger).items() if key not in before}
            assert list(new.values()) == [True], f"not one charge with its result: {what}"
            released += 1
    assert released, "everything was refused, and little was tried"


def test_odd_openings_budgets_cuts_and_ledgers(data: Any) -> None:
    for number in range(N_CALLS // 4):
        chooser = random.Random(f"openings {number}")
        call = chooser.choice(
            [
                some_word(chooser),
                some_opening(chooser, table(), data.ledger),
                some_ledger_call(chooser, data.ledger),
            ]
        )
        refused(call, f"opening {number}")
    assert charges(data.ledger) == {}


def test_odd_calls_of_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    n_refused = 0
    for number in range(N_CALLS // 2):
        chooser = random.Random(f"streams {number}")
        n_refused += refused(some_stream_call(chooser, tmp_path), f"stream {number}")
    assert N_CALLS // 6 < n_refused < N_CALLS // 2


def test_odd_keys_and_stages_are_refused_before_the_charge(data: Any) -> None:
    plan = data.profile("group", spend="1/1000000")
    for key in (3, "", b"k", "a\x00b", "k" * 3000, ["k"], True):
        assert refused(lambda key=key: plan.release(key=key), f"key {key!r}"[:80])
    for progress in (3, "print", [print]):
        assert refused(lambda it=progress: plan.release(progress=it), f"progress {progress!r}")
    assert charges(data.ledger) == {}


@pytest.mark.parametrize("part", range(2))
def test_odd_commands_end_in_words_and_a_code_that_means_it(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADCOUNT_LEDGER", str(tmp_path / "l.db"))
    monkeypatch.setenv("HEADCOUNT_HEADS", str(tmp_path / "heads"))
    pq.write_table(table(), tmp_path / "ok.parquet")
    (tmp_path / "groups.txt").write_text("g1\ng2\n", encoding="utf-8")
    commands.run(["stream", "new", "ok.state", "--buckets=4", "--epsilon=1"], tmp_path)
    commands.run(["ledger", "open", "web", "--epsilon=1000", "--covers=ok.parquet"], tmp_path)
    ledger, source = Ledger(tmp_path / "l.db"), (tmp_path / "ok.parquet").read_bytes()
    for number in range(N_CALLS // 8):
        chooser = random.Random(f"commands {part} {number}")
        arguments = commands.some_command(chooser)
        before = charges(ledger)
        ended = commands.run(arguments, tmp_path)
        new = {key: good for key, good in charges(ledger).items() if key not in before}
        what = f"{[word[:60] for word in arguments]}: {ended.code} {ended.err[-300:]}"
        assert ended.code in CODES, what
        assert "Traceback" not in ended.err, what
        assert all(new.values()), f"a charge without its result: {what}"
        assert not new or ended.code in (0, 7), f"charged, and a code that says it was not: {what}"
        assert ended.code == 0 or ended.err, what
        assert (tmp_path / "ok.parquet").read_bytes() == source, what
