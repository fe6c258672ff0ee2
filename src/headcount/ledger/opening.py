"""Accounts, their quotas, and the sources that they cover: written once, before anyone spends."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

import sqlalchemy as sa

from headcount.accounting.convert import epsilon_at, shown, spend_of, zcdp_of
from headcount.errors import LedgerError, NoAccountError, UsageError
from headcount.ledger.account import Account, Quota, from_units
from headcount.ledger.journal import (
    CHARGE,
    COVER,
    LAST,
    OPEN,
    PER_WINDOW,
    QUOTA,
    Head,
    append,
    head_from,
    is_kind,
)
from headcount.ledger.reading import ACCOUNT, COVERING, account_from
from headcount.ledger.schema import accounts, covers, entries, per_window
from headcount.ledger.steps import Rows, Step
from headcount.ledger.storable import limit_units
from headcount.ledger.stores.store import Writer
from headcount.ledger.units import NO_LIMIT
from headcount.ledger.windows import Windows, check_same_windows
from headcount.privacy.budget import Budget
from headcount.privacy.neighbours import Neighbours
from headcount.screens import holds_login, quoted

Share = Budget | Literal[0]
"""What an analyst may spend; 0: nothing more."""
ADD_ACCOUNT = accounts.insert()
ADD_COVER = covers.insert()
ADD_PER_WINDOW = per_window.insert()
SET_QUOTA = sa.text(
    "INSERT INTO quotas (account, analyst, rho_limit, delta_limit, rho_spent, delta_spent) "
    "VALUES (:account, :analyst, :rho_limit, :delta_limit, :rho_spent, :delta_spent) "
    "ON CONFLICT (account, analyst) DO UPDATE "
    "SET rho_limit = excluded.rho_limit, delta_limit = excluded.delta_limit"
)
HAS_QUOTAS = (
    accounts.update()
    .where(accounts.c.name == sa.bindparam("account"))
    .values(has_quotas=sa.text("1"))
)
SPENT_BY = sa.select(
    *(
        sa.cast(sa.func.coalesce(sa.func.sum(column), sa.text("0")), sa.BigInteger)
        for column in (entries.c.rho, entries.c.delta)
    )
).where(
    is_kind(CHARGE),
    entries.c.account == sa.bindparam("account"),
    entries.c.analyst == sa.bindparam("analyst"),
)


def open_account(
    writer: Writer,
    ledger: str,
    analyst: str,
    name: str,
    budget: Budget | None,
    neighbours: Neighbours,
    sources: Sequence[str],
    shares: Sequence[tuple[str, Share]] = (),
    windows: Windows | None = None,
) -> tuple[Account, Head]:
    """The account of this name; opened with ``budget`` if there is none yet, and its quotas.

    In one transaction: whatever of it is refused, nothing of it is written.
    """
    account, head, steps = opening_steps(
        writer, ledger, analyst, name, budget, neighbours, sources, windows
    )
    for whose, share in shares:
        _, head, more = _quota_steps(writer, head, analyst, account, whose, share)
        steps += more
    if steps:
        writer.finish(*steps)
    return account, head


def opening_steps(
    writer: Writer,
    ledger: str,
    analyst: str,
    name: str,
    budget: Budget | None,
    neighbours: Neighbours,
    sources: Sequence[str],
    windows: Windows | None = None,
) -> tuple[Account, Head, list[Step]]:
    """The account, and what is still to be written to open it and to cover these sources."""
    rows, last, *covering = writer.run(
        (ACCOUNT, {"name": name}),
        (LAST, {}),
        *((COVERING, {"source": source}) for source in sources),
    )
    head = head_from(last, ledger)
    steps: list[Step] = []
    missing = _not_covered(name, sources, covering)
    if rows:
        account = account_from(rows[0])
        check_same(account, budget, neighbours, windows)
    elif budget is not None or windows is not None:
        _refuse_login(name)
        account = Account.new(name, neighbours, budget, windows)
        row, step, head = _new(account, analyst, head)
        steps += [(ADD_ACCOUNT, row), step]
        if windows is not None:
            row, step, head = _new_windows(account, windows, analyst, head)
            steps += [(ADD_PER_WINDOW, row), step]
    else:
        raise NoAccountError(
            f"There is no account {quoted(name)} in the ledger, and no budget to open it with. "
            "Give budget=hc.Budget(epsilon=1, delta=1e-6)."
        )
    for source in missing:
        _refuse_login(source)
        step, head = append(head, kind=COVER, account=name, analyst=analyst, key=source)
        steps += [(ADD_COVER, {"source": source, "account": name}), step]
    return account, head, steps


def is_number(source: str) -> bool:
    """Whether a source is a file by the file system's number, which means nothing to people."""
    return source.startswith("inode:")


def taken(source: str, account: str) -> str:
    """Why a source that another account covers is refused."""
    what = "This file" if is_number(source) else repr(source)
    return (
        f"{what} belongs to account {account!r}. A second budget for the same people would "
        "break the promise made with the first. Nothing was charged. Use "
        f"account={account!r}, and open the table again."
    )


def check_new(account: Account, sources: Sequence[str]) -> None:
    """Refuse what the first charge would refuse to open, before anybody plans with it."""
    for name in (account.name, *sources):
        _refuse_login(name)
    if account.has_limit:
        limit_units(account.limit, "The budget")
    _check_relation(account)


def _check_relation(account: Account) -> None:
    """Refuse windows where a user is replaced: the number of users of each would be public."""
    if account.windows is not None and account.neighbours is not Neighbours.ADD_REMOVE:
        raise UsageError(
            f"An account with a budget for each {account.windows.unit} protects also how many "
            f"users a {account.windows.unit} has: neighbours='add-remove'. Nothing was charged."
        )


def _refuse_login(name: str) -> None:
    """Names are printed, and a ledger never forgets."""
    # The path in a record of an inode stands beside it by itself.
    if not is_number(name) and holds_login(name):
        raise UsageError(
            "The name of an account or of its source looks like an address with a user name or a "
            "password in it. It is not repeated here and was not written down. Name the account: "
            "account='web-events'. Nothing was charged."
        )


def _not_covered(name: str, sources: Sequence[str], covering: Sequence[Rows]) -> list[str]:
    missing = []
    for source, found in zip(sources, covering, strict=True):
        if not found:
            missing.append(source)
        elif found[0][0] != name:
            raise LedgerError(taken(source, found[0][0]))
    return list(dict.fromkeys(missing))


def _new(account: Account, analyst: str, head: Head) -> tuple[dict[str, Any], Step, Head]:
    _check_relation(account)
    rho, delta = limit_units(account.limit, "The budget") if account.has_limit else NO_LIMIT
    fixed = {"neighbours": account.neighbours.value, "stated_delta": str(account.stated_delta)}
    step, head = append(
        head,
        kind=OPEN,
        account=account.name,
        analyst=analyst,
        neighbours=account.neighbours.value,
        event=json.dumps({"stated_delta": fixed["stated_delta"]}),
        rho=rho,
        delta=delta,
    )
    limits = {"rho_limit": rho, "delta_limit": delta}
    nothing = {"rho_spent": 0, "delta_spent": 0, "has_quotas": 0}
    return {"name": account.name, **fixed, **limits, **nothing}, step, head


def _new_windows(
    account: Account, windows: Windows, analyst: str, head: Head
) -> tuple[dict[str, Any], Step, Head]:
    rho, delta = limit_units(windows.limit, "The budget of a window")
    step, head = append(
        head,
        kind=PER_WINDOW,
        account=account.name,
        analyst=analyst,
        key=windows.unit,
        event=windows.record,
        rho=rho,
        delta=delta,
    )
    row = {
        "account": account.name,
        "level": windows.unit,
        "time_column": windows.column,
        "zone": windows.zone or "",
        "stated_delta": str(windows.stated_delta),
        "rho_limit": rho,
        "delta_limit": delta,
    }
    return row, step, head


def check_same(
    account: Account,
    budget: Budget | None,
    neighbours: Neighbours,
    windows: Windows | None = None,
) -> None:
    """Refuse to use an account for another promise than it was opened with."""
    if account.neighbours is not neighbours:
        raise LedgerError(
            f"Account {account.name!r} was opened for {account.neighbours.sentence}; it cannot be "
            f"used for {neighbours.sentence}. Nothing was charged."
        )
    if windows is not None:
        check_same_windows(account.name, account.windows, windows)
    if budget is None:
        return
    if zcdp_of(budget) != account.limit or budget.stated_delta != account.stated_delta:
        raise LedgerError(
            f"The budget is another than that of {account}. A budget is a promise and does not "
            "change. Nothing was charged. Leave budget out to use the account as it is."
        )


def set_quota(
    writer: Writer, ledger: str, analyst: str, account: Account, whose: str, budget: Share
) -> tuple[Quota, Head]:
    """Let one analyst spend up to ``budget`` of an account; what they spent before counts."""
    (last,) = writer.run((LAST, {}))
    head = head_from(last, ledger)
    quota, head, steps = _quota_steps(writer, head, analyst, account, whose, budget)
    writer.finish(*steps)
    return quota, head


def _quota_steps(
    writer: Writer, head: Head, analyst: str, account: Account, whose: str, budget: Share
) -> tuple[Quota, Head, list[Step]]:
    """The quota, and what is to be written to set it."""
    who = {"account": account.name, "analyst": whose}
    ((spent,),) = writer.run((SPENT_BY, who))
    so_far = from_units(int(spent[0]), int(spent[1]))
    if budget == 0:
        limit = so_far
    elif account.has_limit:
        limit = spend_of(budget, account.limit, account.stated_delta)
    else:
        # Of an account that only counts there is no share: a budget of its own.
        limit = zcdp_of(budget)
    if not limit <= account.limit:
        raise UsageError(
            f"A quota of {_said(budget)} is more than account {account.name!r} has. Nothing was "
            "changed."
        )
    if not so_far <= limit:
        has = shown(
            Account("", account.neighbours, limit, so_far, account.stated_delta).epsilon_spent
            if account.has_limit
            else epsilon_at(so_far.rho, account.noise_delta)
        )
        raise UsageError(
            f"{whose!r} has spent epsilon {has} of account {account.name!r} already, more than a "
            f"quota of {_said(budget)}. Nothing was changed. To let {whose!r} spend nothing more, "
            "set it to 0."
        )
    rho, delta = limit_units(limit, "The quota")
    row = {**who, "rho_limit": rho, "delta_limit": delta}
    row |= {"rho_spent": int(spent[0]), "delta_spent": int(spent[1])}
    step, head = append(
        head,
        kind=QUOTA,
        account=account.name,
        analyst=analyst,
        key=whose,
        rho=rho,
        delta=delta,
    )
    steps: list[Step] = [(SET_QUOTA, row), (HAS_QUOTAS, {"account": account.name}), step]
    return Quota(account.name, whose, limit, so_far), head, steps


def _said(share: Share) -> str:
    """A share for people, who may have written it in Python or in a shell."""
    if share == 0:
        return "0"
    if share.epsilon is not None:
        return f"epsilon {float(share.epsilon):g}"
    return f"rho {float(share.rho or 0):g}"
