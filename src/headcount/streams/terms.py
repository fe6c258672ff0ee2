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
from headcount.privacy.exact import Number, positive
from headcount.privacy.neighbours import Neighbours

MAX_COUNTERS = 1 << 32
SEED_BYTES = 16


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a stream; everything here may be published.

    ``n_noises`` is how many draws each counter holds; ``parts`` names the streams that were merged
    into this one, by the random name each got when it was made.
    """

    n_counters: int
    epsilon: Fraction
    neighbours: Neighbours
    hash_seed: str
    parts: tuple[str, ...]
    groups: tuple[str, ...] | None = None
    n_noises: int = 1
    is_finished: bool = False
    has_fresh_output: bool = False

    @property
    def mechanism(self) -> PanPrivate:
        """The noise that the terms ask for."""
        return PanPrivate.calibrate(one_event(self.neighbours), self.epsilon)

    def resealed(self) -> Terms:
        """The terms after one more draw."""
        return replace(self, n_noises=self.n_noises + 1)

    def finished(self, fresh_noise: bool) -> Terms:
        """The terms of the output."""
        drawn = self.resealed() if fresh_noise else self
        return replace(drawn, is_finished=True, has_fresh_output=fresh_noise)

    def like(self) -> Terms:
        """The terms of a new stream that can be merged with this one."""
        return replace(
            self, parts=(_new_name(),), n_noises=1, is_finished=False, has_fresh_output=False
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
        return replace(self, parts=parts, n_noises=sum(one.n_noises for one in every))

    def to_json(self) -> bytes:
        """The header of a state file."""
        record = asdict(self) | {"epsilon": str(self.epsilon), "neighbours": str(self.neighbours)}
        return json.dumps(record, sort_keys=True, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Terms:
        """Read a header back; fields this version does not know are an error."""
        record: dict[str, Any] = json.loads(text)
        groups = record.pop("groups")
        return cls(
            epsilon=Fraction(record.pop("epsilon")),
            neighbours=Neighbours(record.pop("neighbours")),
            parts=tuple(record.pop("parts")),
            groups=None if groups is None else tuple(groups),
            **record,
        )


def new_terms(
    groups: Sequence[str] | None,
    buckets: int | None,
    epsilon: Number,
    neighbours: str,
    hash_seed: str | None,
) -> Terms:
    """Check what was asked for; draw the public hash seed unless one is given."""
    if (groups is None) == (buckets is None):
        raise UsageError("A stream takes either groups=[...] or buckets=100_000.")
    if neighbours not in list(Neighbours):
        raise UsageError(f"neighbours must be add-remove or replace, not {neighbours!r}.")
    listed = None if groups is None else _listed(groups)
    n_counters = buckets if listed is None else len(listed)
    if not isinstance(n_counters, int) or not 1 <= n_counters <= MAX_COUNTERS:
        raise UsageError(f"A stream has 1 to 2**32 counters, not {n_counters!r}.")
    return Terms(
        n_counters=n_counters,
        epsilon=positive(epsilon, "epsilon"),
        neighbours=Neighbours(neighbours),
        hash_seed=secrets.token_hex(SEED_BYTES) if hash_seed is None else _seed(hash_seed),
        parts=(_new_name(),),
        groups=listed,
    )


def _listed(groups: Sequence[str]) -> tuple[str, ...]:
    if isinstance(groups, str):
        raise UsageError("groups must be a list of texts, not one text.")
    listed = tuple(sorted(str(group) for group in groups))
    if len(set(listed)) < len(listed):
        raise UsageError("groups must not hold the same group twice.")
    return listed


def _seed(text: str) -> str:
    try:
        if len(bytes.fromhex(text)) == SEED_BYTES:
            return text.lower()
    except ValueError:
        pass
    raise UsageError(f"hash_seed must be {2 * SEED_BYTES} hexadecimal digits.")


def _new_name() -> str:
    return secrets.token_hex(8)
