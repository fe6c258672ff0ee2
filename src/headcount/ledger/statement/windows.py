"""What a statement says of an account with windows: who is protected, and who in many of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from headcount.accounting.convert import epsilon_at, shown
from headcount.ledger.account import Account, Entry
from headcount.ledger.presence import presences, same_in_all, windows_in
from headcount.ledger.statement.page import Block, Grid, Heading, Paragraph
from headcount.ledger.windows import WindowBalance
from headcount.privacy.event import Windowed
from headcount.privacy.spend import Zcdp


def of_a_window(account: Account) -> Account:
    """The account as one of its windows has it: whose limit a release takes a share of."""
    of = account.windows
    if of is None:
        return account
    return replace(
        account, limit=of.limit, spent=Zcdp(0), stated_delta=of.stated_delta, windows=None
    )


def paid_by_a_window(entry: Entry) -> Zcdp:
    """What each window paid for an entry, or the account where there are none."""
    if not isinstance(entry.event, Windowed):
        return entry.spend
    times = entry.event.times
    return Zcdp(entry.spend.rho / times, entry.spend.delta / times)


def summary(
    account: Account, entries: Sequence[Entry], spent: Sequence[WindowBalance]
) -> list[Block]:
    """What each window may lose, and how far the ones that were charged have come."""
    of = windows_in(account)
    delta = f"{float(of.stated_delta):.3g}"
    limit = shown(epsilon_at(of.limit.rho, of.noise_delta))
    most = max((one.spent.rho for one in spent), default=Fraction(0))
    blocks: list[Block] = [
        Heading("Privacy loss"),
        Paragraph(
            f"Each {of.unit} of the data has a budget of its own, which it gets once: "
            f"epsilon {limit} at delta {delta}, fixed when the account was opened and enforced "
            f"before data is read. Releases charged so far: {len(entries)}, to {len(spent):,} "
            f"{of.unit}s; the most that any of them lost is epsilon "
            f"{shown(epsilon_at(most, of.noise_delta))}."
        ),
        *presence_table(account),
    ]
    if account.has_limit:
        blocks.append(
            Paragraph(
                "There is a second limit for whoever is in all of them: epsilon "
                f"{shown(account.epsilon_spent)} of {shown(account.epsilon_limit)} at delta "
                f"{float(account.stated_delta):.3g} is spent."
            )
        )
    return blocks


def presence_table(account: Account) -> list[Block]:
    """What somebody loses at the most who is in so many windows; never without what follows it."""
    of = windows_in(account)
    table = presences(account)
    rows = [
        ["rho", *(f"{float(one.rho):.6g}" for one in table)],
        ["epsilon", *(shown(one.epsilon) for one in table)],
        ["at delta", *(f"{float(one.delta):.3g}" for one in table)],
    ]
    return [
        Grid(["present for", *(one.words for one in table)], rows),
        Paragraph(
            f"What somebody loses at the most by the whole budget of each {of.unit} in which they "
            f"are present. {same_in_all(of.unit)}"
        ),
    ]


def unit_sentences(account: Account) -> str:
    """Who is protected, and what neighbouring datasets differ by."""
    of = windows_in(account)
    clock = f" ({of.zone})" if of.zone else ""
    whom = f"one user with all their rows within one {of.unit}{clock}"
    return (
        f"{whom[:1].upper()}{whom[1:]}, by the times in the column {of.column}; rows without a "
        f"valid time are in no {of.unit} and are never counted. Neighbouring datasets differ by "
        f"adding or removing {whom}; how many users a {of.unit} has is private (unbounded "
        "differential privacy)."
    )


def added_up(account: Account) -> str:
    """How charges add up."""
    of = windows_in(account)
    return (
        "Costs add up for each "
        f"{of.unit} by itself as delta-approximate rho-zCDP, also when each release was chosen "
        f"after seeing the earlier ones (adaptive composition), up to rho "
        f"{float(of.limit.rho):.6g} and delta {float(of.limit.delta):.3g} for thresholds. A "
        f"release reads no row of a {of.unit} that did not pay for it."
    )
