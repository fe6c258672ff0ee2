"""The file of a series: which releases, of what, how often, and where to.

Whatever the file gets wrong is found before anything is read: a key that is not known, an argument
of a verb that cannot be, two releases that would write one file.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from fractions import Fraction
from pathlib import Path
from typing import Any

from headcount.errors import UsageError
from headcount.privacy.argument import NOTHING, Check, optional, shown, text
from headcount.privacy.budget import Budget
from headcount.privacy.yaml_file import mapping_of, read_mapping
from headcount.releases.arguments import groups_in
from headcount.releases.verbs import STATED, Needed, Written
from headcount.series import written
from headcount.series.calendar import NESTED
from headcount.tables.address import is_address
from headcount.tables.by import Truncate, parse_group

CALLED = "The series' file"


@dataclass(frozen=True, slots=True)
class Repeated:
    """One release of a series: what is asked of each window, and what it may cost."""

    name: str
    verb: str
    arguments: dict[str, Any]
    spend: Budget | Fraction
    every: str
    start: date
    expect: tuple[str, tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True)
class SeriesFile:
    """A series as its file has it; paths are whole, from the folder that the file is in."""

    folder: Path
    source: str
    user: str
    window: Truncate
    zone: str | None
    budget: Budget
    lifetime: Budget | None
    start: date
    lag: timedelta
    ready: str | None
    keep: timedelta | None
    lost: tuple[date, ...]
    out: str
    ledger: str | None
    account: str
    where: str | None
    types: dict[str, str]
    memory: str | None
    releases: tuple[Repeated, ...]

    @property
    def clock(self) -> tzinfo:
        """The zone whose midnights part the windows."""
        return written.tz(self.zone)

    def out_of(self, release: str, window: date) -> Path:
        """Where the rows of a window are written."""
        return self.folder / self.out.format(release=release, window=window)

    @property
    def manifest(self) -> Path:
        """The list of all that was released, in the folder that all files have in common."""
        fixed = self.out.partition("{")[0]
        return self.folder / fixed.rpartition("/")[0] / "manifest.jsonl"


def read_file(path: str | Path) -> SeriesFile:
    """The series that a file describes, or a refusal that says what is wrong with it."""
    said = read_mapping(mapping_of(path, CALLED), CALLED.lower(), FILE, DEFAULTS)
    folder = Path(path).absolute().parent
    limit, per = said.pop("budget")
    unit = said["window"].to
    if per != unit:
        raise UsageError(
            f"budget is per {per}, and windows are {unit}s. Write per: {unit}, or another window. "
            f"{NOTHING}"
        )
    source = _placed(folder, said["source"])
    if said["account"] is None and is_address(source):
        raise UsageError(
            f"A table in a database needs a name for its account. Write account: web. {NOTHING}"
        )
    if said["ledger"] is not None:
        said["ledger"] = _placed(folder, said["ledger"])
    listed = said.pop("releases")
    if not isinstance(listed, dict) or not listed:
        raise UsageError(f"releases must be a mapping of names to releases. {NOTHING}")
    releases = tuple(
        _release(name, one, said["start"], unit, folder) for name, one in listed.items()
    )
    if len(releases) > 1 and "{release" not in said["out"]:
        raise UsageError(f"out gives all releases one file. Write {{release}} in it. {NOTHING}")
    return SeriesFile(
        **{
            **said,
            "folder": folder,
            "source": source,
            "budget": limit,
            "account": said["account"] or source,
            "releases": releases,
        }
    )


def _placed(folder: Path, said: str) -> str:
    """A path from the folder of the file; an address is one already."""
    return said if is_address(said) else str(folder / Path(said).expanduser())


def _release(name: str, given: Any, start: date, unit: str, folder: Path) -> Repeated:
    written.name(name, "the name of a release")
    where = f"the release {name}"
    verbs: dict[str, Check] = dict.fromkeys(STATED, _as_it_is)
    defaults: dict[str, Any] = {"every": unit, "expect": None, "start": start}
    said = read_mapping(given, where, {**RELEASE, **verbs}, defaults | dict.fromkeys(STATED))
    asked = [verb for verb in STATED if verb in given]
    if len(asked) != 1:
        raise UsageError(
            f"{where} must ask one verb, such as count_users: {{by: page}}, not {len(asked)}. "
            f"{NOTHING}"
        )
    if said["every"] not in NESTED[unit]:
        raise UsageError(
            f"{where} comes every {said['every']}, which is no whole number of windows: those are "
            f"{unit}s. Write every: {' or '.join(NESTED[unit])}. {NOTHING}"
        )
    verb = asked[0]
    arguments = _arguments(verb, given[verb], where, folder)
    kept = {key: said[key] for key in ("spend", "every", "start", "expect")}
    return Repeated(name=name, verb=verb, arguments=arguments, **kept)


def _arguments(verb: str, given: Any, where: str, folder: Path) -> dict[str, Any]:
    """The arguments of a verb, as Python has them, each checked as the verb checks it."""
    own = STATED[verb].own
    checks = {name: _of_file(one.written, one.check, folder) for name, one in own.items()}
    defaults = {
        name: one.default for name, one in own.items() if not isinstance(one.default, Needed)
    }
    said = read_mapping({} if given is None else given, f"{verb} of {where}", checks, defaults)
    return {name: value for name, value in said.items() if name in (given or {})}


def _of_file(kind: Written, check: Check, folder: Path) -> Check:
    """A verb's own check, of what a file has in place of Python's values."""

    def read(value: Any, name: str) -> Any:
        if kind is Written.GROUPING and isinstance(value, str | list):
            several = value if isinstance(value, list) else [value]
            cut = [parse_group(one) if isinstance(one, str) else one for one in several]
            value = cut if isinstance(value, list) else cut[0]
        if kind is Written.LINES and isinstance(value, str):
            value = groups_in(folder / value)
        elif kind is Written.LINES and isinstance(value, list):
            value = written.meant(value, name)
        return check(value, name)

    return read


def _as_it_is(value: Any, _: str) -> Any:
    return value


def _spend(value: Any, name: str) -> Budget | Fraction:
    from headcount.releases.arguments import spend

    if isinstance(value, str):
        return spend(value, name)
    if isinstance(value, dict):
        return written.budget(value, name)
    raise UsageError(
        f"{name} must be a budget or a share of a window's, such as {name}: {{rho: 0.01}} or "
        f"{name}: 1/3, not {shown(value)}. {NOTHING}"
    )


RELEASE: dict[str, Check] = {
    "every": written.every,
    "start": written.day,
    "spend": _spend,
    "expect": optional(written.expectation),
}
FILE: dict[str, Check] = {
    "source": text("source: events/day=*/rows.parquet"),
    "user": text("user: user_id"),
    "window": written.window,
    "zone": optional(written.zone),
    "budget": written.budget_per,
    "lifetime": optional(written.budget),
    "start": written.day,
    "lag": written.length,
    "ready": optional(written.place("window")),
    "keep": optional(written.length),
    "lost": written.days,
    "out": written.out,
    "ledger": optional(text("ledger: ledger.db, or leave it out")),
    "account": optional(text("account: web, or leave it out")),
    "where": optional(text("where: country = 'SE', or leave it out", 100_000)),
    "types": written.types,
    "memory": optional(text("memory: 2GB, or leave it out")),
    "releases": _as_it_is,
}
DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("zone", "lifetime", "ready", "keep", "ledger", "account", "where", "memory")),
    "lag": "0 days",
    "lost": [],
    "types": {},
}
