"""The pages of a fleet as HTML: complete in themselves, and without a script.

All text of tasks and answers is escaped: devices choose what a group is called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, get_args

from headcount.fleet.control_svg import intervals, timeline
from headcount.fleet.control_views import State
from headcount.ledger.statement.bar import percent, svg_bar
from headcount.screens import visible

if TYPE_CHECKING:
    from headcount.fleet.control_store import Applied
    from headcount.fleet.control_views import ReleaseShown, RoundShown
    from headcount.ledger.account import Account

MOST_ROWS = 500
STYLE = """
:root { color-scheme: light dark; --edge: #8885; --faint: #8882; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; display: block; overflow-x: auto; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--edge);
  vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.state { padding: 0 .5rem; border-radius: .6rem; background: var(--faint); white-space: nowrap; }
.bad { font-weight: 600; color: #c0392b; }
.faint { opacity: .75; } svg { display: block; margin-bottom: 1rem; }
svg text { fill: currentColor; font-size: 12px; }
"""
WHOLE = "The journal is whole: each entry is chained to the one before."
BROKEN = "The ledger is not as it was left. Its owner runs: headcount ledger verify"
TRUST = (
    ("who sees these counts", "the guarantee as stated"),
    ("the relay", "who polled, and no answer"),
    ("ingest, database and driver", "how many reports there are, and no answer"),
    ("the core, and root on its machine", "the answers that were sampled, without names"),
)
NO_COVER = "how many were sampled: no guarantee. A task here is without cover"


def tasks_page(
    known: Sequence[Applied],
    rounds: Mapping[bytes, Sequence[RoundShown]],
    accounts: Sequence[Account],
    chain: str,
    now: int,
) -> str:
    """All tasks."""
    rows = [_task_row(one, rounds[one.task.id]) for one in known]
    heads = ("task", "purpose", "asked by", "until", "paid by", "rounds")
    has_cover = all(one.task.file.cover for one in known)
    trust = [(who, what if has_cover or i in (0, 3) else NO_COVER)
             for i, (who, what) in enumerate(TRUST)]  # fmt: skip
    kind = ' class="bad"' if chain == BROKEN else ""
    return _page(
        "Fleet",
        _table(heads, rows) if rows else "<p>No task was applied so far.</p>",
        *(part for account in accounts for part in _budget(account)),
        "<h2>Ledger</h2>",
        f"<p{kind}>{_text(chain)}</p>",
        "<h2>Who learns what</h2>",
        _table(("", "learns"), [(_text(who), _text(what)) for who, what in trust]),
        f'<p class="faint">By the database\'s clock, {_time(now)}.</p>',
    )


def task_page(
    one: Applied,
    rounds: Sequence[RoundShown],
    ended: Mapping[int, bool],
    account: Account,
    now: int,
) -> str:
    """One task, and its rounds."""
    file, terms = one.task.file, one.task.terms
    facts = (
        ("asked by", file.owner),
        ("purpose", file.purpose),
        ("until", file.expires),
        ("sampled", f"an answer with chance {float(terms.rate):.4g}"),
        ("shown", f"from {terms.threshold:,} sampled devices on"),
        ("cover", "yes" if file.cover else "no: whoever keeps reports sees how many were sampled"),
        ("attestation", file.attestation),
        ("paid", f"entry {one.entry} of account {one.account}, for all {file.rounds.n:,} rounds"),
        ("id", one.task.id.hex()),
    )
    rows = [_round_row(one, shown, ended.get(shown.number, False)) for shown in rounds]
    return _page(
        file.task,
        _table(("", ""), [(_text(name), _text(said)) for name, said in facts]),
        "<h2>Rounds</h2>",
        timeline(rounds, now),
        _table(("round", "state", "opens", "closes", "shown from", "key"), rows),
        *_budget(account),
        up="/pages",
    )


def round_page(one: Applied, number: int, found: ReleaseShown) -> str:
    """What a round shows."""
    rows = [
        (_text(row.group), f"{row.count:,}", f"{row.low:,.0f}", f"{row.high:,.0f}")
        for row in sorted(found.rows, key=lambda row: (-row.count, row.group))[:MOST_ROWS]
    ]
    left = len(found.rows) - len(rows)
    more = [f"<p>{left:,} more are in the release.</p>"] if left > 0 else []
    nothing = (
        "<p>Nothing was said by enough devices. A round that shows nothing is like any other.</p>"
    )
    entry = found.statement
    paid = f"Paid by entry {entry.entry} of account {entry.account}, for all rounds of the task."
    return _page(
        f"{one.task.file.task}, round {number}",
        f"<p>{_text(one.task.file.purpose)}</p>",
        intervals(found.rows) if rows else nothing,
        _table(("group", "count", "low", "high"), rows, numbers=True) if rows else "",
        *more,
        "<h2>What is promised</h2>",
        *(f"<p>{_text(said)}</p>" for said in (found.guarantee, found.method, *found.notes, paid)),
        up=f"/pages/{one.task.id.hex()}",
    )


def _task_row(one: Applied, rounds: Sequence[RoundShown]) -> tuple[str, ...]:
    file, counted = one.task.file, Counter(shown.state for shown in rounds)
    states = [f"{counted[state]:,} {state}" for state in get_args(State) if counted[state]]
    link = f'<a href="/pages/{one.task.id.hex()}">{_text(file.task)}</a>'
    said = (file.purpose, file.owner, file.expires, f"entry {one.entry} of {one.account}")
    return (link, *map(_text, said), _text(", ".join(states)))


def _round_row(one: Applied, shown: RoundShown, has_ended: bool) -> tuple[str, ...]:
    number = str(shown.number)
    if shown.state == "released":
        number = f'<a href="/pages/{one.task.id.hex()}/rounds/{number}">{number}</a>'
    times = (_time(at) for at in (shown.opens_at, shown.closes_at, shown.shown_at))
    state = f'<span class="state {shown.state}">{shown.state}</span>'
    return (number, state, *times, _key(shown, has_ended))


def _key(shown: RoundShown, has_ended: bool) -> str:
    """Whether a round's key is there; as for counts, not before the round is shown."""
    if shown.state == "waiting":
        return "not made"
    if shown.state in ("open", "closing"):
        return "live"
    return "destroyed" if has_ended or shown.state == "cancelled" else "still there"


def _budget(account: Account) -> list[str]:
    return [
        f"<h2>Budget of {_text(account.name)}</h2>",
        svg_bar(account),
        f"<p>{_text(percent(account))} is spent. {_text(str(account))}</p>",
    ]


def _page(title: str, *parts: str, up: str = "") -> str:
    above = f'<p><a href="{up}">up</a></p>' if up else ""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{_text(title)}</title><style>{STYLE}</style>"
        f"{above}<h1>{_text(title)}</h1>{''.join(parts)}</html>\n"
    )


def _table(heads: Iterable[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> str:
    def cells(kind: str, row: Iterable[str]) -> str:
        of_numbers = ' class="n"' if numbers else ""
        return "".join(
            f"<{kind}{of_numbers if i else ''}>{cell}</{kind}>" for i, cell in enumerate(row)
        )

    named = [_text(head) for head in heads]
    head = f"<tr>{cells('th', named)}</tr>" if any(named) else ""
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table>{head}{body}</table>"


def _text(text: str) -> str:
    return escape(visible(text))


def _time(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
