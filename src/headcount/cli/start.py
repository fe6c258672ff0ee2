"""``headcount start``: five questions, then the plan, and the command and Python lines for it.

Nothing is read but the names and types of columns, and nothing is charged.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

import headcount as hc
from headcount.cli import options as option
from headcount.cli.spelling import in_shell
from headcount.cli.started import OFTEN, Started
from headcount.privacy.argument import number_of
from headcount.screens import visible, visible_lines
from headcount.tables.by import GroupBy, parse_group

if TYPE_CHECKING:
    from headcount.tables.kinds import Kind

T = TypeVar("T")
SEEN = {"public": "1", "inside": "3"}
"""Who may see the counts, and the epsilon that all releases about these people may come to."""
ALL, DECIDED = "all", "as decided"
NO_ANSWERS = (
    "headcount start asks five questions, and there was no answer to this one. Nothing was read "
    "and nothing was charged. Run it in a terminal, or pipe the answers, one on each line: "
    "printf 'user_id\\nusers by page\\npublic\\nall\\nonce\\n' | headcount start events.parquet"
)
PUBLIC = "Only names and types of columns are looked at. Nothing is read and nothing is charged."


def start(
    source: option.Source,
    ledger: option.LedgerPlace = None,
    account: option.AccountName = None,
) -> None:
    """Ask five questions, show the plan, and write the command and the Python lines for it."""
    from headcount.tables.user_table import listed_columns

    columns = listed_columns(source)
    _say(PUBLIC)
    if columns is not None:
        _say("Columns: " + ", ".join(f"{name} ({kind})" for name, kind in columns.items()))
    asked = _questions(Started(source, ledger, account), columns or {})
    plan = asked.plan()
    print(plan)
    print()
    print(plan.expected())
    print(f"\nIn a shell:\n\n{visible(asked.command)}\n")
    print(f"In Python:\n\n{visible_lines(asked.python)}")


def _questions(asked: Started, columns: Mapping[str, Kind]) -> Started:
    user = next((name for name in columns if "user" in name.casefold()), "")
    asked = _ask(
        "1. Who is protected? The column that says whose row it is.", user, asked.with_user
    )
    by = next((name for name, kind in columns.items() if kind == "text" and name != asked.user), "")
    asked = _ask(
        "2. What is counted? Users or events, and by which columns: users by page, time:day.",
        f"users by {by}" if by else "",
        lambda answer: asked.with_count(*_count(answer)),
    )
    if asked.has_account:
        # Asked all the same: answers that are piped are five, whatever was decided before.
        decided = visible(asked.account_said)
        asked = _ask(
            f"3. Who may see the counts? It was decided before: {decided}.",
            DECIDED,
            lambda answer: asked if answer == DECIDED else _unchanged(asked, answer),
        )
    else:
        asked = _ask(
            "3. Who may see the counts? public: anybody, epsilon 1 for all releases together; "
            "inside: colleagues who are bound to keep them, epsilon 3; or an epsilon of your own.",
            "public",
            lambda answer: asked.with_budget(_budget(answer)),
        )
    asked = _ask(
        "4. How good must a row be? all: every row that can be measured, each with its error bar; "
        "0.10: rows within 10 % of the truth, nine in ten of them, and others are withheld.",
        ALL,
        lambda answer: asked.with_target(_within(answer)),
    )
    return _ask(
        "5. How often? once: a quarter of the budget; monthly, weekly or daily: the budget lasts "
        "for a year.",
        "once",
        lambda answer: asked.with_share(_often(answer)),
    )


def _say(text: str) -> None:
    print(visible(text), file=sys.stderr, flush=True)


def _ask(question: str, default: str, read: Callable[[str], T]) -> T:
    """An answer that makes sense; in a terminal, the question is asked until there is one."""
    while True:
        _say(f"{question} [{default}]" if default else question)
        answer = _line() or default
        try:
            return read(answer)
        except hc.UsageError as error:
            if not sys.stdin.isatty():
                raise
            _say(in_shell(str(error)))


def _line() -> str:
    try:
        line = "" if sys.stdin is None else sys.stdin.readline()
    except (OSError, ValueError):
        line = ""
    if not line:
        raise hc.UsageError(NO_ANSWERS)
    return line.strip()


def _count(answer: str) -> tuple[str, list[GroupBy]]:
    """``users by page, time:day``, or the columns alone."""
    words = answer.split(maxsplit=1)
    verb = "count_events" if words[:1] in (["events"], ["rows"]) else "count_users"
    if len(words) == 2 and words[0] in ("users", "events", "rows"):
        answer = words[1].removeprefix("by ")
    columns = [part.strip() for part in answer.split(",") if part.strip()]
    if not columns:
        raise hc.UsageError("Say what is counted: users by page. Nothing was charged.")
    return verb, [parse_group(column) for column in columns]


def _budget(answer: str) -> str:
    epsilon = SEEN.get(answer, answer)
    if number_of(epsilon) is None:
        raise hc.UsageError("Answer public, inside, or a number. Nothing was charged.")
    return epsilon


def _unchanged(asked: Started, answer: str) -> Started:
    _say(f"{answer!r} is not used: what was decided stays, for all releases about these people.")
    return asked


def _within(answer: str) -> float | None:
    if answer == ALL:
        return None
    number = number_of(answer.removesuffix("%").strip())
    if number is not None and answer.endswith("%"):
        number /= 100
    if number is None or not 0 < number < 1:
        raise hc.UsageError("Answer all, or a number such as 0.10 or 10%. Nothing was charged.")
    return float(number)


def _often(answer: str) -> str:
    if answer not in OFTEN:
        raise hc.UsageError("Answer once, monthly, weekly or daily. Nothing was charged.")
    return answer
