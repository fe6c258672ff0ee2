"""What an owner writes to ask devices something: a task file, in YAML or as a mapping.

Owner, purpose and expiry are required, as in Glean: whoever is asked can see who asks, why, and
until when. A key that is not known is refused with the nearest one that is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from headcount.errors import UsageError
from headcount.fleet.characters import characters_of, is_allowed
from headcount.fleet.evidence_kinds import check_kind
from headcount.privacy.argument import Check, shown, whole
from headcount.privacy.yaml_file import mapping_of, read_mapping

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
DURATION = re.compile(r"([1-9][0-9]{0,6})([smhd])")
NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
MOST_BYTES = 252
"""Of one answer: what a report of 256 bytes has room for."""
MOST_SAMPLES = 1_000
MOST_DAYS = 366
MOST_GROUPS = 1_000
SAMPLE, NOISE = "sample", "noise"
NOTHING = "Nothing was charged."


@dataclass(frozen=True, slots=True)
class Question:
    """What each device is asked, and which answers are taken."""

    max_bytes: int
    pattern: str = ""
    sql: str = ""
    answers: int = 1
    groups: tuple[str, ...] = ()
    """The answers that there are, where they are public; any that the pattern allows otherwise."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """How often devices are asked: ``n`` times, every so many seconds, open for so many."""

    every: int
    keep_open: int
    n: int


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A task as its owner writes it; the rate and the threshold follow from what may be spent."""

    task: str
    population: str
    owner: str
    purpose: str
    expires: str
    question: Question
    rounds: Rounds
    account: str
    epsilon: str
    cover: bool = True
    method: str = "sample"
    attestation: str = "none"

    def check_expiry(self, today: date) -> None:
        """Refuse what is over, and what would go on for more than a year."""
        days = (date.fromisoformat(self.expires) - today).days
        if not 0 <= days <= MOST_DAYS:
            raise UsageError(
                f"expires must be a day from today to a year ahead, not {self.expires}. {NOTHING}"
            )
        if self.rounds.n * self.rounds.every > days * 86400:
            raise UsageError(
                f"{self.rounds.n} rounds are not over when the task expires, on {self.expires}. "
                f"{NOTHING}"
            )

    def record(self) -> dict[str, Any]:
        """The same as plain values, with every default said."""
        asked, rounds = self.question, self.rounds
        question: dict[str, Any] = {"max_bytes": asked.max_bytes, "answers": asked.answers}
        question |= {"pattern": asked.pattern, "sql": asked.sql}
        if asked.groups:
            question["groups"] = list(asked.groups)
        return {
            "task": self.task,
            "population": self.population,
            "owner": self.owner,
            "purpose": self.purpose,
            "expires": self.expires,
            "question": question,
            "rounds": {"every": rounds.every, "keep_open": rounds.keep_open, "n": rounds.n},
            "spend": {"account": self.account, "epsilon": self.epsilon},
            "cover": self.cover,
            "method": self.method,
            "attestation": self.attestation,
        }


def read_file(path: str | Path) -> TaskFile:
    """The task that a YAML file describes."""
    return read_task(mapping_of(path, "The task file"))


def read_task(given: Any) -> TaskFile:
    """The task that a mapping describes; refused with what is wrong with it."""
    values = read_mapping(
        given, "the task", TASK, {"cover": True, "method": "sample"} | NO_ATTESTATION
    )
    spend = values.pop("spend")
    task = TaskFile(**values, account=spend["account"], epsilon=spend["epsilon"])
    rounds, answers = task.rounds, task.question.answers
    if rounds.keep_open > rounds.every:
        raise UsageError(f"A round must close before the next one opens: keep_open. {NOTHING}")
    if rounds.n * answers > MOST_SAMPLES:
        raise UsageError(
            f"A period has at most {MOST_SAMPLES:,} rounds and answers together, and this one "
            f"{rounds.n * answers:,}. {NOTHING}"
        )
    check_method(task)
    return task


def check_method(task: TaskFile) -> None:
    """Refuse what a method has no place for."""
    asked = task.question
    if task.method == SAMPLE and asked.groups:
        raise UsageError(
            f"groups are for the method 'noise': a sample shows whichever are large. {NOTHING}"
        )
    # [FN1] Who has no answer is not to be told from who has one.
    if task.method == NOISE and not task.cover:
        raise UsageError(
            "By the method 'noise' every device sends a report: without cover, how many did would "
            f"say how many had an answer. Leave cover out. {NOTHING}"
        )
    if not all(is_allowed(one, asked.pattern, asked.max_bytes) for one in asked.groups):
        raise UsageError(
            f"groups must be answers that pattern and max_bytes allow, each of them. {NOTHING}"
        )


def _refused(name: str, needed: str, value: Any) -> UsageError:
    return UsageError(f"{name} must be {needed}, not {shown(value)}. {NOTHING}")


def _text(most: int, least: int = 1) -> Check:
    def read(value: Any, name: str) -> str:
        if not isinstance(value, str) or not least <= len(value) <= most:
            raise _refused(name, f"a text of {least} to {most} characters", value)
        if not value.isprintable():
            raise UsageError(f"{name} has a character that cannot be seen. {NOTHING}")
        return value

    return read


def _name(value: Any, name: str) -> str:
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise _refused(name, "a name of small letters, digits, _ and -", value)
    return value


def _day(value: Any, name: str) -> str:
    try:
        day = value if type(value) is date else date.fromisoformat(value)
    except (ValueError, TypeError):
        raise _refused(name, "a day such as 2027-03-01", value) from None
    return day.isoformat()


def _duration(value: Any, name: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    found = DURATION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise _refused(name, "a time such as 30m, 18h or 1d", value)
    return int(found[1]) * SECONDS[found[2]]


def _one_of(*known: str) -> Check:
    def read(value: Any, name: str) -> str:
        if value not in known:
            raise _refused(name, " or ".join(map(repr, known)), value)
        return str(value)

    return read


def _truth(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise _refused(name, "true or false", value)
    return value


def _pattern(value: Any, name: str) -> str:
    pattern: str = _text(200, 0)(value, name)
    characters_of(pattern)
    return pattern


def _sql(value: Any, name: str) -> str:
    if not isinstance(value, str) or len(value) > 4000:
        raise _refused(name, "a text of at most 4,000 characters", value)
    if value and (value.upper().split()[:1] != ["SELECT"] or ";" in value):
        raise UsageError(f"{name} must be one SELECT, without a semicolon. {NOTHING}")
    if not value.translate({9: None, 10: None}).isprintable():
        # Who is asked may see it.
        raise UsageError(f"{name} has a character that cannot be seen. {NOTHING}")
    return value


def _number(value: Any, name: str) -> str:
    from headcount.privacy.argument import number_of

    number = None if isinstance(value, bool) else number_of(value)
    if number is None or number <= 0:
        raise _refused(name, "a number above 0", value)
    return str(number)


def _question(value: Any, name: str) -> Question:
    return Question(
        **read_mapping(
            value, name, QUESTION, {"pattern": "", "sql": "", "answers": 1, "groups": []}
        )
    )


def _rounds(value: Any, name: str) -> Rounds:
    return Rounds(**read_mapping(value, name, ROUNDS, {}))


def _spend(value: Any, name: str) -> dict[str, str]:
    return read_mapping(value, name, {"account": _text(2000), "epsilon": _number}, {})


def _attestation(value: Any, name: str) -> str:
    return check_kind(value)


def _groups(value: Any, name: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or len(value) > MOST_GROUPS:
        raise _refused(name, f"a list of at most {MOST_GROUPS:,} answers", value)
    if not all(isinstance(one, str) for one in value) or len(set(value)) < len(value):
        raise UsageError(f"{name} must be texts, each of them once. {NOTHING}")
    return tuple(value)


NO_ATTESTATION = {"attestation": "none"}
QUESTION: dict[str, Check] = {
    "max_bytes": whole(1, MOST_BYTES, "64"),
    "pattern": _pattern,
    "sql": _sql,
    "answers": whole(1, MOST_SAMPLES, "1"),
    "groups": _groups,
}
ROUNDS: dict[str, Check] = {
    "every": _duration,
    "keep_open": _duration,
    "n": whole(1, MOST_SAMPLES, "30"),
}
TASK: dict[str, Check] = {
    "task": _name,
    "population": _name,
    "owner": _text(200),
    "purpose": _text(500),
    "expires": _day,
    "question": _question,
    "rounds": _rounds,
    "spend": _spend,
    "cover": _truth,
    "method": _one_of(SAMPLE, NOISE),
    "attestation": _attestation,
}
