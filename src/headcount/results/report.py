"""A release as one page for whoever reads it: rows, picture, question, method, promise, entry.

The page holds all it needs. It may load nothing and run nothing but the one script below, which
its own policy names by hash: a group is a text that anybody may have written.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from headcount.results.report_page import IN_ACCOUNT, NOT_PROMISED, PROMISED, SCRIPT, STYLE
from headcount.results.shown import Shown, number, shown
from headcount.results.words import why_none, withheld_words
from headcount.screens import visible

if TYPE_CHECKING:
    import pyarrow as pa

    from headcount.results.facts import Facts

MOST_ROWS = 5_000
"""So many rows a page shows; a browser is slow to sort more."""
NUMBER = ' class="number"'
WORDS = {
    "count_users": "Users",
    "count_events": "Events",
    "distribution": "Shares of rows",
    "frequencies": "Groups by their number of users",
    "quantiles": "Quantiles",
    "count_ranges": "Users by range",
    "profile": "Users by their number of groups",
}


def report_of(
    table: pa.Table, facts: Facts, *, withheld: pa.Table | None, again: str | None, key: str | None
) -> str:
    """The whole page: nothing but what is in the release."""
    some = shown(table, facts, MOST_ROWS)
    n_withheld = 0 if withheld is None else withheld.num_rows
    title = title_of(facts)
    policy = "; ".join(
        [
            "default-src 'none'",
            "img-src data:",
            f"style-src {_hash(STYLE)}",
            f"script-src {_hash(SCRIPT)}",
        ]
    )
    said = [f"{facts.bars_said}."] if some.names else [why_none(facts, n_withheld)]
    if n_withheld:
        said.append(withheld_words(n_withheld, "They are not on this page"))
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>",
            f"<h1>{_text(title)}</h1>",
            f'<p class="gist">{_text(some.counted)}. {_text(" ".join(said))}</p>',
            *_picture(table, facts),
            *_rows(some),
            *_section("What was asked", _pairs(asked_of(facts))),
            *_section("How it was answered", _pairs(_method(facts)), _list(facts.notes)),
            *_settled(facts),
            *_section("What is promised", _promise(facts)),
            *_section("The entry that paid", _pairs(_entry(facts, again, key))),
            *_section("How to cite", f"<p>{_text(citation(title, facts, key))}</p>"),
            f"</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        ]
    )


def title_of(facts: Facts) -> str:
    """What a release is about, in a few words."""
    words = WORDS.get(facts.verb, facts.verb.replace("_", " "))
    by = facts.asked.get("by")
    return f"{words} by {by}" if by and " by " not in words else words


def asked_of(facts: Facts) -> list[tuple[str, str]]:
    """The question: its verb, and its arguments by name."""
    return [("verb", facts.verb), *facts.asked.items()]


def _settled(facts: Facts) -> list[str]:
    """What was left to the plan, as the ledger has it."""
    if not facts.settled:
        return []
    return _section("What the plan settled", _pairs(facts.settled.items()))


def citation(title: str, facts: Facts, key: str | None) -> str:
    """How to name a release in a text."""
    named = f", key {key}" if key else ""
    entry = f" Entry {facts.entry} of account {facts.account}{named}." if facts.account else ""
    return f"{title}. Released with headcount {facts.version}: {facts.guarantee}.{entry}"


def _method(facts: Facts) -> list[tuple[str, str]]:
    return [("method", facts.method), ("bounds", facts.bounds), ("noise", facts.noise)]


def _entry(facts: Facts, again: str | None, key: str | None) -> list[tuple[str, str]]:
    lines = [("headcount", facts.version), ("rho", facts.rho), ("delta", facts.delta)]
    if facts.account:
        lines = [("account", facts.account), ("entry", str(facts.entry)), *lines]
    lines += [("key", key)] if key else []
    return [*lines, ("shown again", again)] if again else lines


def _promise(facts: Facts) -> str:
    said = f"<p>{_text(facts.guarantee[:1].upper() + facts.guarantee[1:])}.</p>"
    promised = (*PROMISED, *(IN_ACCOUNT if facts.account else ()))
    return f"{said}\n{_list(promised)}\n<h3>What is not promised</h3>\n{_list(NOT_PROMISED)}"


def _picture(table: pa.Table, facts: Facts) -> list[str]:
    """The chart as an image, which can run nothing; none where charts are not installed."""
    from headcount.errors import MissingExtraError
    from headcount.results.chart import chart
    from headcount.results.chart_parts import svg_of

    if not table.num_rows:
        return []
    try:
        drawn = svg_of(chart(table, facts))
    except MissingExtraError as missing:
        return [f"<p>{_text(str(missing))}</p>"]
    data = base64.b64encode(drawn.encode()).decode()
    return [f'<img alt="The rows with their error bars" src="data:image/svg+xml;base64,{data}">']


def _rows(some: Shown) -> list[str]:
    if not some.names:
        return []
    heads = [
        *map(_head, some.headings),
        *(_head(one, NUMBER) for one in (some.value, "low", "high")),
    ]
    body = (
        f"<tr>{''.join(map(_name, names))}{''.join(map(_number, bar))}</tr>"
        for names, bar in zip(some.names, some.bars, strict=True)
    )
    return [
        '<p class="find"><label>Find <input type="search"></label> <output></output></p>',
        '<div class="wide"><table>',
        f"<thead><tr>{''.join(heads)}</tr></thead>\n<tbody>",
        *body,
        "</tbody>\n</table></div>",
    ]


def _head(text: str, kind: str = "") -> str:
    return f'<th{kind}><button type="button">{_text(text)}</button></th>'


def _name(name: str) -> str:
    return f"<td>{_text(name)}</td>"


def _number(value: Any) -> str:
    exact = f' data-value="{value!r}"' if isinstance(value, int | float) else ""
    return f"<td{NUMBER}{exact}>{_text(number(value))}</td>"


def _section(title: str, *parts: str) -> list[str]:
    return [f"<section>\n<h2>{title}</h2>", *filter(None, parts), "</section>"]


def _pairs(lines: Iterable[tuple[str, str]]) -> str:
    said = (f"<dt>{_text(name)}</dt><dd>{_text(text)}</dd>" for name, text in lines if text)
    return f"<dl>{''.join(said)}</dl>"


def _list(items: Iterable[str]) -> str:
    said = "".join(f"<li>{_text(item)}</li>" for item in items)
    return f"<ul>{said}</ul>" if said else ""


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _text(text: str) -> str:
    return escape(visible(text))
