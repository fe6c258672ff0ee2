"""The core in a process of its own, behind a UNIX socket: keys and answers are nowhere else.

It has no network and no database, and writes nothing but keys. Whoever asks says ``make`` a round's
key, ``count`` a round, or ``destroy`` its key. What goes wrong is told in words that were written
before, never in those of an exception.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from headcount.errors import UsageError
from headcount.fleet import core, frames
from headcount.fleet.evidence_test import TestRoot
from headcount.fleet.keybox import KeyBox
from headcount.fleet.sandbox import Given, give_up, keep_from_swap
from headcount.fleet.seal import public_key_of
from headcount.fleet.task import task_from
from headcount.fleet.wire import descriptor_from

GOOD, REFUSED = b"\x01", b"\x00"
FAILED = "The core could not do this. What went wrong is withheld: it may quote answers."
UNKNOWN = "The core knows make, attest, count, destroy and given."
UNATTESTED = "This core shows no evidence: start it with a test root. Nothing was opened."
OTHER = "The round has another key than this core made for it. Nothing was shown."
PENDING, AHEAD = 8, 4
PATIENCE = 30.0
A = TypeVar("A")
B = TypeVar("B")


def serve(
    place: str | Path,
    keys: str | Path,
    workers: int,
    patience: float = PATIENCE,
    test_root: str | Path = "",
) -> None:
    """Answer until the process is ended, one who asks at a time.

    patience:  seconds after which one who says nothing is let go, so that the next is heard
    test_root: the folder of a root for evidence of the kind ``test``; it shows none without
    """
    given, box = give_up(), KeyBox(keys)
    inside = _Inside(given, box, workers, TestRoot(test_root) if test_root else None)
    with _listening(place) as listening:
        while True:
            asking, _ = listening.accept()
            asking.settimeout(patience)
            with asking, suppress(frames.BrokenError):
                inside.answer(asking)


def _listening(place: str | Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX)
    with suppress(FileNotFoundError):
        os.unlink(place)
    before = os.umask(0o177)
    try:
        listening.bind(str(place))
    finally:
        os.umask(before)
    listening.listen(PENDING)
    return listening


@dataclass(frozen=True, slots=True)
class _Inside:
    """What the core has: keys, and workers that it forks for each round."""

    given: Given
    box: KeyBox
    workers: int
    root: TestRoot | None

    def answer(self, asking: socket.socket) -> None:
        """Answer one who asks, until they go."""
        while True:
            asked = frames.receive(asking)
            try:
                reply = GOOD + self._done(asked, asking)
            except frames.BrokenError:
                raise
            except UsageError as error:
                reply = REFUSED + str(error).encode()
            except Exception:
                reply = REFUSED + FAILED.encode()
            frames.send(asking, reply)

    def _done(self, asked: bytes, asking: socket.socket) -> bytes:
        try:
            said = json.loads(asked)
            word = said.get("word")
            of = None if word in ("count", "given") else _round_of(said)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            raise UsageError(UNKNOWN) from None
        if word == "count":
            return self._counted(asking)
        if word == "make" and of:
            return self.box.make(*of)
        if word == "attest" and of:
            return self._attested(of, said)
        if word == "destroy" and of:
            self.box.destroy(*of)
            return b""
        if word == "given":
            held = self.given
            told = {"network": held.network, "dumps": held.dumps, "swap": held.swap}
            return json.dumps(told).encode()
        raise UsageError(UNKNOWN)

    def _attested(self, of: tuple[bytes, int], said: dict[str, Any]) -> bytes:
        """Evidence for a round whose key is here, and for no other."""
        if self.root is None:
            raise UsageError(UNATTESTED)
        round_ = descriptor_from(bytes.fromhex(said["descriptor"]))
        key = public_key_of(self.box.open(*of))
        if (round_.task, round_.round, round_.public_key) != (*of, key):
            raise UsageError(OTHER)
        return self.root.evidence(round_)

    def _counted(self, asking: socket.socket) -> bytes:
        spelled = frames.receive(asking), frames.receive(asking)
        posts = _Posts(frames.until_end(asking))
        try:
            task, descriptor = task_from(spelled[0]), descriptor_from(spelled[1])
            key = self.box.open(task.id, descriptor.round)
            # Forked here: each has given up the same, and ends with the round.
            context = multiprocessing.get_context("fork")
            with ProcessPoolExecutor(self.workers, context, _begin) as pool:
                mapped = _in_order(pool, AHEAD * self.workers)
                shown = core.count(task, descriptor, key, posts, mapped)
            self.box.bind(task.id, descriptor.round, posts.digest)
            if task.terms.scale:
                return self.box.once(task.id, descriptor.round, shown.to_bytes())
            return shown.to_bytes()
        finally:
            # To the end in any case: what is not read would be taken for the next word.
            posts.drain()


def _round_of(said: dict[str, Any]) -> tuple[bytes, int]:
    return bytes.fromhex(said["task"]), int(said["round"])


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stderr = sys.stdout = open(os.devnull, "w")  # noqa: SIM115  as long as the worker
    keep_from_swap()


def _in_order(pool: ProcessPoolExecutor, ahead: int) -> Any:
    """The map of a pool that reads no more than a few chunks ahead."""

    def mapped(job: Callable[[A], B], given: Iterable[A]) -> Iterator[B]:
        waiting: deque[Future[B]] = deque()
        for one in given:
            waiting.append(pool.submit(job, one))
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    return mapped


class _Posts:
    """The posts of a round as they come, and the digest of all of them."""

    def __init__(self, stream: Iterator[bytes]) -> None:
        self._stream = stream
        self._hash = hashlib.sha256()

    def __iter__(self) -> Iterator[bytes]:
        for post in self._stream:
            self._hash.update(len(post).to_bytes(8, "big") + post)
            yield post

    @property
    def digest(self) -> bytes:
        """Of all that came so far."""
        return self._hash.digest()

    def drain(self) -> None:
        """Read what is left."""
        for _ in self._stream:
            pass


if __name__ == "__main__":
    # Whoever presses Ctrl-C wants it to end, and no trace of where it was.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        place, keys, workers, *rest = sys.argv[1:]
        serve(place, keys, int(workers), float(rest[0]) if rest else PATIENCE, *rest[1:2])
    except UsageError as refused:
        sys.exit(refused.args[0])
