"""The law of events: what any version wrote is read, costs no more now, and is written so.

Laplace noise has become cheaper since; nothing else has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import MISSING, field, fields, make_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from headcount.accounting.compose import cost
from headcount.errors import LedgerError
from headcount.privacy import event as law
from headcount.privacy.event import from_record, to_record

SAMPLES = sorted((Path(__file__).parents[1] / "samples").glob("events-*.jsonl"))
LINES = [line for path in SAMPLES for line in path.read_text(encoding="utf-8").splitlines()]
RECORDS = [json.loads(line)["event"] for line in LINES]
ALL = {
    "composed",
    "filtered",
    "gaussian-noise",
    "gaussian-threshold",
    "laplace-noise",
    "laplace-threshold",
    "sample-threshold",
    "selection",
}
NEW = "of_a_later_version"


def all_parts(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield record
    for part in record.get("events", ()):
        yield from all_parts(part)


PARTS = [part for record in RECORDS for part in all_parts(record)]


def with_one_more(cls: type[Any], default: object) -> type[Any]:
    """The same kind as a later version may have it: with a field more."""
    more = (NEW, Fraction, default if default is MISSING else field(default=default))
    return make_dataclass(
        cls.__name__,
        [more[:2] if default is MISSING else more],
        bases=(cls,),
        frozen=True,
        slots=True,
    )


@pytest.fixture(params=[Fraction(1), Fraction(0), None], ids=str)
def later(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> object:
    """A later version, in which every kind has an optional field more; returns its default."""
    for kind, cls in law._KINDS.items():
        monkeypatch.setitem(law._KINDS, kind, with_one_more(cls, request.param))
    default: object = request.param
    return default


def written_again(line: str) -> str:
    """A line of a sample, from what is read of it; what was paid for Laplace noise is enough."""
    paid = json.loads(line)
    event = from_record(paid["event"])
    spend = cost(event)
    rho = spend.rho
    if any(part["kind"].startswith("laplace") for part in all_parts(paid["event"])):
        assert Fraction(1, 2) * Fraction(paid["rho"]) < rho < Fraction(paid["rho"])
        rho = Fraction(paid["rho"])
    sample = {"event": to_record(event), "rho": str(rho), "delta": str(spend.delta)}
    return json.dumps(sample, sort_keys=True)


def test_a_sample_has_every_kind_there_was() -> None:
    assert {part["kind"] for part in PARTS} >= ALL


@pytest.mark.parametrize("line", LINES)
def test_old_events_are_read_cost_no_more_and_are_written_the_same(line: str) -> None:
    assert written_again(line) == line


@pytest.mark.parametrize("kind", sorted(ALL))
def test_required_fields_are_those_of_the_first_version(kind: str) -> None:
    """One more makes old entries unreadable; one less makes new entries unreadable there."""
    first = {frozenset(part) for part in PARTS if part["kind"] == kind}
    required = {one.name for one in fields(law._KINDS[kind]) if one.default is MISSING}
    assert min(first, key=len) == required | {"kind"}


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("line", LINES)
def test_an_optional_field_more_changes_nothing_for_old_events(line: str) -> None:
    assert written_again(line) == line


@pytest.mark.parametrize("record", PARTS)
def test_an_absent_field_means_its_default(later: object, record: dict[str, Any]) -> None:
    event: Any = from_record(record)
    assert getattr(event, NEW) == later
    if later is not None:
        assert from_record({**record, NEW: str(later)}) == event


@pytest.mark.parametrize("record", PARTS)
def test_a_field_in_use_is_written_and_refused_where_it_is_not_known(
    record: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    used = {**record, NEW: "1/2"}
    with monkeypatch.context() as newer:
        kind = record["kind"]
        newer.setitem(law._KINDS, kind, with_one_more(law._KINDS[kind], Fraction(1)))
        assert to_record(from_record(used)) == used
    with pytest.raises(LedgerError, match=NEW):
        from_record(used)


@pytest.mark.parametrize("record", PARTS)
def test_a_required_field_more_would_be_noticed(
    record: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = record["kind"]
    monkeypatch.setitem(law._KINDS, kind, with_one_more(law._KINDS[kind], MISSING))
    with pytest.raises(LedgerError, match=NEW):
        from_record(record)


@pytest.mark.parametrize("record", PARTS)
def test_a_missing_required_field_is_refused(record: dict[str, Any]) -> None:
    for name in set(record) - {"kind"}:
        with pytest.raises(LedgerError, match=f"cannot read: {name}"):
            from_record({key: value for key, value in record.items() if key != name})


ODD: list[object] = [
    "0/0",
    "1/0",
    "",
    "x",
    "-1",
    "nan",
    "inf",
    None,
    1,
    0.5,
    True,
    [],
    {},
    [1],
    ["x"],
    [{}],
]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_a_number_that_no_version_wrote_is_refused_in_words(odd: object) -> None:
    for record in {part["kind"]: part for part in PARTS}.values():
        for name in record.keys() - {"kind"}:
            if name == "events" and odd == []:
                continue
            with pytest.raises(LedgerError, match="ledger"):
                from_record({**record, name: odd})


NOISY = {part["kind"]: part for part in PARTS if part.keys() & {"scale", "sigma_squared"}}


@pytest.mark.parametrize("kind", sorted(NOISY))
def test_noise_of_no_size_is_refused(kind: str) -> None:
    (name,) = NOISY[kind].keys() & {"scale", "sigma_squared"}
    with pytest.raises(LedgerError, match=name):
        from_record({**NOISY[kind], name: "0"})
