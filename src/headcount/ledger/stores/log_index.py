"""Whether the log of a SQLite file ends where its index says: or older bytes were put into it.

A copy that is written over the log, in place, leaves both files where they are. Programs that run
go on with the index they share in memory, and with pages they have read before: what they charge
is in a log that nobody else can read. The index holds the checksum of the last frame that was
committed, a sum over all frames before it; in an older log another frame is there, or none.

Layout: https://www.sqlite.org/walformat.html. The index is read through one descriptor that stays
open: closing any descriptor of it would give up SQLite's own locks on it.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path

HEADER = struct.Struct("=III BBH II II 8s II")
"""Of the index: version, unused, changes, flags, page size, frames, pages, checksum, salts, own."""
FRAME = struct.Struct(">II 8s II")
"""Of a frame: page, size of the database, salts, checksum."""
LOG_HEADER_BYTES = 32
TRIES = 100


class LogIndex:
    """The index beside one log, for as long as this process has the ledger open."""

    def __init__(self, log: Path, index: Path) -> None:
        self._log = log
        self._index: int | None = None
        with suppress(OSError):
            self._index = os.open(index, os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        """Let go of the index; only once no connection of this process is open."""
        if self._index is not None:
            os.close(self._index)
            self._index = None

    def contradicts_log(self) -> bool:
        """Whether the last frame that was committed is not in the log."""
        for _ in range(TRIES):
            header = self._header()
            if header is None:
                return False
            is_there = self._has_frame(header)
            # Whoever begins the log anew changes the index first.
            if is_there or header == self._header():
                return not is_there
        return False

    def _header(self) -> bytes | None:
        if self._index is None:
            return None
        header = os.pread(self._index, HEADER.size, 0)
        return header if len(header) == HEADER.size else None

    def _has_frame(self, header: bytes) -> bool:
        _, _, _, is_made, _, size, n_frames, _, first, second, salts, *_ = HEADER.unpack(header)
        if not is_made or n_frames == 0:
            return True
        page_bytes = 65_536 if size == 1 else size
        place = LOG_HEADER_BYTES + (n_frames - 1) * (FRAME.size + page_bytes)
        try:
            with self._log.open("rb", buffering=0) as log:
                log.seek(place)
                frame = log.read(FRAME.size)
        except OSError:
            return False
        if len(frame) < FRAME.size:
            return False
        _, _, its_salts, *checksum = FRAME.unpack(frame)
        return its_salts == salts and checksum == [first, second]
