"""What goes into and comes out of the control API, as its OpenAPI document says it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from headcount.fleet.control_store import Applied
from headcount.fleet.schedule import CANCEL, closes_at, opens_at, shown_at
from headcount.fleet.store import Round
from headcount.fleet.task_file import MOST_GROUPS
from headcount.ledger.account import Entry
from headcount.results.release import Release

State = Literal["waiting", "open", "closing", "released", "cancelled"]
Seconds = Annotated[int, Field(description="seconds since 1970, by the database's clock")]
Duration = Annotated[str, Field(pattern="^[1-9][0-9]{0,6}[smhd]$")] | Annotated[int, Field(ge=1)]


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Question(_Given):
    """What each device is asked, and which answers are taken."""

    max_bytes: int
    pattern: str = ""
    sql: str = ""
    answers: int = 1
    groups: list[str] = Field(default=[], max_length=MOST_GROUPS)


class Rounds(_Given):
    """How often devices are asked."""

    every: Duration
    keep_open: Duration
    n: int


class Spend(_Given):
    """Which account pays, and how much at the most."""

    account: str
    epsilon: int | float | str


class TaskGiven(_Given):
    """A task as its owner writes it; the same keys as a task file has."""

    task: str
    population: str
    owner: str
    purpose: str
    expires: str
    question: Question
    rounds: Rounds
    spend: Spend
    cover: bool = True
    method: str = "sample"
    attestation: str = "none"


class JobGiven(_Given):
    """Which round is collected."""

    round: Annotated[int, Field(ge=0, le=999)]


class Problem(BaseModel):
    """A refusal, as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str


class Health(BaseModel):
    """That the process answers."""

    status: Literal["ok"] = "ok"


class TaskShown(BaseModel):
    """A task with its terms, and the entry of the ledger that paid for all of its rounds."""

    id: str
    applied_at: Seconds
    account: str
    entry: int
    asked: dict[str, Any]
    terms: dict[str, Any]


class RoundShown(BaseModel):
    """A round by its times. None of this depends on what devices sent."""

    number: int
    state: State
    opens_at: Seconds
    closes_at: Seconds
    shown_at: Seconds


class Row(BaseModel):
    """One answer that enough devices gave."""

    group: str
    count: int
    low: float
    high: float
    sd: float


class EntryShown(BaseModel):
    """What the statement says of the charge that paid."""

    account: str
    entry: int
    part: int
    charged_at: str
    rho: str
    delta: str
    about: dict[str, str]


class ReleaseShown(BaseModel):
    """What a round shows; the same bytes whenever it is asked for."""

    task: str
    round: int
    rows: list[Row]
    guarantee: str
    method: str
    bounds: str
    noise: str
    confidence: float
    notes: list[str]
    statement: EntryShown


class JobShown(BaseModel):
    """A collection job; ``release`` is there once the round is shown."""

    job: str
    task: str
    round: int
    state: Literal["collecting", "released", "cancelled"]
    release: ReleaseShown | None = None


def task_shown(one: Applied) -> TaskShown:
    """A task as it is shown."""
    task = one.task
    return TaskShown(
        id=task.id.hex(),
        applied_at=one.at,
        account=one.account,
        entry=one.entry,
        asked=task.file.record(),
        terms=task.terms.record(),
    )


def round_shown(
    one: Applied, number: int, opened: Round | None, order: str | None, now: int, delay: int
) -> RoundShown:
    """A round as it is shown: by the clock, and not by how far a driver has come."""
    if opened is None:
        opens, closes = opens_at(one.task, one.at, number), closes_at(one.task, one.at, number)
    else:
        opens, closes = opened.descriptor.opens, opened.descriptor.closes
    # Whether a late count has ended is not to be seen before the next time that it could be shown.
    finished = closes if opened is None else opened.finished or now + 1
    shown = shown_at(closes, finished, delay)
    return RoundShown(
        number=number,
        state=_state(opened, order, now, closes, shown),
        opens_at=opens,
        closes_at=closes,
        shown_at=shown,
    )


def _state(opened: Round | None, order: str | None, now: int, closes: int, shown: int) -> State:
    if opened is None:
        return "cancelled" if order == CANCEL else "waiting"
    if opened.state == "cancelled":
        return "cancelled"
    if opened.state == "released" and now >= shown:
        return "released"
    return "open" if opened.state == "open" and now < closes else "closing"


def release_shown(one: Applied, number: int, release: Release, entry: Entry) -> ReleaseShown:
    """A release as it is shown, with the charge that paid for it."""
    facts = release.facts
    return ReleaseShown(
        task=one.task.id.hex(),
        round=number,
        rows=[Row(**row) for row in release.to_arrow().to_pylist()],
        guarantee=facts.guarantee,
        method=facts.method,
        bounds=facts.bounds,
        noise=facts.noise,
        confidence=facts.confidence,
        notes=list(facts.notes),
        statement=EntryShown(
            account=entry.account,
            entry=entry.sequence,
            part=number,
            charged_at=entry.charged_at,
            rho=str(entry.spend.rho),
            delta=str(entry.spend.delta),
            about=dict(entry.about),
        ),
    )
