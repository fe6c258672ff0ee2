"""The statement of an account: a document that a privacy officer can file.

Its words are those of NIST SP 800-226, *Guidelines for Evaluating Differential Privacy
Guarantees*: unit of privacy, privacy loss, sensitivity, trust model, side channels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import filterfalse
from typing import TYPE_CHECKING, Any

from headcount.accounting.convert import epsilon_at, shown
from headcount.ledger.account import Account, Entry, Quota
from headcount.ledger.opening import is_number
from headcount.ledger.statement import windows
from headcount.ledger.statement.bar import percent, percent_of, share_of, svg_bar, text_bar
from headcount.ledger.statement.devices import from_devices
from headcount.ledger.statement.page import (
    Block,
    Figure,
    Grid,
    Heading,
    Items,
    Paragraph,
    html,
    markdown,
)
from headcount.privacy.event import to_record
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp
from headcount.privacy.windows import FARTHEST
from headcount.version import __version__

if TYPE_CHECKING:
    from headcount.ledger.ledger import Ledger

EVER = (-FARTHEST, FARTHEST)
NOT_COVERED = (
    "Side channels: how long a release takes, memory, the engine's own logs, and what else can be "
    "seen of the machine that computes it.",
    "Whoever holds the raw data or runs the machine or the database. The trust model is that of a "
    "trusted curator (central model).",
    "One person with several user ids: the unit of privacy is the user id.",
    "Releases made without this ledger, and copies or extracts of the data that were opened under "
    "another account or in another ledger.",
    "Conclusions about a person that follow from statistics about everybody, whether or not that "
    "person's rows are in the data.",
    "Exposure of the data before a release: how it is collected, stored and transferred.",
    "How useful the numbers are. Noise, bounds and thresholds cost accuracy; each release states "
    "its own error bars.",
)


def epsilon_alone(account: Account, spend: Zcdp) -> Fraction:
    """The epsilon of one release by itself, at the account's delta."""
    return epsilon_at(spend.rho, account.noise_delta)


CALLED = {
    "gaussian-noise": "Gaussian noise",
    "laplace-noise": "Laplace noise",
    "selection": "private choice",
    "gaussian-threshold": "Gaussian noise and threshold",
    "laplace-threshold": "Laplace noise and threshold",
    "filtered": "several private steps under one limit",
    "sample-threshold": "secret sample and threshold",
}
"""What people read in place of an event's kind."""


def mechanism(record: Mapping[str, Any]) -> str:
    """A mechanism and its parameters in one line."""
    if "event" in record:
        return mechanism(record["event"])
    if "events" in record:
        return "; ".join(mechanism(part) for part in record["events"])
    if "event" in record:
        # Which windows paid for it stands beside it.
        return mechanism(record["event"])
    numbers = [
        f"{name.replace('_', ' ')} {_rounded(Fraction(value))}"
        for name, value in record.items()
        if name != "kind"
    ]
    return f"{CALLED[record['kind']]}: {', '.join(numbers)}"


def _rounded(value: Fraction) -> str:
    try:
        return f"{float(value):.4g}"
    except OverflowError:
        # Whoever charges chooses the numbers, and no choice may keep a statement from being made.
        return f"{Decimal(value.numerator) / value.denominator:.4g}"


def statement(ledger: Ledger, name: str, *, as_html: bool = False) -> str:
    """The statement of one account, after the whole ledger was checked again."""
    history = ledger.verify()
    account = ledger.account(name)
    entries = ledger.entries(name)
    head = history.head
    blocks = [
        Heading(f"Privacy statement: {name}", 1),
        Paragraph(
            f"Made {datetime.now(UTC).isoformat(timespec='seconds')} by headcount {__version__} "
            f"from the ledger {ledger.address}."
        ),
        *(
            _summary(account, entries)
            if account.windows is None
            else windows.summary(account, entries, ledger.window_balances(name, *EVER))
        ),
        *_unit(account, entries, list(filterfalse(is_number, ledger.covered_by(name)))),
        *_accounting(account),
        *_releases(account, entries),
        *from_devices(entries),
        *_people(account, entries, ledger.quotas(name)),
        Heading("What is not covered"),
        Items(NOT_COVERED),
        Heading("Integrity of the record"),
        Paragraph(
            f"The ledger {head.ledger} has {head.sequence} entries. Every entry holds the hash of "
            "the one before; all were recomputed for this statement and agree with the sums above "
            f"and with the head kept outside the database. SHA-256 of the newest entry: {head.hash}"
        ),
    ]
    return html(blocks) if as_html else markdown(blocks)


def _summary(account: Account, entries: Sequence[Entry]) -> list[Block]:
    delta = f"{float(account.stated_delta):.3g}"
    spent, limit = shown(account.epsilon_spent), shown(account.epsilon_limit)
    return [
        Heading("Privacy loss"),
        Paragraph(
            f"Releases charged so far: {len(entries)}, with a total privacy loss of at most "
            f"epsilon {spent} at delta {delta}. The limit is epsilon {limit} at delta {delta}; it "
            "was fixed when the account was opened, cannot be raised, and is enforced before data "
            "is read."
        ),
        Figure(f"{text_bar(account)} {percent(account)} spent", svg_bar(account)),
        Paragraph(
            f"{percent(account)} of the budget is spent. What is left allows one more release of "
            f"epsilon {account.shown_left}."
        ),
    ]


def _unit(account: Account, entries: Sequence[Entry], sources: Sequence[str]) -> list[Block]:
    columns = sorted({entry.about["user"] for entry in entries if "user" in entry.about})
    column = f" A user is a value of the column {', '.join(columns)}." if columns else ""
    relation = (
        "the number of users is private (unbounded differential privacy)"
        if account.neighbours is Neighbours.ADD_REMOVE
        else "the number of users is public (bounded differential privacy)"
    )
    protects = (
        f"One user with all their rows (user-level privacy).{column} Neighbouring datasets "
        f"differ by {account.neighbours.sentence}; {relation}."
    )
    if account.windows is not None:
        protects = f"{windows.unit_sentences(account)}{column}"
    blocks: list[Block] = [Heading("Unit of privacy"), Paragraph(protects)]
    vouched = sorted({e.about["trusted_view"] for e in entries if "trusted_view" in e.about})
    if vouched:
        blocks += [
            Paragraph(
                "Some releases counted views. That no row of them depends on two users was not "
                "checked; these vouch for it:"
            ),
            Items(vouched),
        ]
    if sources:
        blocks += [Paragraph("Data that this account covers:"), Items(sources)]
    return blocks


def _accounting(account: Account) -> list[Block]:
    added_up = (
        "Costs add up as delta-approximate rho-zCDP, also when each release was chosen after "
        "seeing the earlier ones (adaptive composition): rho "
        f"{float(account.spent.rho):.6g} of {float(account.limit.rho):.6g}, delta "
        f"{float(account.spent.delta):.3g} of {float(account.limit.delta):.3g} for thresholds. "
        "Epsilon is stated from them, rounded up."
    )
    return [
        Heading("How the loss is bounded and added up"),
        Items(
            [
                "Sensitivity: before noise is added, the contributions of each user are bounded, "
                "so that one user moves the numbers by no more than the sensitivity that the "
                "noise is made for.",
                "Noise is drawn exactly from a discrete distribution, from the operating system's "
                "source of randomness.",
                "Each release is charged before data is read, from its parameters alone. A charge "
                "is never refunded, also when nothing was released in the end.",
                added_up if account.windows is None else windows.added_up(account),
            ]
        ),
    ]


def _releases(account: Account, entries: Sequence[Entry]) -> list[Block]:
    header = ["entry", "charged (UTC)", "analyst", "release", "mechanism", "epsilon alone",
              "share", "delta spent", "result"]  # fmt: skip
    paying = windows.of_a_window(account)
    rows = [
        [
            str(entry.sequence),
            entry.charged_at.removesuffix("+00:00"),
            entry.analyst,
            entry.title,
            mechanism(to_record(entry.event)),
            shown(epsilon_alone(paying, windows.paid_by_a_window(entry))),
            percent_of(share_of(paying, windows.paid_by_a_window(entry))),
            f"{float(windows.paid_by_a_window(entry).delta):.3g}",
            _shown(entry),
        ]
        for entry in entries
    ]
    if not rows:
        return [Heading("Releases"), Paragraph("None so far.")]
    note = Paragraph(
        "Epsilon alone is that of one release by itself. Epsilons do not add up: the total is less "
        "than their sum, because costs are added in another unit, rho. The part of delta that no "
        "threshold has spent lowers the total further. The shares add up to what is spent."
    )
    if account.windows is not None:
        unit = account.windows.unit
        note = Paragraph(
            f"Epsilon, share and delta are those of each {unit} that a release was charged to. "
            f"Epsilons do not add up: costs are added in another unit, rho. The shares of a {unit} "
            "add up to what it has spent."
        )
    return [Heading("Releases"), Grid(header, rows), note]


def _shown(entry: Entry) -> str:
    if entry.n_parts:
        return f"{entry.rounds_shown} released"
    return "released" if entry.has_result else "none; the charge stays"


def spent_by_analyst(entries: Sequence[Entry]) -> dict[str, Zcdp]:
    """What each analyst's charges add up to."""
    spent: dict[str, Zcdp] = {}
    for entry in entries:
        spent[entry.analyst] = spent.get(entry.analyst, Zcdp(0)) + entry.spend
    return spent


def _people(account: Account, entries: Sequence[Entry], quotas: Sequence[Quota]) -> list[Block]:
    limits = {quota.analyst: shown(epsilon_alone(account, quota.limit)) for quota in quotas}
    spent = spent_by_analyst(entries)
    rows = [
        [
            analyst,
            str(sum(entry.analyst == analyst for entry in entries)),
            shown(epsilon_alone(account, spent.get(analyst, Zcdp(0)))),
            limits.get(analyst, "the account's limit"),
        ]
        for analyst in sorted({*limits, *spent})
    ]
    if not rows:
        return []
    return [Heading("By analyst"), Grid(["analyst", "releases", "epsilon spent", "quota"], rows)]
