"""The ways that verbs are tried: every branch that a method can take is taken by one of them."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from headcount.audit.verdict import any_violated
from headcount.releases import choices
from headcount.releases.count_users import adaptive, long_list
from headcount.trials import verb_plants, verbs, ways
from headcount.trials.taped import as_shipped, taped

ADD_REMOVE = verbs.ADD_REMOVE


@pytest.fixture(scope="module")
def methods_taken() -> dict[str, tuple[str, str]]:
    """For each way to count users, the method that was planned and the one that was taken."""
    methods = {}
    for way in ways.VERBS:
        if way.startswith("count_users"):
            base, *_ = ways.tables_of(way, ADD_REMOVE)
            one = taped(base, way, ADD_REMOVE, None, as_shipped)
            methods[way] = (one.plan.method, json.loads(one.left["facts"])["method"])
    return methods


@pytest.mark.parametrize(
    ("auto", "branches"),
    [(adaptive.AUTO, adaptive.METHODS), (long_list.AUTO, long_list.METHODS)],
    ids=["found", "listed"],
)
def test_auto_takes_each_of_its_branches(
    auto: str, branches: dict[str, str], methods_taken: dict[str, tuple[str, str]]
) -> None:
    assert {method for planned, method in methods_taken.values() if planned == auto} == set(
        branches.values()
    )


def test_what_is_said_in_one_branch_alone_is_heard_on_no_other_way() -> None:
    """So a way that no longer takes the branch would let it by."""
    with verb_plants.groups_of_the_few():
        assert not any_violated(verbs.findings_of("count_users, auto"))
        assert any_violated(verbs.findings_of("count_users, auto, few users"))


METHODS = {
    "count_users": choices.UsersMethod,
    "count_events": choices.EventsMethod,
    "distribution": choices.SharesMethod,
    "quantiles": choices.QuantilesMethod,
    "count_ranges": choices.RangesMethod,
    "frequencies": choices.FrequenciesMethod,
}
AT_ONCE = {("distribution", "dense"), ("distribution", "sparse")}
"""One charge pays for choices in all groups: their own trials know how these add up."""


def test_every_method_and_every_value_of_a_user_has_a_way() -> None:
    asked = {(way.split(",")[0], said.get("method")) for way, said in ways.VERBS.items()}
    stated = {(verb, one) for verb, of in METHODS.items() for one in get_args(of)}
    assert {one for one in stated - asked if one[1] != "auto"} == AT_ONCE
    assert {said.get("per_user") for said in ways.VERBS.values()} >= {*get_args(choices.PerUser)}
