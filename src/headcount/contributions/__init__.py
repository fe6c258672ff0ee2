"""Bound: from rows to one tally that no user can move far.

The second step of every release. ``contributions.md`` proves what each bound promises.
"""

from headcount.contributions.bound import bound
from headcount.contributions.bounded import BoundedContributions
from headcount.contributions.clip import Limits, clip_l2, clip_rows
from headcount.contributions.tally import Tally

__all__ = [
    "BoundedContributions",
    "Limits",
    "Tally",
    "bound",
    "clip_l2",
    "clip_rows",
]
