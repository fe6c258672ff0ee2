"""What the keys of a series' file may say: the checks of each, and what is made of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta, tzinfo
from string import Formatter
from typing import Any
from zoneinfo import ZoneInfo

from headcount.errors import UsageError
from headcount.privacy.argument import NOTHING, Check, refused, shown, text
from headcount.privacy.budget import Budget
from headcount.privacy.yaml_file import read_mapping
from headcount.series.calendar import EVERY
from headcount.tables.by import Truncate, parse_group

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
SPAN = re.compile(r"([0-9]{1,5}) (hour|day|week)s?")
AGES = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
ONE_DAY, OTHER_DAY = date(2026, 3, 1), date(2026, 3, 2)


def name(value: Any, key: str) -> str:
    """What a release is called, in keys of the ledger and names of files."""
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise refused(key, "a name of letters, digits, _ and -", value, "pages")
    return value


def day(value: Any, key: str) -> date:
    """A day, as YAML has it or as a text."""
    if type(value) is date:
        return value
    try:
        if not isinstance(value, str):
            raise ValueError
        return date.fromisoformat(value)
    except ValueError:
        raise refused(key, "a day", value, f"{key}: 2026-03-01") from None


def days(value: Any, key: str) -> tuple[date, ...]:
    """Several days."""
    if not isinstance(value, list):
        raise refused(key, "a list of days", value, f"{key}: [2026-03-01, 2026-03-02]")
    return tuple(day(one, key) for one in value)


def length(value: Any, key: str) -> timedelta:
    """How long something takes or lasts."""
    found = SPAN.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise refused(key, "so many hours, days or weeks", value, f"{key}: 2 days")
    return int(found[1]) * AGES[found[2]]


def zone(value: Any, key: str) -> str:
    """A zone that this machine knows."""
    try:
        ZoneInfo(text(f"{key}: Europe/Stockholm")(value, key))
    except (OSError, ValueError, KeyError):
        raise refused(key, "the name of a time zone", value, f"{key}: Europe/Stockholm") from None
    return str(value)


def tz(named: str | None) -> tzinfo:
    """The zone of a calendar: as named, or UTC."""
    return ZoneInfo(named or "UTC")


def window(value: Any, key: str) -> Truncate:
    """The column of times and the unit of the account's windows."""
    read = parse_group(value) if isinstance(value, str) else None
    if not isinstance(read, Truncate) or read.to not in EVERY:
        needed = f"a column of times and one of {', '.join(EVERY)}"
        raise refused(key, needed, value, f"{key}: time:day")
    return read


def every(value: Any, key: str) -> str:
    """How often a release comes."""
    if value not in EVERY:
        raise refused(key, f"one of {', '.join(EVERY)}", value, f"{key}: week")
    return str(value)


def budget(value: Any, key: str) -> Budget:
    """A limit or a spend: epsilon or rho, and a delta."""
    said = read_mapping(value, key, _BUDGET, dict.fromkeys(_BUDGET))
    return Budget(**said)


def budget_per(value: Any, key: str) -> tuple[Budget, str]:
    """A limit of each window, and the unit that it says it is of."""
    said = read_mapping(value, key, {**_BUDGET, "per": every}, dict.fromkeys(_BUDGET))
    return Budget(**{one: said[one] for one in _BUDGET}), said["per"]


def _as_it_is(value: Any, _: str) -> Any:
    return value


_BUDGET: dict[str, Check] = dict.fromkeys(("epsilon", "rho", "delta"), _as_it_is)


def expectation(value: Any, key: str) -> tuple[str, tuple[str, ...]]:
    """A column of groups, and those of its groups that should be in every release."""
    good = isinstance(value, Mapping) and len(value) == 1
    column, groups = next(iter(value.items())) if good else (None, None)
    if not isinstance(column, str) or not isinstance(groups, list) or not groups:
        raise refused(key, "a column and a list of its groups", value, f"{key}: {{country: [US]}}")
    return column, tuple(map(str, meant(groups, key)))


def meant(groups: list[Any], key: str) -> list[Any]:
    """A list of groups as it is written: YAML reads NO as false, and Norway is 'NO', in quotes."""
    for one in groups:
        if isinstance(one, bool) or not isinstance(one, str | int):
            raise UsageError(
                f"A group in {key} is read as {shown(one)}. Put groups into quotes: without them "
                f"NO means false, and 2026-03-01 is no text. {NOTHING}"
            )
    return groups


def place(*names: str) -> Check:
    """A path with places for the window and the release: ``events/day={window}/_SUCCESS``."""

    def read(value: Any, key: str) -> str:
        path = text(f"{key}: events/day={{window}}/_SUCCESS")(value, key)
        try:
            fields = [field for _, field, _, _ in Formatter().parse(path) if field is not None]
            if "window" not in fields or not {*fields} <= {*names}:
                raise ValueError
            path.format(window=ONE_DAY, release="pages")
        except (ValueError, LookupError, AttributeError):
            held = " and ".join(f"{{{one}}}" for one in names)
            raise UsageError(
                f"{key} must be a path with {held} in it and nothing else in braces, not "
                f"{shown(value)}. A window is written as its first day; {{window:%Y/%m/%d}} writes "
                f"it otherwise. {NOTHING}"
            ) from None
        return path

    return read


def out(value: Any, key: str) -> str:
    """Where the rows of each window are written."""
    path = place("window", "release")(value, key)
    if not path.endswith(".parquet"):
        instead = f"{key}: published/{{release}}/day={{window}}/rows.parquet"
        raise refused(key, "a file that ends in .parquet", value, instead)
    one, other = (path.format(window=at, release="pages") for at in (ONE_DAY, OTHER_DAY))
    if one == other:
        raise UsageError(f"{key} gives several windows one file. Write {{window}} in it. {NOTHING}")
    return path


def types(value: Any, key: str) -> dict[str, str]:
    """What columns hold that have no type of their own."""
    if not isinstance(value, Mapping):
        raise refused(key, "columns and their types", value, f"{key}: {{day: date}}")
    return {str(column): str(kind) for column, kind in value.items()}
