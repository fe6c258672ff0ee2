"""No verb's own question is refused by its own noise, whatever the relation, method or bound.

A refusal inside the door would look like an engine that failed, after the charge.
"""

from __future__ import annotations

from typing import Any

import pytest

from headcount.errors import UsageError
from headcount.mechanisms.chance import Drawn
from headcount.privacy.neighbours import Neighbours
from headcount.trials import ways
from headcount.trials.door import opened, released
from headcount.trials.tables import GROUP

LISTED = {"by": GROUP, "groups": [*ways.GROUPS, "nobody's"]}
WAYS: dict[str, dict[str, Any]] = {
    **ways.VERBS,
    "count_users": {"by": GROUP},
    "count_users, a bound": {"by": GROUP, "bound": 40},
    "count_users, listed": LISTED,
    "count_users, sample, listed": {**LISTED, "method": "sample"},
    "count_users, peel, listed": {**LISTED, "within": 0.2, "method": "peel"},
    "count_users, one listed": {"by": GROUP, "groups": ["g0"], "bound": 40},
    "count_events, found": {"by": GROUP},
    "count_events, found, gaussian": {"by": GROUP, "method": "gaussian"},
    "count_events, found, laplace": {"by": GROUP, "method": "laplace"},
    "count_events, gaussian": {**LISTED, "method": "gaussian"},
    "count_events, laplace": {**LISTED, "method": "laplace"},
    "count_events, l1": {**LISTED, "method": "laplace", "bound": 2.5},
    "count_events, l2": {**LISTED, "method": "gaussian", "bound": 1234.5},
    "distribution, laplace": {**LISTED, "method": "laplace"},
    "distribution, dense": {**LISTED, "method": "dense"},
    "distribution, sparse": {**LISTED, "method": "sparse"},
    "distribution, clip": {**LISTED, "method": "clip"},
    "distribution, coarse-fine": {**LISTED, "method": "coarse-fine"},
    "distribution, gaussian": {**LISTED, "method": "gaussian"},
    "frequencies, listed": LISTED,
    "quantiles": {"of": None, "bounds": (0, 32)},
    "quantiles, many": {"of": None, "bounds": (0, 32), "at": [k / 20 for k in range(1, 20)]},
}
ADD_REMOVE_ONLY = ways.ADD_REMOVE_ONLY | {
    "count_users",
    "count_users, a bound",
    "count_users, peel, listed",
    "count_events, found, gaussian",
}
"""What is refused under replacement, in words and before any charge."""


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("way", WAYS)
def test_no_question_is_refused_by_the_noise_that_is_made_for_it(
    way: str, relation: Neighbours
) -> None:
    with opened(ways.table_of(ways.OTHER, way), epsilon=4, neighbours=str(relation)) as data:
        verb = getattr(data, way.split(",")[0])
        if relation is Neighbours.REPLACE and way in ADD_REMOVE_ONLY:
            with pytest.raises(UsageError, match="replace"):
                verb(**({"spend": "1"} | WAYS[way]))
            return
        released(verb(**({"spend": "1"} | WAYS[way])), Drawn())
