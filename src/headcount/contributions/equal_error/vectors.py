"""Sums over users of short vectors, and users counted by what of theirs is left out.

A user whose vector is shortened [E1] hides the rest of it. Users are counted by how much they hide,
or would lose, between public edges: each user is in one cell at most [E6].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headcount.tables.engine import cast_always, double

MARGIN = 1 << 48
LOST, SUM, LENGTH = "hc_lost", "hc_sum", "hc_length"


def clipped_sums(per_user: Any, entries: Sequence[Any], norm: int) -> Any:
    """Sums over users of non-negative vectors, each shortened to ``norm`` and floored [E1]."""
    import ibis

    vectors = _measured(per_user, entries)
    longest = ibis.greatest(vectors[LENGTH], double(norm))
    ratio = double(norm) / longest * double(MARGIN - 1) / double(MARGIN)
    return vectors.agg(
        **{
            f"hc_sum_{i}": cast_always(
                (vectors[f"hc_{i}"] * ratio).floor().cast("int64").sum(), "int64"
            )
            for i in range(len(entries))
        }
    )


def users_beyond(per_user: Any, entries: Sequence[Any], norm: int, edges: Sequence[float]) -> Any:
    """Users by what they hide, in norms: all their entries, less what the norm leaves of them."""
    import ibis

    vectors = _measured(per_user, entries)
    longest = ibis.greatest(vectors[LENGTH], double(norm))
    hidden = vectors[SUM] / double(norm) - vectors[SUM] / longest
    return cells(vectors.select(**{LOST: hidden}), edges)


def _measured(per_user: Any, entries: Sequence[Any]) -> Any:
    """The vectors, with the sum of each and its length."""
    vectors = per_user.select(**{f"hc_{i}": entry for i, entry in enumerate(entries)})
    every = [vectors[name] for name in vectors.columns]
    squares = [one * one for one in every]
    return vectors.mutate(
        **{SUM: sum(every[1:], every[0]), LENGTH: sum(squares[1:], squares[0]).sqrt()}
    )


def cells(users: Any, edges: Sequence[float]) -> Any:
    """Users by what they lose: a cell begins at an edge and ends before the next, if there is one.

    A user is a row. One who loses less than the first edge is in no cell.
    """
    import ibis

    return users.agg(
        **{
            f"hc_users_{i}": cast_always(
                ibis.cases((_between(users[LOST], low, high), 1), else_=0).sum(), "int64"
            )
            for i, (low, high) in enumerate(zip(edges, [*edges[1:], None], strict=True))
        }
    )


def _between(lost: Any, low: float, high: float | None) -> Any:
    beyond = lost >= double(low)
    return beyond if high is None else beyond & (lost < double(high))


def where(joined: Any, name: str, number: int, otherwise: Any) -> Any:
    """A column in the rows of one class, and something else in the others."""
    import ibis

    return ibis.cases((joined["hc_class"] == number, joined[name]), else_=otherwise)


def sum_where(joined: Any, name: str, number: int) -> Any:
    """The sum of a column over the rows of one class."""
    return cast_always(where(joined, name, number, 0).sum(), "int64")


def kept_share(norm: Any, clip: int) -> Any:
    """``sqrt(clip / norm)``, below 1 for the users it is asked of."""
    return (double(clip) / norm.cast("float64")).sqrt()
