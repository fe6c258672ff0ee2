"""What reads private rows is the ``ask`` of a question, and all of it is listed here."""

from __future__ import annotations

import ast
from functools import cache

import pytest
from tests.rules.source import NAMES, READ, Package, is_at, modules, name_of

EVERY_NAME = {
    "contributions/group_totals.py": "it is made here",
    "releases/rows.py": "in draw_known, for groups that are on a public list",
    "contributions/listed_users.py": "for groups that are on a public list",
    "releases/count_users/listed.py": "the same",
    "releases/count_users/long_list.py": "the same",
    "contributions/pairs.py": "for positions that are released, once the counts were asked",
    "trials/": "an auditor may look",
}
READERS = {
    "bound_losses.py": {"_losses", "_summed", "_kept_by_noise"},
    "distribution/shares.py": {
        "UserShares._counts_by_group",
        "UserShares._floored_totals",
        "Residuals._users_beyond",
        "Residuals._clipped",
        "Residuals._kept",
    },
    "pairs.py": {"Pairs.largest.ask", "Pairs._padded", "Pairs._count_of_other"},
    "equal_error/known.py": {
        "KnownPairs._true_counts",
        "KnownPairs._by_index",
        "KnownPairs._class_totals",
        "KnownPairs._users_by_loss",
        "KnownPairs._totals_of",
        "KnownPairs._taken_away",
    },
    "equal_error/levels.py": {"_lost", "_sized", "_lower"},
    "events.py": {"Events._weight_curve", "Events._clipped_off", "_users_of"},
    "far.py": {"_far_beyond"},
    "frequencies.py": {"_runs", "true_frequencies.n_groups"},
    "group_totals.py": {"GroupTotals._ask", "GroupTotals.names", "GroupTotals.every_name"},
    "listed_pairs.py": {"ListedPairs._weighed"},
    "listed_users.py": {"ListedUsers._asked"},
    "profile.py": {"_counted"},
    "sampled_values.py": {"Values._sampled"},
    "tally.py": {"Tally.parts"},
    "values.py": {"_counted"},
}
"""All that reads private rows, by the module in ``contributions`` beside ``read.py``."""


@cache
def contributions() -> Package:
    sources = modules("contributions/")
    return Package.of({path: source for path, source in sources.items() if path != READ})


def test_what_reads_is_what_is_listed() -> None:
    listed = {f"contributions/{file}:{name}" for file, names in READERS.items() for name in names}
    assert {one.where for one in contributions().readers} == listed


def test_what_reads_is_the_ask_of_a_question() -> None:
    package = contributions()
    assert not package.wrong()
    for one in package.readers:
        if not one.gives_questions and one.where not in NAMES:
            assert package.asked_by(one), one.where


def test_names_of_all_groups_are_for_public_lists() -> None:
    for path, source in modules().items():
        named = any(name_of(node) == "every_name" for node in ast.walk(ast.parse(source)))
        assert not named or is_at(path, EVERY_NAME), path


HEADER = "from headcount.contributions import read\n"
ASTRAY = {
    "a public function that reads": "def totals(e, q) -> Integers:\n    return read.one_row(e, q)",
    "one that says nothing of what it gives": "def totals(e, q):\n    return read.one_row(e, q)",
    "numbers beside a question": (
        "def both(e, q) -> tuple[Integers, Query[Integers]]:\n"
        "    return read.one_row(e, q), Query(far, partial(read.one_row, e, q))"
    ),
    "by way of a private one": (
        "def _sums(e, q):\n    return read.one_row(e, q)\n"
        "def totals(e, q) -> Integers:\n    return _sums(e, q)"
    ),
    "by way of a method": (
        "class Rows:\n    def _sums(self):\n        return read.one_row(self.e, self.q)\n"
        "    def totals(self) -> Integers:\n        return self._sums() + 1"
    ),
    "by way of a property": (
        "class Rows:\n    @cached_property\n    def _sums(self):\n"
        "        return read.one_row(self.e, self.q)\n"
        "    def totals(self) -> Integers:\n        return self._sums + 1"
    ),
    "by way of a variable": (
        "def totals(e, q) -> Integers:\n    ask = partial(read.one_row, e, q)\n    return ask()"
    ),
    "by running the query": "def totals(e, q) -> list:\n    return list(e.stream(q, schema))",
    "by asking": "def totals(q) -> Integers:\n    return q.ask()",
    "by asking for less noise": "def totals(q) -> Integers:\n    return q.answer(q.sensitivity)",
    "by opening what was read": "def totals(part) -> Table:\n    return part._read()",
    "a reader given away": "def later(e, q) -> Any:\n    return partial(read.one_row, e, q)",
    "a private reader given away": (
        "def _sums(e, q):\n    return read.one_row(e, q)\n"
        "def asked(e, q) -> Query[Integers]:\n    return Query(far, partial(_sums, e, q))\n"
        "def later(e, q) -> Any:\n    return partial(_sums, e, q)"
    ),
    "a reader that nobody asks": "def _sums(e, q):\n    return read.one_row(e, q)",
    "a function within one": (
        "def later(e, q) -> Any:\n    def sums():\n        return read.one_row(e, q)\n"
        "    return sums"
    ),
}


@pytest.mark.parametrize("planted", ASTRAY)
def test_numbers_that_leave_without_a_question_are_found(planted: str) -> None:
    assert Package.of({"contributions/planted.py": HEADER + ASTRAY[planted]}).wrong()


SOUND = {
    "put into a question": (
        "def totals(e, q) -> Query[Integers]:\n    return Query(far, partial(read.one_row, e, q))"
    ),
    "by way of a variable": (
        "def totals(e, q) -> GroupTotals:\n    ask = partial(read.table, e, q)\n"
        "    return GroupTotals(far, ask)"
    ),
    "by way of private ones": (
        "def _sums(e, q):\n    return read.one_row(e, q)\n"
        "def _twice(e, q):\n    return 2 * _sums(e, q)\n"
        "def totals(e, q) -> tuple[Query[int], ...]:\n"
        "    return together(far, partial(_twice, e, q))"
    ),
    "asked within": (
        "def totals(q) -> Query[int]:\n    def ask():\n        return 2 * q.ask()\n"
        "    return Query(far, ask)"
    ),
}


@pytest.mark.parametrize("planted", SOUND)
def test_numbers_in_a_question_are_not_found(planted: str) -> None:
    assert not Package.of({"contributions/planted.py": HEADER + SOUND[planted]}).wrong()
