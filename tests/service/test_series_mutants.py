"""Series that are broken in one place each: what the other tests look at must tell them apart."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.service.series_world import FILE, World

import headcount as hc
from headcount.series import due as due_module
from headcount.series import files, paid, renamed, series

UNTIL = "2026-03-04"
ONE = FILE.partition("  total:")[0]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Three days, of which the second has no rows."""
    monkeypatch.setenv("HEADCOUNT_HEADS", str(tmp_path / "heads"))
    made = World(tmp_path, None)  # type: ignore[arg-type]
    made.write(ONE)
    for number, users in enumerate([range(300), [], range(300)]):
        made.day(number, users)
    return made


def days_are_released_once(world: World) -> None:
    """An empty day as any other; late rows and edits change nothing; files come back."""
    assert run(world) == [f"pages/2026-03-0{day}" for day in (2, 3, 4)]
    before, entries = world.files(), len(world.ledger().journal())
    world.day(0, range(600))
    world.write(ONE.replace("bound: 10", "bound: 2").replace("rho: 0.010", "rho: 0.001"))
    world.forget_files()
    assert run(world) == []
    assert (world.files(), len(world.ledger().journal())) == (before, entries)


def run(world: World) -> list[str]:
    ran = hc.Series(world.folder / "releases.yaml").run(until=UNTIL)
    assert ran.exit_code in (0, 7), ran
    return ran.released


def skips_empty_days(patch: pytest.MonkeyPatch) -> None:
    real = due_module.due

    def due(file: Any, *given: Any) -> list[Any]:
        return [one for one in real(file, *given) if str(one.window) != "2026-03-03"]

    patch.setattr(series, "due", due)


def draws_again_for_a_file_that_is_gone(patch: pytest.MonkeyPatch) -> None:
    real = due_module._with_state

    def with_state(file: Any, one: Any, charges: Any, now: Any) -> Any:
        found = real(file, one, charges, now)
        if found.state is not due_module.State.WRITE:
            return found
        return replace(found, state=due_module.State.DRAW, paid=None, revision=2)

    patch.setattr(due_module, "_with_state", with_state)


def names_windows_by_what_was_asked(patch: pytest.MonkeyPatch) -> None:
    """A key with a digest of the definition: each edit makes other windows of the past."""

    def due(file: Any, known: Any, *given: Any) -> list[Any]:
        bound = file.releases[0].arguments["bound"]
        name = f"pages-{bound}"
        told = replace(file, releases=(replace(file.releases[0], name=name),))
        return real(told, known, *given)

    real = due_module.due
    patch.setattr(series, "due", due)
    patch.setattr(series, "refused", lambda *_, **__: {})


def reads_rows_of_now_for_what_is_stored(patch: pytest.MonkeyPatch) -> None:
    real, count = files.write_rows, [0]

    def write_rows(path: Path, release: Any) -> None:
        count[0] += 1
        real(path, release)
        if count[0] > 3:  # what is written again has a mark of its time
            path.write_bytes(path.read_bytes() + bytes([count[0]]))

    patch.setattr(series, "write_rows", write_rows)


MUTANTS = (
    skips_empty_days,
    draws_again_for_a_file_that_is_gone,
    names_windows_by_what_was_asked,
    reads_rows_of_now_for_what_is_stored,
)


def test_days_are_released_once_as_shipped(world: World) -> None:
    days_are_released_once(world)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.__name__)
def test_a_broken_series_is_caught(
    mutant: Callable[[pytest.MonkeyPatch], None], world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    with pytest.raises((AssertionError, hc.HeadcountError)):
        days_are_released_once(world)


def test_a_rename_that_is_let_pay_again_is_caught(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(run(world)) == 3
    world.write(ONE.replace("pages:", "seiten:").replace("rho: 0.010", "rho: 0.001"))
    with pytest.raises(AssertionError, match="seiten has released nothing so far"):
        run(world)
    monkeypatch.setattr(renamed, "_renamed", lambda *_: None)
    assert run(world) == [f"seiten/2026-03-0{day}" for day in (2, 3, 4)], "it would pay again"


def test_a_file_that_is_written_in_its_place_is_seen_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a file is written, readers find the old one or the new one."""
    place, seen = tmp_path / "rows.parquet", set[bytes]()
    files.write_atomically(place, b"old rows")
    sync = os.fsync

    def look(handle: int) -> None:
        seen.add(place.read_bytes())
        sync(handle)

    monkeypatch.setattr(os, "fsync", look)
    files.write_atomically(place, b"new rows")
    assert seen == {b"old rows", b"new rows"}
    seen.clear()
    with place.open("wb", buffering=0) as file:  # the control: in its place
        file.write(b"half")
        look(file.fileno())
        file.write(b"of it")
    assert b"half" in seen


def test_keys_hold_no_digest() -> None:
    assert paid.key_of("pages", date(2026, 3, 2)) == "pages/2026-03-02"
