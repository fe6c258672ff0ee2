"""What a task asks of devices, shows and costs, in words: from the task and the account alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.fleet.noise_rounds import NoiseRounds
from headcount.fleet.plan import mechanism_of
from headcount.fleet.posts import REPORT
from headcount.fleet.task_file import SECONDS
from headcount.privacy.unit import Device
from headcount.releases.promised import guarantee_of

if TYPE_CHECKING:
    from headcount.fleet.task import Task
    from headcount.ledger.account import Account
    from headcount.mechanisms.sample_threshold import SampleThreshold

DAY = 86_400
ONLY_ANALYST = "Without cover, whoever carries or keeps reports sees how many were sampled"


def plan_lines(task: Task, account: Account, devices: int) -> list[tuple[str, str]]:
    """Each line of a plan, by its name.

    devices: for how many of them uploads are added up
    """
    file, mechanism = task.file, mechanism_of(task)
    event, neighbours = mechanism.event, mechanism.neighbours
    return [
        ("task", f"{file.task}, asked by {file.owner}: {file.purpose}"),
        ("rounds", _rounds(task)),
        *(_noise(mechanism) if isinstance(mechanism, NoiseRounds) else _sample(mechanism)),
        ("promise", str(guarantee_of(Device(file.population), account, event, neighbours))),
        ("uploads", _uploads(task, devices)),
        ("account", _account(account)),
    ]


def _sample(mechanism: SampleThreshold) -> list[tuple[str, str]]:
    half, nearly_all = mechanism.size_missed_with(0.5), mechanism.size_missed_with(0.05)
    return [
        ("rate", f"a device's answer is sampled with chance {float(mechanism.rate):.4g}"),
        ("threshold", f"an answer is shown from {mechanism.threshold:,} sampled devices on"),
        (
            "shown",
            f"an answer that {half:,} devices give in half of all rounds, one that "
            f"{nearly_all:,} give in 95 of 100",
        ),
    ]


def _noise(mechanism: NoiseRounds) -> list[tuple[str, str]]:
    one = mechanism.one
    shown = "all answers on the task's list"
    if one.threshold is not None:
        half, nearly_all = one.threshold + 1, one.threshold + 1 + round(one.error_bound(0.9))
        shown = (
            f"an answer that {half:,} devices give in half of all rounds, one that "
            f"{nearly_all:,} give in 95 of 100"
        )
    return [
        ("noise", f"each count is off by less than {one.error_bound(0.95):.4g} in 95 of 100"),
        ("shown", shown),
        ("core", "reads the answers of all devices, without names; the noise is added there"),
    ]


def _rounds(task: Task) -> str:
    rounds = task.file.rounds
    return (
        f"{rounds.n:,}, one every {_time(rounds.every)}, open for {_time(rounds.keep_open)}; all "
        f"are paid for by one charge, and over by {task.file.expires}"
    )


def _uploads(task: Task, devices: int) -> str:
    a_day = task.file.question.answers * DAY / task.file.rounds.every
    sent = a_day if task.file.cover else a_day * float(task.terms.rate)
    each = f"{_number(sent)} of {REPORT} bytes from each device a day"
    total = f"from {devices:,} devices {_number(sent * devices)}, {_bytes(sent * devices)}"
    if task.file.cover:
        return f"{each}, whether or not it is sampled; {total}"
    return f"about {each}; {total}. {ONLY_ANALYST}"


def _account(account: Account) -> str:
    said = str(account).removeprefix("account ")
    return f"{said}; epsilon {account.shown_left} left for one release"


def _time(seconds: int) -> str:
    """As a task file writes it, in the largest unit that it is a whole number of."""
    unit = next(name for name in reversed(SECONDS) if seconds % SECONDS[name] == 0)
    return f"{seconds // SECONDS[unit]}{unit}"


def _number(n: float) -> str:
    return f"{n:,.0f}" if n >= 100 else f"{n:.3g}"


def _bytes(reports: float) -> str:
    size = reports * REPORT
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} TB"
