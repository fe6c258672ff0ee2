"""What is public about a stream: fixed before the first event, or counted without looking."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from headcount.errors import UsageError
from headcount.mechanisms.pan_private import PanPrivate, one_event
from headcount.privacy.neighbours import Neighbours
from headcount.streams.arguments import SEED_BYTES, checked

NEXT = "Count in a new one of the same terms: headcount stream new part2.hcs --like part.hcs."


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a stream; everything here may be published, and no event has a say in it.

    ``n_noises`` is how many draws each counter holds: it grows by one at each call that draws,
    whether events came or not, and is 0 in a new file that nobody has counted in. ``parts`` names
    the streams that were merged into this one, by the random name each got when it was made.
    """

    n_counters: int
    epsilon: Fraction
    neighbours: Neighbours
    hash_seed: str
    parts: tuple[str, ...]
    groups: tuple[str, ...] | None = None
    n_noises: int = 0
    is_copy: bool = False
    is_finished: bool = False
    has_fresh_output: bool = False
    is_merged: bool = False
    """Whether it went into a sum: what were counted in it from then on would be in no output."""

    @property
    def mechanism(self) -> PanPrivate:
        """The noise that the terms ask for."""
        return PanPrivate.calibrate(one_event(self.neighbours), self.epsilon)

    def drawn(self) -> Terms:
        """The terms after one more draw."""
        return replace(self, n_noises=self.n_noises + 1)

    def finished(self, fresh_noise: bool) -> Terms:
        """The terms of the output, whose draw is in ``n_noises`` already."""
        return replace(self, is_finished=True, has_fresh_output=fresh_noise)

    def as_part(self) -> Terms:
        """The terms of a stream that went into a sum."""
        return replace(self, is_merged=True)

    def as_copy(self) -> Terms:
        """The terms in the file of a copy."""
        return replace(self, is_copy=True)

    def as_state(self) -> Terms:
        """The terms of whoever goes on with a file."""
        return replace(self, is_copy=False)

    def like(self) -> Terms:
        """The terms of a new stream that can be merged with this one."""
        return Terms(
            n_counters=self.n_counters,
            epsilon=self.epsilon,
            neighbours=self.neighbours,
            hash_seed=self.hash_seed,
            parts=(_new_name(),),
            groups=self.groups,
        )

    def merged(self, others: Sequence[Terms]) -> Terms:
        """The terms of the sum, or a refusal that says why these cannot be added up."""
        for other in others:
            for name in ("groups", "n_counters", "epsilon", "neighbours", "hash_seed"):
                if getattr(self, name) != getattr(other, name):
                    raise UsageError(
                        f"Streams can be merged when they agree in everything but their events; "
                        f"these differ in {name.removeprefix('n_').replace('_', ' ')}. Make the "
                        "next ones with like=. Nothing was changed."
                    )
        every = (self, *others)
        if any(one.is_finished for one in every):
            raise UsageError("A finished stream cannot be merged. Nothing was changed.")
        parts = tuple(part for one in every for part in one.parts)
        if len(set(parts)) < len(parts):
            raise UsageError(
                "One of the streams is in the sum twice: a copy of it, or a merge that it is "
                "already part of. Its events would count twice. Nothing was changed."
            )
        if any(one.is_merged for one in every):
            raise UsageError(f"One of the streams was merged before. {NEXT} Nothing was changed.")
        return replace(self, parts=parts, n_noises=sum(one.n_noises for one in every))

    def to_json(self) -> bytes:
        """The header of a state file."""
        record = asdict(self) | {"epsilon": str(self.epsilon), "neighbours": str(self.neighbours)}
        if not self.is_merged:
            # As files were before there was the word.
            del record["is_merged"]
        return json.dumps(record, sort_keys=True, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Terms:
        """Read a header back; what this version does not know or would not write is an error."""
        record: dict[str, Any] = json.loads(text)
        given = {name: record.pop(name) for name in ("groups", "epsilon", "neighbours", "parts")}
        terms = new_terms(
            groups=given["groups"],
            buckets=record.pop("n_counters") if given["groups"] is None else None,
            epsilon=given["epsilon"],
            neighbours=given["neighbours"],
            hash_seed=record.pop("hash_seed"),
        )
        if given["groups"] is not None and record.pop("n_counters") != terms.n_counters:
            raise ValueError
        flags = [record[name] for name in ("is_copy", "is_finished", "has_fresh_output")]
        flags.append(record.get("is_merged", False))
        n_noises, parts = record["n_noises"], given["parts"]
        if type(n_noises) is not int or n_noises < 0 or not all(type(one) is bool for one in flags):
            raise ValueError
        if not isinstance(parts, list) or not all(isinstance(one, str) for one in parts):
            raise ValueError
        return replace(terms, parts=tuple(parts), **record)


def new_terms(
    groups: Any, buckets: Any, epsilon: Any, neighbours: Any, hash_seed: Any = None
) -> Terms:
    """Check what was asked for; draw the public hash seed unless one is given."""
    given = checked(
        "Stream",
        groups=groups,
        buckets=buckets,
        epsilon=epsilon,
        neighbours=neighbours,
        hash_seed=hash_seed,
    )
    listed, n_counters = given["groups"], given["buckets"]
    if (listed is None) == (n_counters is None):
        raise UsageError(
            "A stream takes either groups or buckets. Write groups=['home', 'help'], or "
            "buckets=100_000. Nothing was changed."
        )
    return Terms(
        n_counters=n_counters if listed is None else len(listed),
        epsilon=given["epsilon"],
        neighbours=Neighbours(given["neighbours"]),
        hash_seed=given["hash_seed"] or secrets.token_hex(SEED_BYTES),
        parts=(_new_name(),),
        groups=listed,
    )


def _new_name() -> str:
    return secrets.token_hex(8)
