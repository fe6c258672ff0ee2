"""What is asked of listed groups: one user moves every difference by one, and all users by one."""

from __future__ import annotations

from typing import Any

import ibis
import pyarrow as pa
import pytest

from headcount.contributions import read
from headcount.contributions.listed_users import ListedUsers
from headcount.contributions.store import Store
from headcount.tables import open_table

GROUPS = ["b", "a", "nobody's", None]
ROWS = [(1, "a"), (1, "a"), (1, "b"), (2, "b"), (3, None), (4, "other"), (None, "a")]


def asked(rows: list[tuple[int | None, str | None]]) -> tuple[list[int], int]:
    table = pa.table({"u": [u for u, _ in rows], "g": [g for _, g in rows]})
    opened = open_table(table, user="u")
    listed = ListedUsers(opened, "g", GROUPS, Store(opened.engine))
    names = listed.every_name()["g"].to_pylist()
    differences = dict(zip(names, listed.differences.ask().tolist(), strict=True))
    assert len(differences) == len(GROUPS)
    return [differences[name] for name in GROUPS], int(listed.users.ask()[0])


def test_twice_the_users_of_a_group_less_those_of_any() -> None:
    assert asked(ROWS) == ([2 * 2 - 3, 2 * 1 - 3, -3, 2 * 1 - 3], 3)


def test_nobody() -> None:
    assert asked([(7, "other")]) == ([0, 0, 0, 0], 0)


@pytest.mark.parametrize("mine", [["a"], ["a", "b", "nobody's", None], ["a", "a", "other"]])
def test_one_user_moves_all_by_one(mine: list[str | None]) -> None:
    before, n_before = asked(ROWS)
    after, n_after = asked([*ROWS, *((9, group) for group in mine)])
    assert n_after - n_before == 1
    moved = [b - a for a, b in zip(before, after, strict=True)]
    assert moved == [1 if group in mine else -1 for group in GROUPS]


def test_a_user_of_other_groups_moves_nothing() -> None:
    assert asked([*ROWS, (9, "other")]) == asked(ROWS)


def test_rows_that_are_deleted_meanwhile_move_no_difference_by_two(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def differences(*, deletes: bool) -> list[int]:
        connection = ibis.duckdb.connect()
        connection.raw_sql("create table t as select range u, 'a' g from range(3)")
        opened = open_table(connection.table("t"), user="u")
        listed = ListedUsers(opened, "g", ["a", "b"], Store(opened.engine))

        def read_then_delete(*asked: Any) -> pa.Table:
            read_before = whole_table(*asked)
            if deletes:
                connection.raw_sql("delete from t where u = 2")
            return read_before

        whole_table = read.table
        monkeypatch.setattr(read, "table", read_then_delete)
        answer = listed.differences.ask().tolist()
        monkeypatch.undo()
        return [int(each) for each in answer]

    assert differences(deletes=True) == differences(deletes=False) == [3, -3]
