"""The short face of a plan: shares of the budget that add up, and lines that can be read."""

from __future__ import annotations

from fractions import Fraction

import pytest

from headcount.ledger.account import Account
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp
from headcount.releases.face import UNKNOWN, gist, percent, share_words

DELTA = Fraction(1, 10**6)


def account(rho: int, spent: Zcdp, delta: Fraction = DELTA) -> Account:
    return Account("a", Neighbours.ADD_REMOVE, Zcdp(Fraction(rho), delta), spent, 2 * DELTA)


@pytest.mark.parametrize(
    ("spent", "spend", "words"),
    [
        (0, 13, "13 % of the budget; about six more like this after it"),
        (50, 10, "10 % of the budget; about four more like this after it"),
        (0, 50, "50 % of the budget; about one more like this after it"),
        (50, 50, "50 % of the budget; no more like this after it"),
        (0, 100, "100 % of the budget; no more like this after it"),
        (0, 1, "1 % of the budget; about 99 more like this after it"),
    ],
)
def test_shares_add_up_and_what_is_left_is_counted(spent: int, spend: int, words: str) -> None:
    said = share_words(account(100, Zcdp(Fraction(spent))), Zcdp(Fraction(spend)))
    assert said == words


def test_as_many_fit_as_was_said() -> None:
    spend, spent, n = Zcdp(Fraction(13)), Zcdp(Fraction(0)), 0
    while spend <= account(100, spent).left:
        spent, n = spent + spend, n + 1
    assert n == 1 + 6


def test_the_scarcer_of_rho_and_delta_counts() -> None:
    half = Zcdp(Fraction(1), DELTA / 2)
    words = "50 % of the budget; about one more like this after it"
    assert share_words(account(100, Zcdp(Fraction(0))), half) == words
    used = account(100, Zcdp(Fraction(0), DELTA / 2))
    assert share_words(used, half) == "50 % of the budget; no more like this after it"


def test_small_shares_are_never_nothing() -> None:
    small = Zcdp(Fraction(1, 250))
    assert percent(Fraction(1, 10**9)) == "less than 0.1 %"
    assert percent(Fraction(1, 250)) == "0.4 %"
    assert share_words(account(100, Zcdp(Fraction(0))), small).endswith(
        "about 24,000 more like this after it"
    )


def test_lines_have_their_subject() -> None:
    found = dict(
        gist((("groups", "found in the data"), ("noise", "law, sd 3: 95% of x move by 9")))
    )
    assert found == {"you get": "groups found in the data", "error": "95% of x move by 9"}
    assert dict(gist((("ranges", "3, all released"),)))["you get"] == "ranges: 3, all released"
    listed = (("groups", "3 known groups"), ("promise", "95% of rows"), ("error bar", "noise only"))
    assert gist(listed) == (
        ("you get", "3 known groups"),
        ("error", "95% of rows"),
        ("error bar", "noise only"),
    )
    assert gist(()) == (("error", UNKNOWN),)
