"""How others speak to the core: over its socket, a question at a time."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any

from headcount.errors import EngineError, UsageError
from headcount.fleet import frames
from headcount.fleet.core import Shown, shown_from
from headcount.fleet.task import Task
from headcount.fleet.wire import Descriptor


class Core:
    """A connection to the core."""

    def __init__(self, place: str | Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(str(place))
        except OSError:
            self._socket.close()
            raise UsageError(f"No core answers at {str(place)!r}. Nothing was opened.") from None

    def __enter__(self) -> Core:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._socket.close()

    def given_up(self) -> dict[str, bool]:
        """What the core's process has given up: network, dumps, swap."""
        found: dict[str, bool] = json.loads(self._ask({"word": "given"}))
        return found

    def make(self, task: Task, number: int) -> bytes:
        """The public key of a round, made if there is none yet."""
        return self._ask({"word": "make", "task": task.id.hex(), "round": number})

    def attest(self, task: Task, round_: Descriptor) -> bytes:
        """Evidence for the key of a round, of the kind that this core can show."""
        said = {"word": "attest", "task": task.id.hex(), "round": round_.round}
        return self._ask({**said, "descriptor": round_.spelled.hex()})

    def destroy(self, task: Task, number: int) -> None:
        """End a round's key, and with it all that was sealed for it."""
        self._ask({"word": "destroy", "task": task.id.hex(), "round": number})

    def count(self, task: Task, descriptor: Descriptor, posts: Iterable[bytes]) -> Shown:
        """What a round shows."""
        given = (post for post in posts if post)
        more = chain((task.spelled, descriptor.spelled), given, (frames.END,))
        return shown_from(self._ask({"word": "count"}, more))

    def _ask(self, said: dict[str, Any], more: Iterable[bytes] = ()) -> bytes:
        try:
            frames.send(self._socket, json.dumps(said).encode())
            for frame in more:
                frames.send(self._socket, frame)
            reply = frames.receive(self._socket)
        except frames.BrokenError:
            raise EngineError from None
        if reply[:1] != b"\x01":
            raise UsageError(reply[1:].decode(errors="replace"))
        return reply[1:]
