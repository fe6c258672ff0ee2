"""The ways that verbs are tried: every branch that a method can take is taken by one of them."""

from __future__ import annotations

import json

import pytest

from headcount.audit.verdict import any_violated
from headcount.releases.count_users import adaptive, long_list
from headcount.trials import verb_plants, verbs, ways

ADD_REMOVE = verbs.ADD_REMOVE


@pytest.fixture(scope="module")
def taken() -> dict[str, tuple[str, str]]:
    """For each way to count users, the method that was planned and the one that was taken."""
    methods = {}
    for way in ways.VERBS:
        if way.startswith("count_users"):
            base, _ = ways.tables_of(way, ADD_REMOVE)
            taped = verbs.taped(base, way, ADD_REMOVE, None, verbs.as_shipped)
            methods[way] = (taped.plan.method, json.loads(taped.left["facts"])["method"])
    return methods


@pytest.mark.parametrize(
    ("auto", "branches"),
    [(adaptive.AUTO, adaptive.METHODS), (long_list.AUTO, long_list.METHODS)],
    ids=["found", "listed"],
)
def test_auto_takes_each_of_its_branches(
    auto: str, branches: dict[str, str], taken: dict[str, tuple[str, str]]
) -> None:
    assert {method for planned, method in taken.values() if planned == auto} == set(
        branches.values()
    )


def test_what_is_said_in_one_branch_alone_is_heard_on_no_other_way() -> None:
    """So a way that no longer takes the branch would let it by."""
    with verb_plants.groups_of_the_few():
        assert not any_violated(verbs.findings_of("count_users, auto"))
        assert any_violated(verbs.findings_of("count_users, auto, few users"))
