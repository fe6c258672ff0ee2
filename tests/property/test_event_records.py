"""Any event, of this version or of one with optional fields more, is read back as it was."""

from __future__ import annotations

import json
from dataclasses import field, fields, make_dataclass
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.errors import LedgerError
from headcount.privacy import event as law
from headcount.privacy.event import Composed, Rounds, Windowed, from_record, to_record

DEFAULTS = {"first_more": Fraction(1), "second_more": Fraction(0), "third_more": None}
LATER: dict[str, type[Any]] = {
    kind: make_dataclass(
        cls.__name__,
        [(name, Fraction, field(default=value)) for name, value in DEFAULTS.items()],
        bases=(cls,),
        frozen=True,
        slots=True,
    )
    for kind, cls in law._KINDS.items()
}
numbers = st.fractions(min_value=0)
# Noise has a size.
sizes = dict.fromkeys(law._ABOVE_ZERO, numbers.filter(bool))
optional = st.fixed_dictionaries({}, optional=dict.fromkeys(DEFAULTS, numbers | st.just(1)))


AROUND = (Composed.kind, Rounds.kind, Windowed.kind)
"""Kinds that have others in them."""
ranges = st.tuples(st.integers(-(10**8), 10**8 - 10**5), st.integers(0, 10**5))


def plain(kinds: dict[str, type[Any]], more: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def of(cls: type[Any]) -> st.SearchStrategy[Any]:
        required = [one.name for one in fields(cls) if one.name not in DEFAULTS]
        given = st.fixed_dictionaries({name: sizes.get(name, numbers) for name in required})
        return st.builds(lambda values, extra: cls(**values, **extra), given, more)

    return st.one_of([of(cls) for kind, cls in kinds.items() if kind not in AROUND])


def events(kinds: dict[str, type[Any]], more: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    composed, rounds = kinds[Composed.kind], kinds[Rounds.kind]
    windowed = kinds[Windowed.kind]
    inside = st.recursive(
        plain(kinds, more),
        lambda parts: st.one_of(
            st.builds(
                lambda some, extra: composed(tuple(some), **extra),
                st.lists(parts, max_size=3),
                more,
            ),
            st.builds(
                lambda some, n, extra: rounds(tuple(some), n, **extra),
                st.lists(parts, max_size=3),
                numbers,
                more,
            ),
        ),
        max_leaves=8,
    )
    return inside | st.builds(
        lambda asked, times, event, extra: windowed(
            first=asked[0], last=sum(asked), times=times, event=event, **extra
        ),
        ranges,
        st.integers(1, 10**10),
        inside,
        more,
    )


def through_json(record: dict[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(json.dumps(record, sort_keys=True))
    return read


def field_names(record: dict[str, Any]) -> set[str]:
    parts = [*record.get("events", ()), *([record["event"]] if "event" in record else [])]
    return set(record).union(*map(field_names, parts))


@settings(deadline=None)
@given(events(law._KINDS, st.just({})))
def test_events_of_this_version_are_the_same_in_a_later_one_and_back(event: Any) -> None:
    record = through_json(to_record(event))
    assert from_record(record) == event
    with patch.dict(law._KINDS, LATER):
        there = from_record(record)
        assert to_record(there) == record
    assert from_record(to_record(there)) == event


@settings(deadline=None)
@given(events(LATER, optional))
def test_events_of_a_later_version_are_read_here_or_refused(event: Any) -> None:
    record = through_json(to_record(event))
    with patch.dict(law._KINDS, LATER):
        assert from_record(record) == event
    if field_names(record) & set(DEFAULTS):
        with pytest.raises(LedgerError, match="cannot read"):
            from_record(record)
    else:
        assert to_record(from_record(record)) == record


@settings(deadline=None)
@given(events(law._KINDS, st.just({})), st.data())
def test_a_record_with_a_field_less_or_more_is_refused(event: Any, data: st.DataObject) -> None:
    record = to_record(event)
    name = data.draw(st.sampled_from(sorted(set(record) - {"kind"})))
    with pytest.raises(LedgerError, match=name):
        from_record({key: value for key, value in record.items() if key != name})
    with pytest.raises(LedgerError, match="unheard_of"):
        from_record({**record, "unheard_of": "0"})
