"""Where an owner keeps the log of allowed code: a file beside the key, and a copy for devices.

The file is written first. What the database lacks of it is added there, so that a database that was
put back from a backup catches up, and no second log is ever signed for a lost end of the first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from headcount.errors import FleetError, UsageError
from headcount.fleet.allowed import ALLOW, FIRST, MOST_ENTRIES, Entry, allowed_in, entry_text
from headcount.fleet.evidence import EvidenceError, measurement_from
from headcount.fleet.owner_key import OwnerKey
from headcount.fleet.secret_file import sync
from headcount.fleet.store import FleetStore

FORKED = (
    "The log beside the owner's key and that of the database are two: each has an entry that the "
    "other lacks. Devices that saw one refuse the other. Nothing was signed: bring back the right "
    "one from a backup."
)


class AllowedFile:
    """The log of one owner."""

    def __init__(self, key: str | Path, store: FleetStore) -> None:
        """Read the log beside a key, and that of the database.

        key: the file of the owner's key
        """
        self._owner, self._store = OwnerKey(key), store
        self._path = Path(f"{key}.allowed")
        self.entries = self._longer(_read(self._path), store.allowed())

    @property
    def measurements(self) -> frozenset[bytes]:
        """What may run now."""
        return allowed_in(self.entries, [self._owner.public])[0]

    def add(self, act: str, measurement: str, version: str = "", source: str = "") -> bool:
        """Sign an entry, keep it, and let devices hear of it; whether it was needed."""
        found = measurement_from(measurement)
        is_needed = (found in self.measurements) != (act == ALLOW)
        if is_needed:
            if len(self.entries) >= MOST_ENTRIES:
                raise UsageError(
                    f"A log has at most {MOST_ENTRIES} entries: begin with a new owner's key. "
                    "Nothing was signed."
                )
            before = self.entries[-1].hash if self.entries else FIRST
            spelled = entry_text(act, measurement, before, version, source)
            self.entries = [*self.entries, self._owner.allow(spelled)]
        self.publish()
        return is_needed

    def publish(self) -> None:
        """Keep the log on disk, and then where devices are sent it from."""
        _write(self._path, self.entries)
        for number, entry in enumerate(self.entries):
            if not self._store.allow(number, entry):
                raise FleetError(FORKED)

    def _longer(self, one: Sequence[Entry], other: Sequence[Entry]) -> list[Entry]:
        shorter, longer = sorted((list(one), list(other)), key=len)
        if [e.spelled for e in longer[: len(shorter)]] != [e.spelled for e in shorter]:
            raise FleetError(FORKED)
        try:
            allowed_in(longer, [self._owner.public])
        except EvidenceError as error:
            raise FleetError(f"{str(error).capitalize()}. Nothing was signed.") from None
        return longer


def _read(path: Path) -> list[Entry]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        return []
    try:
        both = [json.loads(line) for line in lines]
        return [Entry(one["entry"].encode(), bytes.fromhex(one["signature"])) for one in both]
    except (ValueError, LookupError, TypeError, AttributeError):
        raise UsageError(
            "The log beside the owner's key is damaged. Nothing was signed: bring it back."
        ) from None


def _write(path: Path, entries: Sequence[Entry]) -> None:
    draft = path.with_name(f"{path.name}.draft")
    with draft.open("w", encoding="utf-8") as lines:
        for one in entries:
            said = {"entry": one.spelled.decode(), "signature": one.signature.hex()}
            lines.write(f"{json.dumps(said, ensure_ascii=False)}\n")
        lines.flush()
        os.fsync(lines.fileno())
    os.replace(draft, path)
    sync(path.parent)
