"""The words that ``method=`` and ``per_user=`` may be, as types: editors offer them."""

from __future__ import annotations

from typing import Literal

UsersMethod = Literal["auto", "threshold", "laplace", "equal", "peel", "sample"]
EventsMethod = Literal["auto", "gaussian", "laplace", "equal"]
SharesMethod = Literal["auto", "clip", "coarse-fine", "dense", "sparse", "gaussian", "laplace"]
QuantilesMethod = Literal[
    "auto", "hierarchy", "exponential", "sample", "sample-levels", "sample-search"
]
RangesMethod = Literal["auto", "hierarchy", "sample", "sample-levels"]
FrequenciesMethod = Literal["auto", "central", "laplace"]
SqlMethod = Literal["auto", "threshold", "laplace", "gaussian", "equal", "peel", "sample"]
PerUser = Literal["median", "mean", "sum", "min", "max", "sampled"]
