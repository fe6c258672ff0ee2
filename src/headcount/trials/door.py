"""Whole releases through the one door, with a chance and a key of the auditor's; and its trial.

What is audited is what a user gets: the same plan, charge, read and draw. Only where noise, choices
and the secret of the release come from is said to the door.

The trial holds the door to its charges: one charge shows one answer, whoever drew first, and an
old charge shows and draws no more than it paid for.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import headcount as hc
from headcount.audit.neighbours import heavy
from headcount.audit.verdict import Finding, Tier
from headcount.errors import EngineError, LedgerError
from headcount.ledger.ledger import Ledger
from headcount.mechanisms.chance import Chance
from headcount.privacy.event import GaussianNoise
from headcount.releases import run as run_module
from headcount.releases.dataset import Dataset
from headcount.releases.plan import Plan
from headcount.releases.run import Entropy, new_secret
from headcount.releases.session import Answer, Session
from headcount.results.release import Release
from headcount.trials.seam import Recorder, swapped
from headcount.trials.tables import GROUP, USER, arrow_table
from headcount.trials.trial import Case, Effort, Trial

ACCOUNT = "audit"


@contextmanager
def opened(
    source: Any, *, user: str = USER, epsilon: float = 1, delta: float = 1e-2, **options: Any
) -> Iterator[Dataset]:
    """A table and an account of its own, in a ledger that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        yield hc.open(
            source,
            user=user,
            account=ACCOUNT,
            budget=hc.Budget(epsilon=epsilon, delta=delta),
            ledger=Ledger(Path(folder) / "ledger.db", heads=Path(folder) / "heads"),
            **options,
        )


def released(
    plan: Plan,
    chance: Chance,
    new_key: Callable[[], bytes] = new_secret,
    **how: Any,
) -> Release:
    """What ``plan.release()`` gives, drawn from this chance under this key."""
    release: Release = replace(plan, _entropy=Entropy(chance, new_key)).release(**how)
    return release


def shown_in(release: Release, recorder: Recorder) -> dict[int, Any]:
    """The group that each entry was released for.

    Results are as large as their entries are late, and the largest is that of the last one: this
    tells how large a step is in the units of the release.
    """
    table = release.to_arrow()
    groups, counts = table.column(GROUP).to_pylist(), table.column("count").to_pylist()
    step = max([1, *counts]) / max(1, recorder.n_drawn)
    return {round(count / step) - 1: group for group, count in zip(groups, counts, strict=True)}


def one_key() -> bytes:
    """A key for both of two tables, so that what everyone else brings is kept alike."""
    return bytes(32)


@contextmanager
def planned(n: int = 1) -> Iterator[list[Plan]]:
    """A release of one draw, as so many processes would plan it with one ledger."""
    with opened(arrow_table(heavy(40, 2))) as data:
        others = [
            hc.open(
                arrow_table(heavy(40, 2)),
                user=USER,
                account=ACCOUNT,
                budget=hc.Budget(epsilon=1, delta=1e-2),
                ledger=data.ledger,
            )
            for _ in range(n - 1)
        ]
        yield [one.profile(GROUP, spend="1/8") for one in (data, *others)]


def answers_of_one_charge() -> Finding:
    """Another process draws under the charge of a release, and is first."""
    shown: list[Any] = []

    def show(plan: Plan, chance: Chance) -> None:
        shown.append(released(plan, chance).to_arrow().to_pylist())

    with planned(2) as (plan, other):

        def read_and_draw(session: Session) -> Answer:
            answer = plan.work.read_and_draw(session)
            show(other, Recorder(n_drawn=99))
            return answer

        show(replace(plan, work=replace(plan.work, read_and_draw=read_and_draw)), Recorder())
        show(plan, Recorder())
    n_answers = len({str(rows) for rows in shown})
    subject = "another process draws first"
    return Finding(Tier.GREY_BOX, subject, "answers of one charge", 1, n_answers)


def shown_for_less(*, cut_short: bool) -> Finding:
    """The question was charged before, for more noise than the release has."""
    with planned() as (plan,):
        event = plan.work.event
        if not isinstance(event, GaussianNoise):
            raise TypeError("a release of one draw of Gaussian noise")
        work = replace(plan.work, event=replace(event, sigma_squared=100 * event.sigma_squared))
        if cut_short:
            work = replace(work, read_and_draw=_cut_short)
        with suppress(EngineError) if cut_short else nullcontext():
            released(replace(plan, work=work), Recorder())
        try:
            released(plan, Recorder())
            found = 1
        except LedgerError:
            found = 0
    subject = "charged for more noise, and cut short" if cut_short else "charged for more noise"
    return Finding(Tier.GREY_BOX, subject, "releases that were not paid for", 0, found)


def _cut_short(_session: Session) -> Answer:
    raise EngineError


@contextmanager
def own_rows() -> Iterator[None]:
    """What was drawn is shown, whatever is stored."""
    drawn: list[bytes] = []
    shipped = run_module._withholding_engine_errors

    def draw(*arguments: Any) -> bytes:
        drawn.append(shipped(*arguments))
        return drawn[-1]

    class Own(Release):
        @classmethod
        def from_bytes(cls, payload: bytes, **named: Any) -> Release:
            return Release.from_bytes(payload if "again" in named else drawn[-1], **named)

    with (
        swapped(run_module, "_withholding_engine_errors", draw),
        swapped(run_module, "Release", Own),
    ):
        yield


def nothing_refused() -> AbstractContextManager[None]:
    """Whatever an old charge paid for, the question is answered under it."""
    return swapped(run_module, "_refuse_unpaid", lambda _work, _charge: None)


def _examined(
    swap: Callable[[], AbstractContextManager[None]],
) -> Callable[[Effort], Sequence[Finding]]:
    def examined(_effort: Effort) -> Sequence[Finding]:
        with swap():
            return [
                answers_of_one_charge(),
                *(shown_for_less(cut_short=cut_short) for cut_short in (False, True)),
            ]

    return examined


TRIAL = Trial(
    "door",
    (
        Case("as shipped", _examined(nullcontext), is_mutant=False),
        Case("rows of its own, whatever is stored", _examined(own_rows)),
        Case("nothing refused under an old charge", _examined(nothing_refused)),
    ),
)
