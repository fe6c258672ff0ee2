"""Who may ask: a file of hashed tokens that an owner writes.

A line is the SHA-256 of a token, in hex, and the name of whoever has it. Two tokens of one name are
one sender, so that a token can be exchanged. Tokens themselves are nowhere but with their senders:
they have 256 bits of chance, so that a plain hash of one cannot be guessed from.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Sequence
from pathlib import Path

from headcount.errors import FleetError, UsageError

LINE = re.compile(r"([0-9a-f]{64}) ([A-Za-z0-9._@:-]{1,200})")
NAME = re.compile(r"[A-Za-z0-9._@:-]{1,200}")
SECONDS = 2.0
"""After which a file that was written again is read again."""


class TokenFile:
    """The senders in a file, which may be written again while it is used."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._looked = time.monotonic()
        self._written, self._names = self._read()

    def named(self, token: str) -> str | None:
        """Whose token this is, if it is anybody's."""
        if time.monotonic() - self._looked >= SECONDS:
            self._look()
        return self._names.get(hashlib.sha256(token.encode()).digest())

    def _look(self) -> None:
        try:
            if _mark(self._path.stat()) != self._written:
                self._written, self._names = self._read()
        except (OSError, UsageError):
            # Whoever was struck off must not be let in because the file cannot be read.
            raise FleetError("The file of tokens cannot be read. Nothing was taken.") from None
        self._looked = time.monotonic()

    def _read(self) -> tuple[tuple[int, ...], dict[bytes, str]]:
        try:
            found = self._path.stat()
            lines = self._path.read_text("ascii").splitlines()
        except (OSError, UnicodeDecodeError):
            raise UsageError(
                f"The file of tokens {str(self._path)!r} cannot be read. Write one: headcount "
                "fleet senders FILE NAME. Nothing was taken."
            ) from None
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise UsageError(
                f"Others than its owner may write {str(self._path)!r}. Run: chmod go-w, on it. "
                "Nothing was taken."
            )
        matched = [LINE.fullmatch(line) for line in lines]
        names = {bytes.fromhex(one[1]): one[2] for one in matched if one is not None}
        if len(names) != len(lines):
            raise UsageError(
                f"A line of {str(self._path)!r} is not the SHA-256 of a token and a name, or is "
                "there twice. Nothing was taken."
            )
        return _mark(found), names


def add_senders(path: str | Path, names: Sequence[str]) -> list[str]:
    """A new token for each of these names; their hashes are in the file when this returns."""
    if not all(NAME.fullmatch(name) for name in names):
        raise UsageError("A name of a sender is of letters, digits and ._@:-, such as phone-17.")
    place, tokens = Path(path), [secrets.token_urlsafe(32) for _ in names]
    draft = place.with_name(f"{place.name}.draft")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(
            f"Somebody else writes {str(place)!r}, or was cut short. If nobody does, take away "
            f"{str(draft)!r}. Nothing was changed."
        ) from None
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(place.read_text("ascii") if place.exists() else "")
        for name, token in zip(names, tokens, strict=True):
            file.write(f"{hashlib.sha256(token.encode()).hexdigest()} {name}\n")
        file.flush()
        os.fsync(file.fileno())
    draft.rename(place)
    return tokens


def _mark(found: os.stat_result) -> tuple[int, ...]:
    return found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode
