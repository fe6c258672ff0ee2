"""A device over HTTP, on loopback: what is taken, over, lost, redirected or no answer at all."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.unit.fleet.devices import round_of
from tests.unit.fleet.lines import NOW, OWNER, PURPOSE, asked, opened, said

from headcount.errors import UsageError
from headcount.fleet import Device, Policy
from headcount.fleet.device_http import MOST_BYTES, Http

TASK = asked()
ROUND = round_of(TASK)
OFFERED = json.dumps(
    {"rounds": [{"task": TASK.spelled.decode(), "descriptor": ROUND.spelled.hex()}]}
).encode()


class Relay(ThreadingHTTPServer):
    """Takes reports, and answers as it is told."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.offered: tuple[int, bytes] = (200, OFFERED)
        self.says = [204]
        self.posted: list[tuple[str, bytes]] = []
        self.address = f"http://127.0.0.1:{self.server_address[1]}/phones"


class Handler(BaseHTTPRequestHandler):
    server: Relay

    def do_GET(self) -> None:
        status, body = self.server.offered
        assert self.path in ("/phones/rounds", "/elsewhere")
        self.send_response(status)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posted.append((self.path, body))
        assert self.headers["Content-Type"] == "application/vnd.headcount"
        said_now = self.server.says.pop(0)
        if said_now == 0:
            # The report is there, and the answer is lost.
            self.close_connection = True
            return
        self.send_response(said_now)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Keep the test's output to itself."""


@pytest.fixture
def relay() -> Iterator[Relay]:
    made = Relay()
    running = threading.Thread(target=made.serve_forever)
    running.start()
    yield made
    made.shutdown()
    running.join()
    made.server_close()


def device(relay: Relay, folder: Path) -> Device:
    found = Device(Http(relay.address, seconds=20), folder, Policy(OWNER), clock=lambda: NOW)
    found.answers("top_app")(lambda: "mail")
    found.consent(PURPOSE)
    return found


def test_a_report_is_posted_until_the_relay_has_it(relay: Relay, tmp_path: Path) -> None:
    relay.says = [503, 0, 429, 302, 204]
    one = device(relay, tmp_path / "device")
    for _ in range(4):
        assert said(one.run_once()) == ["sealed, and will be sent again"]
    assert said(one.run_once()) == ["sent"]
    assert one.run_once() == []
    assert len(relay.posted) == 5
    ((path, report),) = set(relay.posted)
    assert path == f"/phones/rounds/{ROUND.hash.hex()}/reports"
    assert opened(ROUND, report) in ("mail", None)


def test_a_round_that_is_over_is_not_tried_again(relay: Relay, tmp_path: Path) -> None:
    relay.says = [409]
    one = device(relay, tmp_path / "device")
    assert said(one.run_once()) == ["the round is over"]
    assert one.run_once() == []
    assert len(relay.posted) == 1


@pytest.mark.parametrize(
    "offered",
    [
        (500, OFFERED),
        (302, b""),
        (200, b"\xff"),
        (200, b"[]"),
        (200, b'{"rounds": [1]}'),
        (200, b'{"rounds": [{"task": 1, "descriptor": "00"}]}'),
        (200, b'{"rounds": [{"task": "x", "descriptor": "zz"}]}'),
        (200, b" " * (MOST_BYTES + 1)),
    ],
    ids=["error", "redirect", "bytes", "list", "number", "no text", "no hex", "too much"],
)
def test_what_is_no_list_of_rounds_is_as_no_relay(
    relay: Relay, tmp_path: Path, offered: tuple[int, bytes]
) -> None:
    relay.offered = offered
    one = device(relay, tmp_path / "device")
    assert said(one.run_once()) == ["the fleet could not be reached"]
    assert relay.posted == []


def test_a_relay_that_is_gone_is_no_error(relay: Relay, tmp_path: Path) -> None:
    one = device(relay, tmp_path / "device")
    relay.shutdown()
    relay.server_close()
    assert said(one.run_once()) == ["the fleet could not be reached"]


def test_an_address_without_encryption_is_for_this_machine_alone() -> None:
    for wrong in ("http://relay.example", "relay.example", "ftp://relay.example", "https://"):
        with pytest.raises(UsageError, match="https"):
            Http(wrong)
    for wrong in ("https://a:b@relay.example", "https://relay.example?x=1"):
        with pytest.raises(UsageError, match="host and a path"):
            Http(wrong)
    Http("https://relay.example/phones/")
