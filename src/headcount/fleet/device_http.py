"""A device's way to a fleet over HTTP, by the standard library alone.

``GET {relay}/rounds`` gives JSON, ``{"rounds": [{"task", "descriptor", "proof", "evidence"}, ...],
"allowed": [{"entry", "signature"}, ...]}``: tasks and entries in their one spelling, the others in
hex. ``POST {relay}/rounds/{hash of the descriptor}/reports``
takes one report: 204 when it is on disk, 409 when the round is over, anything else is tried again.

No redirect is followed and no proxy of the environment is used: a device speaks to the place that
it was given. ``upload`` is the other side.
"""

from __future__ import annotations

import json
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from headcount.errors import UsageError
from headcount.fleet.allowed import Entry
from headcount.fleet.offer import Offer
from headcount.fleet.wire import descriptor_from

SECONDS = 30.0
MOST_BYTES = 1 << 20
"""Of what is read at a time."""
MEDIA = "application/vnd.headcount"
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class Http:
    """A relay at an address.

    relay:   such as ``https://relay.example/phones``; ``http`` is taken for this machine alone
    headers: what the relay knows the device by
    """

    def __init__(
        self, relay: str, *, headers: dict[str, str] | None = None, seconds: float = SECONDS
    ) -> None:
        place = urlsplit(relay)
        host = place.hostname
        is_plain = place.scheme == "http" and host in LOOPBACK
        if host is None or not (is_plain or place.scheme == "https"):
            raise UsageError(
                "A relay is at an address such as https://relay.example. Nothing was sent."
            )
        if place.query or place.fragment or place.username:
            raise UsageError("The address of a relay is a host and a path. Nothing was sent.")
        self._host, self._port, self._is_plain = host, place.port, is_plain
        self._path, self._headers, self._seconds = place.path.rstrip("/"), headers or {}, seconds

    def descriptors(self) -> list[Offer]:
        """The rounds that are open now."""
        status, found = self._ask("GET", "/rounds", None)
        if status != 200:
            raise OSError(f"the relay answers {status}")
        try:
            said: Any = json.loads(found)
            allowed = tuple(map(_entry, said.get("allowed", [])))
            return [_offer(one, allowed) for one in said["rounds"]]
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise OSError("the relay does not answer with rounds") from None

    def post(self, descriptor: bytes, report: bytes) -> bool:
        """Send one report. Whether it is on disk over there; it is not where the round is over."""
        where = f"/rounds/{descriptor_from(descriptor).hash.hex()}/reports"
        status, _ = self._ask("POST", where, report)
        if status not in (204, 409):
            raise OSError(f"the relay answers {status}")
        return status == 204

    def _ask(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        kind = HTTPConnection if self._is_plain else HTTPSConnection
        connection = kind(self._host, self._port, timeout=self._seconds)
        headers = {**self._headers, **({} if body is None else {"Content-Type": MEDIA})}
        try:
            connection.request(method, self._path + path, body, headers)
            answer = connection.getresponse()
            found = answer.read(MOST_BYTES + 1)
        except HTTPException:
            raise OSError("the relay does not speak HTTP") from None
        finally:
            connection.close()
        if len(found) > MOST_BYTES:
            raise OSError("the relay answers with too much")
        return answer.status, found


def _offer(one: Any, allowed: tuple[Entry, ...]) -> Offer:
    proof, evidence = (bytes.fromhex(one.get(name, "")) for name in ("proof", "evidence"))
    task, descriptor = one["task"].encode(), bytes.fromhex(one["descriptor"])
    return Offer(task, descriptor, proof, evidence, allowed)


def _entry(one: Any) -> Entry:
    return Entry(one["entry"].encode(), bytes.fromhex(one["signature"]))
