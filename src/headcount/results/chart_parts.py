"""What all pictures of releases have in common: colours, numbers on axes, and the words on top."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.results.cells import lines

if TYPE_CHECKING:
    from headcount.results.facts import Facts

BLUE, DARK = "#4c78a8", "#222222"
PLAIN = "~r"
"""Numbers on axes as they are, without separators: 5000 and not 5,000 or 5k."""
WIDTH = 480


def titled(layers: Any, facts: Facts, cut: str = "", title: str = "", **sizes: int) -> Any:
    """The picture with what it shows, how much of it, what its bars cover, and the guarantee.

    cut:  which rows these are, where they are not all
    """
    import altair

    said = (f"{cut.replace(' rows', ' rows shown', 1)}." if cut else "", f"{facts.bars_said}.")
    subtitle = [line for text in (*said, f"{facts.guarantee}.") for line in lines(text)]
    on_top = altair.Title(title or facts.verb.replace("_", " "), subtitle=subtitle)
    return layers.properties(title=on_top, width=WIDTH, **sizes)
