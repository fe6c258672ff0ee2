"""What every verb does the same way: its price, what is asked, and its plan."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from headcount.accounting.compose import cost, cost_in_account
from headcount.accounting.convert import share_of, spend_of
from headcount.contributions.listed import said
from headcount.errors import BudgetError, UsageError
from headcount.ledger.ledger import refusal
from headcount.privacy.event import to_record
from headcount.privacy.neighbours import Neighbours
from headcount.releases.accounts import check_owner, first_names
from headcount.releases.plan import Plan
from headcount.releases.request import Request
from headcount.releases.run import Checked, ReadAndDraw, Work
from headcount.releases.windows import (
    Over,
    bounds_line,
    charged_event,
    check_windows_pay,
    of_one_window,
    window_lines,
)
from headcount.screens import quoted
from headcount.tables.by import as_groups, column_of
from headcount.tables.where import columns_in

if TYPE_CHECKING:
    from headcount.ledger.account import Account
    from headcount.privacy.budget import Budget
    from headcount.privacy.during import During
    from headcount.privacy.event import Event
    from headcount.privacy.spend import Zcdp
    from headcount.releases.expected import Expects
    from headcount.releases.opened import Opened
    from headcount.releases.wide.wide import Wide

    Spend = Budget | Fraction | str
    """What a person writes: a budget, or a share of the account's whole limit."""

FIRST_LISTED = 3


def limit_for(account: Account, spend: Budget | Fraction) -> Zcdp:
    """What a release may cost: as asked, or that share of the account's whole limit."""
    if isinstance(spend, Fraction):
        return share_of(spend, account.limit)
    return spend_of(spend, account.limit, account.stated_delta)


def require_add_remove(account: Account, what: str, instead: str) -> None:
    """Refuse in an account of replacement what has no proof there, and say what has."""
    if account.neighbours is Neighbours.REPLACE:
        raise UsageError(
            f"{what} is for add-remove accounts, and this one is replace. Nothing was charged. "
            f"{instead}"
        )


def check_affordable(account: Account, event: Event, stated: Neighbours) -> Zcdp:
    """Refuse at plan time what the account cannot pay now; the ledger checks again at charge."""
    spend = cost_in_account(cost(event), stated, account.neighbours)
    if not spend <= account.left:
        raise BudgetError(refusal(account, spend))
    return spend


def cost_in_windows(event: Event, stated: Neighbours, account: Account) -> Zcdp:
    """What the account pays, or each of the windows that the event names."""
    return cost_in_account(cost(of_one_window(event)), stated, account.neighbours)


def spelled_by(by: Any) -> list[str]:
    """What is counted by, in the words of the request."""
    return [str(part) for part in as_groups(by)]


def parts_of(by: Any) -> list[list[str]]:
    """The same without ambiguity: a column may have a name that looks like a cut."""
    return [[type(part).__name__, column_of(part), str(part)] for part in as_groups(by)]


def request_of(
    dataset: Opened, account: str, verb: str, by: Any, arguments: tuple[tuple[str, Any], ...] = ()
) -> Request:
    """What is asked of which rows, spelled from public words."""
    identity, during = dataset.table.identity, dataset.table.windows
    spelled = identity.spelled
    if during is not None:
        spelled = identity.spelled_whole
        arguments = (("window", str(during.window)), ("during", during.named), *arguments)
    return Request(
        verb=verb,
        source=account,
        identity=spelled(first_names(dataset.ledger, identity)),
        user=dataset.table.user,
        arguments=(
            ("by", None if by is None else spelled_by(by)),
            ("parts", None if by is None else parts_of(by)),
            ("where", dataset.where),
            *dataset.table.said,
            *arguments,
        ),
    )


def affordable_plan(
    dataset: Opened,
    account: Account,
    event: Event,
    read_and_draw: ReadAndDraw,
    *,
    verb: str,
    by: Any,
    arguments: tuple[tuple[str, Any], ...],
    title: str,
    method: str,
    details: tuple[tuple[str, str], ...],
    groups: Sequence[Any] | None = None,
    stages: tuple[str, ...] = (),
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    expects: Expects = tuple,
    wide: Wide | None = None,
    over: Over | None = None,
) -> Plan:
    """A plan, after a check that the account can pay, or has paid for the same question before.

    over:  how what is counted was bounded over several windows; else they are refused [WN4]
    """
    during = dataset.table.windows
    whole = account if during is None else dataset.whole_account
    event = charged_event(event, during, over)
    request = request_of(dataset, account.name, verb, by, (*arguments, ("event", to_record(event))))
    known = dataset.ledger.known(account.name, request.hash, to_show=False)
    used = _columns_used(dataset.where, by, dict(arguments).get("of"))
    used |= set() if during is None else {during.window.column}
    if known is None:
        _refuse_to_list_users(dataset, account.name, used)
        if during is None:
            check_affordable(account, event, neighbours)
        else:
            spend = cost_in_windows(event, neighbours, account)
            check_windows_pay(dataset.ledger, whole, during, spend, event)
    if during is not None:
        spend = cost_in_windows(event, neighbours, account)
        details = (
            *window_lines(whole, during, event, spend),
            *(
                (name, f"{text}; {bounds_line(during, over)}" if name == "bound" else text)
                for name, text in details
            ),
        )
    return Plan(
        work=Work(
            request,
            event,
            neighbours,
            read_and_draw,
            stages,
            dataset.table,
            account,
            whole,
            lambda: _check_source(dataset, account.name, used),
            wide,
        ),
        ledger=dataset.ledger,
        opening=dataset.opening_of(account if during is None else whole),
        known=known,
        title=_titled(title, by, dataset.where, during),
        method=method,
        details=(*_listed(groups), *details),
        expects=expects,
    )


def _titled(title: str, by: Any, where: str | None, during: During | None) -> str:
    grouped = title if by is None else f"{title} by {', '.join(spelled_by(by))}"
    named = grouped if during is None else f"{grouped} during {during.named}"
    return named if where is None else f"{named} where {where}"


def _columns_used(where: str | None, by: Any, of: str | None) -> set[str]:
    """The columns whose values an answer tells of, or chooses its rows by."""
    groups = () if by is None else as_groups(by)
    values = () if of is None else (of,)
    return {*map(column_of, groups), *values, *(columns_in(where) if where else ())}


def _refuse_to_list_users(dataset: Opened, account: str, used: set[str]) -> None:
    """Refuse to count by a column that named the people whom the account protects."""
    own = {name.casefold() for name in (dataset.table.user, *dataset.mistaken_users)}
    named = {name.casefold() for name in dataset.ledger.users_of(account)} - own
    for name in sorted(used):
        if name.casefold() in named:
            raise UsageError(
                f"The column {quoted(name)} names the people whom account {quoted(account)} "
                f"protects: using it, with user={dataset.table.user!r}, would reveal each of "
                "them. Nothing was read and nothing was charged. If they are the people, write "
                f"user={name!r} and count by another column. If it was given as user by mistake "
                "before, do not pass on what was released then, and say so: --mistaken-user "
                f"{name} in a shell, hc.open(..., mistaken_users=[{name!r}]) in Python."
            )


def _check_source(dataset: Opened, account: str, used: set[str]) -> Checked:
    """Refuse a source that is not what it was when it was opened; what it is now."""
    table = dataset.table
    check_owner(dataset.ledger, account, table.identity)
    _refuse_to_list_users(dataset, account, used)
    files = table.check.files()
    return Checked(table.identity.covers, files)


def _listed(groups: Sequence[Any] | None) -> tuple[tuple[str, str], ...]:
    """The first of the public groups, in quotes: a blank at the end of one is seen."""
    if groups is None:
        return ()
    first = ", ".join(said(group) for group in groups[:FIRST_LISTED])
    more = len(groups) - FIRST_LISTED
    return (("listed", f"{first} and {more:,} more" if more > 0 else first),)
