"""Keep at most so many groups of each user, chosen by a keyed hash.

The choice looks at one user's groups and a secret key and at nothing else [K1], so it cannot
carry anything from one user to another. It is a function of its inputs: a task that runs twice,
or an engine that differs, chooses the same.
"""

from __future__ import annotations

from typing import Any

from headcount.contributions.encoding import encoded_column
from headcount.contributions.groups import INDEX, TEXT, USER, Grouped
from headcount.contributions.secret import KEY, beside_key

N_GROUPS = "hc_n_groups"
RANK = "hc_rank"
ORDER = "hc_order"


def groups_per_user(pairs: Any, unit: tuple[str, ...] = (USER,)) -> Any:
    """In how many groups each user is; or each within a window, where that is bounded."""
    return pairs.group_by(list(unit)).agg(**{N_GROUPS: pairs.count()})


def kept_of_heavy(
    grouped: Grouped,
    pairs: Any,
    heavy_users: Any,
    max_groups: int,
    key: bytes,
    number: str | None = None,
) -> Any:
    """The kept pairs of users in more than ``max_groups`` groups; only theirs are ever sorted.

    With the ``number`` of a row within its pair, rows are kept in the same way [S1].
    """
    import ibis

    engine = grouped.table.engine
    heavy, message = keyed(grouped, pairs.semi_join(heavy_users, list(grouped.unit)), key)
    if number is not None:
        message = message.concat(ibis.literal("#"), heavy[number].cast("string"))
    ordered = heavy.mutate(**{ORDER: engine.hash_order(message)})
    if grouped.listed is None:
        ties = [engine.sort_key(ordered[column]) for column in grouped.columns]
    else:
        ties = [ordered[INDEX]]
    if number is not None:
        ties.append(ordered[number])
    window = ibis.window(
        group_by=[ordered[column] for column in grouped.unit],
        order_by=[ordered[ORDER], *(ibis.asc(tie, nulls_first=False) for tie in ties)],
    )
    ranked = ordered.mutate(**{RANK: ibis.row_number().over(window)})
    kept = ranked.filter(ranked[RANK] < max_groups)
    return kept.select(*pairs.columns)


def keep(grouped: Grouped, pairs: Any, max_groups: int, key: bytes) -> Any:
    """All pairs of light users and the chosen pairs of heavy ones."""
    if not grouped.can_exceed(max_groups):
        return pairs
    per_user = groups_per_user(pairs, grouped.unit)
    heavy_users = per_user.filter(per_user[N_GROUPS] > max_groups)
    light = pairs.anti_join(heavy_users, list(grouped.unit))
    return light.union(kept_of_heavy(grouped, pairs, heavy_users, max_groups, key))


def keyed(grouped: Grouped, pairs: Any, key: bytes, purpose: str = "") -> tuple[Any, Any]:
    """The pairs, and a text of key, purpose, user and group that no other pair shares.

    A purpose keeps hashes for different ends apart: they are as independent as under two keys.
    """
    import ibis

    pairs, secret = beside_key(grouped.table.engine, pairs, key)
    if grouped.listed is None:
        group_text = _joined(
            [
                encoded_column(pairs[column], kind)
                for column, kind in zip(grouped.columns, grouped.kinds, strict=True)
            ]
        )
    else:
        pairs = pairs.inner_join(grouped.relation.select(INDEX, TEXT), INDEX)
        secret, group_text = pairs[KEY], pairs[TEXT]
    user_text = encoded_column(pairs[USER], grouped.table.columns[grouped.table.user])
    return pairs, _joined([secret, ibis.literal(f"|{purpose}"), user_text, group_text])


def _joined(texts: list[Any]) -> Any:
    first, *rest = texts
    return first.concat(*rest) if rest else first
