"""What a release says of itself while it runs: a public list that the plan has fixed [O2].

Which way a release takes inside may follow from what it drew. A caller who saw that way, and then
stopped the release, would have learned something that no stored result pays for. So the list is
the same on every way: stages that are passed over are said when a later one begins, or when the
draw has ended, and always before anything is stored.
"""

from __future__ import annotations

from collections.abc import Callable

from headcount.stops import raise_if_stopped

Progress = Callable[[str], None]


class Stages:
    """The stages of one release, each said once and in order."""

    def __init__(self, names: tuple[str, ...], progress: Progress) -> None:
        self._left = list(names)
        self._names = names
        self._progress = progress

    def __call__(self, name: str) -> None:
        """Say that a stage begins, and before it all that come earlier in the list."""
        if name not in self._names:
            raise ValueError(f"{name!r} is not among the stages of the plan")
        while name in self._left:
            self._say(self._left.pop(0))

    def until(self, last: str) -> None:
        """Say whatever comes before a stage and has not been said yet."""
        while self._left and self._left[0] != last:
            self._say(self._left.pop(0))

    def _say(self, name: str) -> None:
        raise_if_stopped()
        self._progress(name)
