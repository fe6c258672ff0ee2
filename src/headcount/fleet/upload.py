"""What devices and relays ask a fleet over HTTP; the other side of ``device_http``.

``GET /rounds``: the rounds that are open, as JSON. ``POST`` or ``PUT
/rounds/{hash of the descriptor}/reports``: reports of 320 bytes end to end; 204 when they are on
disk, 409 when the round is over. ``GET /healthz``: the process answers. ``GET /readyz``: so does
what it needs. ``GET /metrics``: numbers, for those who were given a token for them.

A relay and an ingest answer the same, so that a device cannot tell them apart.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections.abc import Awaitable, Iterable
from typing import Protocol, TypeVar

from headcount.fleet import metrics
from headcount.fleet.asgi import Asked, Reply
from headcount.fleet.device_http import MEDIA
from headcount.fleet.metrics import Uploads
from headcount.fleet.offer import Offer
from headcount.fleet.posts import REPORT, check_post
from headcount.fleet.refusals import (
    BusyError,
    NotHereError,
    OverError,
    UnknownSenderError,
    WrongMediaError,
    WrongMethodError,
)
from headcount.fleet.wire import descriptor_from

log = logging.getLogger("headcount")

T = TypeVar("T")
REPORTS = re.compile(r"/rounds/([0-9a-f]{64})/reports")
LIST_SECONDS = 1.0
"""That a list of rounds may be old. Whether a round is open is asked at each write."""
LIST_BYTES = (1 << 20) - 64
"""Of a list: what a device reads at a time. One that is longer would reach nobody."""
BODY_SECONDS = 10.0
"""That a body may take."""
ANSWER_SECONDS = 25.0
"""That anything else may take: less than a device waits."""


class Senders(Protocol):
    """Who may ask."""

    def named(self, token: str) -> str | None:
        """Whose token this is, if it is anybody's."""
        ...


class Side(Protocol):
    """What an ingest and a relay do each in their own way."""

    most: int
    """Bytes of one post."""
    senders: Senders | None
    """Who may ask; everybody who reaches the server where there is none."""
    watchers: Senders | None
    """Who may see numbers for whoever runs the server; nobody where there is none."""
    uploads: Uploads

    async def offers(self) -> list[Offer]:
        """The rounds that are open."""
        ...

    async def take(self, sender: str, of: bytes, body: bytes) -> bool:
        """Whether the reports are on disk; they are not where the round is over."""
        ...


async def answered(side: Side, asked: Asked) -> Reply:
    """The reply to one request."""
    reports = REPORTS.fullmatch(asked.path)
    paths = ("/rounds", "/healthz", "/readyz", *(() if side.watchers is None else ("/metrics",)))
    if reports is None and asked.path not in paths:
        raise NotHereError
    if asked.method not in (("POST", "PUT") if reports else ("GET", "HEAD")):
        raise WrongMethodError
    if asked.path == "/healthz":
        return Reply()
    if asked.path == "/readyz":
        await _in_time(side.offers())
        return Reply()
    if asked.path == "/metrics":
        _sender(side.watchers, asked)
        return Reply(200, side.uploads.printed(), metrics.MEDIA)
    sender = _sender(side.senders, asked)
    if reports is None:
        return Reply(200, listed(await _in_time(side.offers())), "application/json")
    if asked.headers.get(b"content-type") != MEDIA.encode() or b"content-encoding" in asked.headers:
        raise WrongMediaError
    body = await asked.body(side.most, BODY_SECONDS)
    check_post(body)
    if not await _in_time(side.take(sender, bytes.fromhex(reports[1]), body)):
        raise OverError
    return Reply()


def listed(offers: Iterable[Offer]) -> bytes:
    """Rounds as JSON, what closes first at first: tasks in their one spelling, the rest in hex."""
    found = sorted(offers, key=lambda one: descriptor_from(one.descriptor).closes)
    allowed = _listed_log(found)
    rounds, left = [], LIST_BYTES - len(allowed.encode())
    for one in found:
        round_ = {
            "task": one.task.decode(),
            "descriptor": one.descriptor.hex(),
            "proof": one.proof.hex(),
            "evidence": one.evidence.hex(),
        }
        spelled = json.dumps(round_, ensure_ascii=False)
        left -= len(spelled.encode()) + 2
        if left < 0:
            log.warning("more rounds are open than a list holds: those that close last wait")
            break
        rounds.append(spelled)
    return f'{{"rounds": [{", ".join(rounds)}], "allowed": {allowed}}}'.encode()


def _listed_log(offers: list[Offer]) -> str:
    """The owner's log of allowed code, once for all rounds; nothing where none has evidence."""
    log = max((one.allowed for one in offers if one.evidence), key=len, default=())
    said = [{"entry": e.spelled.decode(), "signature": e.signature.hex()} for e in log]
    return json.dumps(said, ensure_ascii=False)


def _sender(senders: Senders | None, asked: Asked) -> str:
    if senders is None:
        return ""
    kind, _, token = asked.headers.get(b"authorization", b"").partition(b" ")
    if kind.lower() != b"bearer" or not token.isascii():
        raise UnknownSenderError
    sender = senders.named(token.decode().strip())
    if sender is None:
        raise UnknownSenderError
    return sender


async def noted(job: Awaitable[bool], uploads: Uploads, body: bytes) -> bool:
    """Take a post of a round with cover, and note what came of it."""
    begun, outcome = time.monotonic(), "failed"
    try:
        is_taken = await job
        outcome = "taken" if is_taken else "over"
        return is_taken
    finally:
        uploads.note(outcome, len(body) // REPORT, time.monotonic() - begun)


async def _in_time(job: Awaitable[T]) -> T:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await job
    except TimeoutError:
        raise BusyError from None
