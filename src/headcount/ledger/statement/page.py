"""A document of headings, paragraphs and tables, as Markdown or as one HTML file."""

from __future__ import annotations

import html as html_marks
from collections.abc import Sequence
from dataclasses import dataclass

from headcount.screens import visible

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#1c2530}table{border-collapse:collapse;width:100%;font-size:.85rem}"
    "th,td{border-bottom:1px solid #ccd3da;padding:.3rem .6rem .3rem 0;text-align:left;"
    "vertical-align:top;overflow-wrap:anywhere}h1,h2{line-height:1.2}"
)


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; level 1 is the title."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Plain words."""

    text: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture, in letters and as SVG."""

    text: str
    svg: str


Block = Heading | Paragraph | Items | Grid | Figure


def markdown(blocks: Sequence[Block]) -> str:
    """The document as Markdown."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def escape(text: str) -> str:
    """A text for a page: no tag, no entity, nothing that cannot be seen."""
    return html_marks.escape(visible(text))


def _plain(text: str) -> str:
    # Names come from people: none may open a cell, a tag, a link or a new line.
    text = visible(" ".join(text.split()))
    marks = (
        ("\\", "\\\\"),
        ("|", "\\|"),
        ("&", "&amp;"),
        ("<", "&lt;"),
        ("`", "\\`"),
        ("[", "\\["),
    )
    for mark, instead in marks:
        text = text.replace(mark, instead)
    return text


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {_plain(text)}"
        case Paragraph(text):
            return _plain(text)
        case Items(texts):
            return "\n".join(f"- {_plain(text)}" for text in texts)
        case Grid(header, rows):
            lines = [header, ["---"] * len(header), *rows]
            return "\n".join(f"| {' | '.join(map(_plain, line))} |" for line in lines)
        case Figure(text, _):
            return f"```text\n{text}\n```"


def html(blocks: Sequence[Block]) -> str:
    """The document as one HTML file that loads nothing from elsewhere."""
    title = next(block.text for block in blocks if isinstance(block, Heading))
    body = "\n".join(_html(block) for block in blocks)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}'
        f"</title><style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{escape(text)}</p>"
        case Items(texts):
            return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"
        case Grid(header, rows):
            head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
            body = "".join(
                "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
                for row in rows
            )
            return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        case Figure(_, svg):
            return svg
