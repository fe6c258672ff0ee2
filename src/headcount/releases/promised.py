"""What a release promises and what else is said of it, whoever the protected are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headcount.accounting.compose import cost, cost_in_account
from headcount.accounting.convert import stated_epsilon
from headcount.privacy.guarantee import Guarantee
from headcount.results.facts import CONFIDENCE, Facts
from headcount.version import __version__

if TYPE_CHECKING:
    from headcount.ledger.account import Account
    from headcount.privacy.event import Event
    from headcount.privacy.neighbours import Neighbours
    from headcount.privacy.unit import Unit
    from headcount.releases.session import Answer


def guarantee_of(
    unit: Unit,
    account: Account,
    event: Event,
    neighbours: Neighbours,
    *,
    vouched: str | None = None,
    presence: str | None = None,
) -> Guarantee:
    """The promise to one user or one device, at what the event costs in the account.

    It is said at the account's delta, as plans, receipts and statements say it. What is left of
    that delta for other thresholds is not used, so that the promise holds with some to spare.
    """
    spend = cost_in_account(cost(event), neighbours, account.neighbours)
    at = account.noise_delta + spend.delta
    return Guarantee(
        unit=unit,
        neighbours=account.neighbours,
        spend=spend,
        epsilon=stated_epsilon(spend, at),
        delta=account.stated_delta,
        vouched=vouched,
        presence=presence,
    )


def facts_of(
    answer: Answer,
    guarantee: Guarantee,
    verb: str,
    account: str,
    entry: int,
    asked: Mapping[str, str] | None = None,
    settled: Mapping[str, str] | None = None,
) -> Facts:
    """Everything public about the rows of an answer."""
    return Facts(
        verb=verb,
        method=answer.method,
        guarantee=str(guarantee),
        rho=str(guarantee.spend.rho),
        delta=str(guarantee.spend.delta),
        bounds=answer.bounds,
        noise=answer.noise,
        confidence=CONFIDENCE,
        account=account,
        entry=entry,
        version=__version__,
        notes=answer.notes,
        value=answer.value,
        stated=answer.stated,
        bars=answer.bars,
        asked=asked or {},
        settled=settled or {},
    )
