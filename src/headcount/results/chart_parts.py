"""What all pictures of releases have in common: colours, numbers on axes, and the words on top."""

from __future__ import annotations

import base64
from functools import cache
from typing import TYPE_CHECKING, Any

from headcount.results.cells import lines

if TYPE_CHECKING:
    from headcount.results.facts import Facts

BLUE, DARK = "#4c78a8", "#222222"
PLAIN = "~r"
"""Numbers on axes as they are, without separators: 5000 and not 5,000 or 5k."""
WIDTH = 480
APART = {"format": PLAIN, "labelOverlap": "greedy", "labelSeparation": 10}
"""Numbers on an axis that lies: none of them runs into the next."""
ROOM = {"left": 30, "right": 15, "top": 5, "bottom": 5}
"""Around a picture, since labels may be wider where it is looked at than where it was drawn."""
ABOVE = {"titleAngle": 0, "titleAlign": "left", "titleX": 0, "titleY": -6}
"""The name of an upright axis stands above it: beside it, it would lie on labels, which are as wide
as the fonts of whoever looks."""


def svg_of(chart: Any) -> str:
    """A chart as SVG that is never wider than the screen."""
    from io import StringIO

    written = StringIO()
    chart.save(written, format="svg")
    return written.getvalue().replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1)


def shown_as_image(chart: Any) -> Any:
    """The same chart, which a notebook shows as an image: the usual way loads scripts."""
    kind: Any = type(chart)
    object.__setattr__(chart, "__class__", _image_of(kind))
    return chart


@cache
def _image_of(kind: Any) -> type:
    def bundle(self: Any, *_given: Any, **_named: Any) -> dict[str, str]:
        picture = svg_of(self)
        data = base64.b64encode(picture.encode()).decode()
        image = f'<img alt="chart" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'
        return {"text/html": image, "image/svg+xml": picture}

    return type(kind.__name__, (kind,), {"__doc__": kind.__doc__, "_repr_mimebundle_": bundle})


def titled(layers: Any, facts: Facts, cut: str = "", title: str = "", **sizes: int) -> Any:
    """The picture with what it shows, how much of it, what its bars cover, and the guarantee.

    cut:  which rows these are, where they are not all
    """
    import altair

    said = (f"{cut.replace(' rows', ' rows shown', 1)}." if cut else "", f"{facts.bars_said}.")
    subtitle = [line for text in (*said, f"{facts.guarantee}.") for line in lines(text)]
    on_top = altair.Title(title or facts.verb.replace("_", " "), subtitle=subtitle)
    return layers.properties(title=on_top, width=WIDTH, padding=ROOM, **sizes)
