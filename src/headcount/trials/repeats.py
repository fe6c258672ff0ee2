"""Trial of the door, asked again: each answer has a charge of its own, and each release a secret.

A question is released, released again, fresh, under keys, and by its key. However it is asked,
there are no more answers than charges, and the account has paid for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import Any

from headcount.audit.neighbours import heavy
from headcount.audit.verdict import Finding, Tier
from headcount.errors import BudgetError
from headcount.ledger.ledger import Ledger
from headcount.mechanisms.chance import Drawn
from headcount.releases import run as run_module
from headcount.releases.session import Answer, Session
from headcount.trials.door import ACCOUNT, opened, own_rows, planned, released
from headcount.trials.seam import Recorder, swapped
from headcount.trials.tables import GROUP, arrow_table
from headcount.trials.trial import Case, Effort, Trial

KEY_BYTES = 32
ASKED: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"key": "monday"},
    {"fresh": True},
    {"fresh": True, "key": "monday"},
    {"fresh": True, "key": "monday"},
    {"fresh": True, "key": "tuesday"},
    {"key": "tuesday"},
)


def answers_and_charges() -> list[Finding]:
    """Ask in all these ways, and by the keys; noise is another each time, so a new draw shows."""
    with planned() as (plan,):
        shown = [released(plan, Recorder(n_drawn=1000 * i), **how) for i, how in enumerate(ASKED)]
        shown += [released(plan, Recorder(n_drawn=99), again=one.key) for one in shown]
        n_charges = len(plan.ledger.entries(ACCOUNT))
        paid, price = plan.ledger.account(ACCOUNT).spent, plan.spend
    n_answers = len({one.to_bytes() for one in shown})
    subject = "a question that is asked again"
    return [
        Finding(Tier.GREY_BOX, subject, "answers", n_charges, n_answers),
        Finding(Tier.GREY_BOX, subject, "rho", float(paid.rho), n_answers * float(price.rho)),
    ]


def drawn_again(n: int = 3) -> list[Finding]:
    """Secrets and noise of releases that a user makes: of the system, and others each time."""
    keys: list[bytes] = []
    with planned() as (plan,):

        def read_and_draw(session: Session) -> Answer:
            keys.append(session.key)
            return plan.work.read_and_draw(session)

        seen = replace(plan, work=replace(plan.work, read_and_draw=read_and_draw))
        rows = [str(seen.release(fresh=True).to_arrow().to_pylist()) for _ in range(n)]
    subject = "releases of one plan"
    n_keys = len({key for key in keys if len(key) == KEY_BYTES})
    return [
        Finding(Tier.GREY_BOX, subject, "secrets used again", 0, n - n_keys),
        Finding(Tier.GREY_BOX, subject, "noise used again", 0, n - len(set(rows))),
    ]


def beyond_the_limit() -> Finding:
    """Half of the limit three times: the last is refused, however it is asked for."""
    shown: list[Any] = []
    with opened(arrow_table(heavy(40, 2))) as data, suppress(BudgetError):
        plan = data.profile(GROUP, spend="1/2")
        for _ in range(3):
            shown.append(released(plan, Recorder(), fresh=True))
    n = len(shown)
    return Finding(Tier.GREY_BOX, "an account of two halves", "halves that it paid for", 2, n)


@contextmanager
def under_the_old_charge() -> Iterator[None]:
    """A fresh draw finds the charge of the first one, and is shown."""
    shipped = Ledger.charge

    def charge(ledger: Ledger, *arguments: Any, **named: Any) -> Any:
        found = shipped(ledger, *arguments, **{**named, "fresh": False})
        return replace(found, result=None) if named["fresh"] else found

    with swapped(Ledger, "charge", charge), own_rows():
        yield


def one_noise() -> AbstractContextManager[None]:
    """Noise of one law and length is drawn once in a process."""
    drawn: dict[tuple[Any, int], Any] = {}
    shipped = Drawn.noisy

    def noisy(chance: Drawn, true_counts: Any, law: Any) -> Any:
        place = (law, len(true_counts))
        if place not in drawn:
            drawn[place] = shipped(chance, true_counts, law) - true_counts
        return true_counts + drawn[place]

    return swapped(Drawn, "noisy", noisy)


def one_secret() -> AbstractContextManager[None]:
    """All releases of a process have one secret."""

    def session(chance: Any, _key: bytes, *others: Any) -> Session:
        return Session(chance, bytes(32), *others)

    return swapped(run_module, "Session", session)


def _examined(
    swap: Callable[[], AbstractContextManager[None]],
) -> Callable[[Effort], Sequence[Finding]]:
    def examined(_effort: Effort) -> Sequence[Finding]:
        with swap():
            return [*answers_and_charges(), *drawn_again(), beyond_the_limit()]

    return examined


TRIAL = Trial(
    "repeats",
    (
        Case("as shipped", _examined(nullcontext), is_mutant=False),
        Case("a fresh draw under the old charge", _examined(under_the_old_charge)),
        Case("one secret for all releases", _examined(one_secret)),
        Case("one noise for all releases", _examined(one_noise)),
    ),
)
