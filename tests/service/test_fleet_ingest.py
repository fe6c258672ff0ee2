"""An ingest over HTTP: what is taken, counted once, refused, late, slow, and cut short."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.service.fleet_servers import HEADERS, Running, Servers, bearer, slowly
from tests.service.fleets import counts, cut, reports, truth
from tests.service.test_fleet_roles import LOGINS, with_logins
from tests.service.test_fleet_uploads import held, waiters

from headcount.fleet import connection, upload
from headcount.fleet.device_http import Http
from headcount.fleet.refusals import MALFORMED, RefusedError
from headcount.fleet.senders import add_senders
from headcount.fleet.store import FleetStore
from headcount.trials.seam import swapped

pytestmark = pytest.mark.postgres
WRITTEN = {MALFORMED[1], *(one.detail for one in RefusedError.__subclasses__())}


def shown(door: Any, task: Any) -> dict[str, int]:
    door.close(task.id, 0)
    (release,) = door.step()
    return counts(release)


def after(owner: Any, name: str, how: signal.Signals) -> Callable[[], None]:
    """Stop the process at the moment after a step, at each one."""

    def edit() -> None:
        done = getattr(owner, name)

        def and_stop(*given: Any, **named: Any) -> Any:
            done(*given, **named)
            os.kill(os.getpid(), how)

        setattr(owner, name, and_stop)

    return edit


def test_what_is_posted_once_twice_and_in_other_cuts_counts_once(servers: Servers) -> None:
    """By a login that may take reports and do nothing else."""
    door, task, described = servers.open()
    with_logins(servers.fleet)
    name = LOGINS["ingest"]
    ingest = servers.ingest(servers.fleet.address.replace("postgres@", f"{name}@"))
    (offer,) = Http(ingest.address).descriptors()
    assert (offer.task, offer.descriptor) == (task.spelled, described.spelled)
    sealed = reports(task, described)
    posts = [*cut(sealed, 50), *cut(sealed, 50), *cut(sealed[::-1], 7), *sealed[:40]]
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda post: ingest.post(described, post), posts)) == {204}
    assert len(servers.rows()) == len({*posts})
    assert shown(door, task) == truth(task)
    servers.fleet.is_in_order(task, 1)
    assert ingest.post(described, sealed[0]) == 409
    assert servers.printed() == b""


def refusals(servers: Servers) -> tuple[Running, list[tuple[int, int, Any]]]:
    """All that is wrong with a post, alone: the status it should have, has, and what is said."""
    door, task, described = servers.open()
    other = door.open_round(task.id, 1)
    door.close(task.id, 1)
    ingest = servers.ingest()
    sealed = reports(task, described, ["mail"] * 3)
    body, path = b"".join(sealed), f"/rounds/{described.hash.hex()}/reports"
    over, nowhere = f"/rounds/{other.hash.hex()}/reports", f"/rounds/{bytes(32).hex()}/reports"
    asked: list[tuple[int, str, str, bytes | None, dict[str, str]]] = [
        (400, "POST", path, body[:-1], {}),
        (400, "POST", path, body + b"\x00", {}),
        (400, "POST", path, None, HEADERS),
        (409, "POST", over, body, {}),
        (409, "POST", nowhere, body, {}),
        (404, "POST", path.upper(), body, {}),
        (404, "POST", f"/rounds/{described.round}/reports", body, {}),
        (404, "GET", "/", None, {}),
        (405, "GET", path, None, {}),
        (405, "DELETE", path, None, {}),
        (405, "POST", "/rounds", body, {}),
        (415, "POST", path, body, {"Content-Type": "application/octet-stream"}),
        (415, "POST", path, body, {"Content-Encoding": "gzip"}),
        (413, "POST", path, None, {**HEADERS, "Content-Length": "4194624"}),
        (413, "POST", path, None, {**HEADERS, "Content-Length": "9" * 12}),
    ]
    found = []
    for status, method, where, what, headers in asked:
        told, said = ingest.ask(method, where, what, **headers)
        found.append((status, told, said))
    return ingest, found


def test_what_is_not_a_post_is_refused_in_words_that_were_written_before(servers: Servers) -> None:
    _, found = refusals(servers)
    assert [told for _, told, _ in found] == [status for status, _, _ in found]
    assert servers.rows() == []
    for status, _, said in found:
        assert said["status"] == status
        assert set(said) == {"type", "title", "status", "detail"}
        assert said["detail"] in WRITTEN
    # One text for one status, whatever was asked: nothing of a request is in it.
    assert len({said["detail"] for _, _, said in found}) == len({told for _, told, _ in found})
    assert servers.printed() == b""


def test_a_body_without_a_length_is_taken_and_one_that_never_ends_is_not(servers: Servers) -> None:
    _, task, described = servers.open()
    ingest = servers.ingest()
    head = f"PUT /rounds/{described.hash.hex()}/reports HTTP/1.1\r\nHost: x\r\n"
    head += f"Content-Type: {HEADERS['Content-Type']}\r\nTransfer-Encoding: chunked\r\n"
    (post,) = cut(reports(task, described, ["mail"] * 3), 3)
    whole = f"{head}Connection: close\r\n\r\n{len(post):x}\r\n".encode() + post + b"\r\n0\r\n\r\n"
    assert slowly(ingest.port, whole, 60)[1].startswith(b"HTTP/1.1 204 ")
    assert servers.rows() == [post]
    long = f"{head}\r\n{4194305:x}\r\n".encode() + bytes(4194305)
    try:
        told = slowly(ingest.port, long, 60)[1]
    except ConnectionError:
        # It was let go in the middle.
        told = b"HTTP/1.1 413 "
    assert told.startswith(b"HTTP/1.1 413 ")
    assert servers.rows() == [post]


def test_one_who_is_slow_is_let_go(servers: Servers) -> None:
    """In the middle of a body, in the middle of a head, and before it; others do not notice."""
    _, task, described = servers.open()
    with swapped(upload, "BODY_SECONDS", 0.5), swapped(connection, "HEAD_SECONDS", 0.5):
        ingest = servers.ingest()
    where = f"POST /rounds/{described.hash.hex()}/reports HTTP/1.1\r\nHost: x\r\n"
    media = f"Content-Type: {HEADERS['Content-Type']}\r\n"
    (sealed,) = reports(task, described, ["mail"])
    heads = [
        f"{where}{media}Content-Length: 320\r\n\r\n".encode() + sealed[:-1],
        where.encode(),
        b"",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"x" * (1 << 21) + b"\r\n\r\n",
    ]
    with ThreadPoolExecutor(4) as pool:
        told = [pool.submit(slowly, ingest.port, head, 6) for head in heads]
        assert ingest.post(described, sealed) == 204
        found = [one.exception() or one.result()[1] for one in told]
    assert isinstance(found[0], bytes)
    assert found[0].startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in found[0]
    assert found[1:3] == [b"", b""]
    assert found[3] == b"" or isinstance(found[3], ConnectionError)
    assert servers.rows() == [sealed]


def test_without_a_database_nothing_is_acknowledged(
    servers: Servers, server_of_its_own: Any
) -> None:
    servers.fleet.server = server_of_its_own
    servers.fleet.address = server_of_its_own.new_database()
    door, task, described = servers.open()
    ingest = servers.ingest()
    posts = cut(reports(task, described), 75)
    assert ingest.post(described, posts[0]) == 204
    assert [ingest.ask("GET", path)[0] for path in ("/readyz", "/healthz")] == [204, 204]
    server_of_its_own.crash()
    where = f"/rounds/{described.hash.hex()}/reports"
    status, told = ingest.ask("POST", where, posts[1])
    assert (status, told["detail"]) == (503, RefusedError.detail)
    servers.clients.wait_until(lambda: ingest.ask("GET", "/readyz")[0] == 503, 30)
    assert ingest.ask("GET", "/rounds")[0] == 503
    assert ingest.ask("GET", "/healthz")[0] == 204
    assert ingest.post(described, posts[2]) == 503
    server_of_its_own.start()
    servers.clients.wait_until(lambda: ingest.ask("GET", "/readyz")[0] == 204, 30)
    # Those who were refused are not there, and come again.
    assert servers.rows() == [posts[0]]
    assert {ingest.post(described, post) for post in posts} == {204}
    assert shown(door, task) == truth(task)
    assert servers.printed() == b""


def test_a_round_takes_reports_as_soon_as_it_is_open(servers: Servers) -> None:
    """Whoever asked for a list just before does not let a device give it up."""
    door, task, described = servers.open()
    ingest = servers.ingest()
    assert len(ingest.ask("GET", "/rounds")[1]["rounds"]) == 1
    fresh = door.open_round(task.id, 1)
    (sealed,) = reports(task, fresh, ["mail"])
    assert ingest.post(fresh, sealed) == 204
    assert len(ingest.ask("GET", "/rounds")[1]["rounds"]) == 2
    # Nor does it go on offering one that is over, for long.
    door.close(task.id, 0)
    assert ingest.post(described, reports(task, described, ["mail"])[0]) == 409
    servers.clients.wait_until(lambda: len(ingest.ask("GET", "/rounds")[1]["rounds"]) == 1, 30)


def test_nobody_is_answered_before_it_is_written(servers: Servers) -> None:
    _, task, described = servers.open()
    ingest = servers.ingest()
    (post,) = cut(reports(task, described, ["mail"] * 20), 20)
    ingest.ask("GET", "/rounds")
    told: list[int] = []
    asking = threading.Thread(target=lambda: told.append(ingest.post(described, post)))
    with held(servers.fleet, "LOCK TABLE fleet.posted IN SHARE MODE"):
        asking.start()
        servers.clients.wait_until(lambda: waiters(servers.fleet) == 1, 30)
        assert told == []
    asking.join()
    assert told == [204]


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_ingest_that_is_killed_around_a_write_has_acknowledged_nothing(
    servers: Servers, when: str
) -> None:
    door, task, described = servers.open()
    ingest = servers.ingest()
    posts = cut(reports(task, described), 75)
    ingest.kill()
    ingest.start(after(FleetStore, "take" if when == "after" else "open_rounds", signal.SIGKILL))
    with pytest.raises(OSError):  # noqa: PT011  whatever a connection says that is gone
        ingest.post(described, posts[0])
    ingest.ended()
    assert servers.rows() == ([posts[0]] if when == "after" else [])
    ingest.start()
    assert {ingest.post(described, post) for post in posts} == {204}
    assert shown(door, task) == truth(task)


def test_one_that_is_told_to_end_answers_whoever_waits(servers: Servers) -> None:
    _, task, described = servers.open()
    ingest = servers.ingest()
    posts = cut(reports(task, described), 75)
    ingest.ask("GET", "/rounds")
    with ThreadPoolExecutor(10) as pool:
        with held(servers.fleet, "LOCK TABLE fleet.posted IN SHARE MODE"):
            told = [pool.submit(ingest.post, described, post) for post in posts]
            servers.clients.wait_until(lambda: waiters(servers.fleet) == 1, 30)
            os.kill(ingest.pid, signal.SIGTERM)
            servers.clients.wait_until(lambda: is_deaf(ingest), 30)
        assert {one.result() for one in told} == {204}
    assert ingest.ended() == -signal.SIGTERM
    assert set(servers.rows()) == {*posts}


def is_deaf(server: Running) -> bool:
    try:
        server.ask("GET", "/healthz")
    except OSError:
        return True
    return False


def test_only_relays_that_are_known_may_ask(servers: Servers, tmp_path: Path) -> None:
    _, task, described = servers.open()
    (token,) = add_senders(tmp_path / "relays", ["relay-1"])
    ingest = servers.ingest(relays=str(tmp_path / "relays"))
    (sealed,) = reports(task, described, ["mail"])
    for headers in ({}, bearer("x"), bearer(""), {"Authorization": token}, bearer("\xff")):
        assert ingest.post(described, sealed, **headers) == 401
        assert ingest.ask("GET", "/rounds", None, **headers)[0] == 401
    assert ingest.ask("GET", "/readyz")[0] == 204
    assert servers.rows() == []
    assert ingest.post(described, sealed, **bearer(token)) == 204


def test_it_is_started_as_the_docs_say(servers: Servers) -> None:
    _, task, described = servers.open()
    busy = servers.ingest()
    command = [sys.executable, "-m", "headcount.fleet.serving", "ingest", servers.fleet.address]
    refused = subprocess.run(
        [*command, "--port", str(busy.port)], capture_output=True, text=True, timeout=60
    )
    assert refused.returncode == 2
    assert "choose another" in refused.stderr
    busy.kill()
    with subprocess.Popen(
        [*command, "--port", str(busy.port)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as started:
        servers.clients.wait_until(lambda: not is_deaf(busy), 60)
        (sealed,) = reports(task, described, ["mail"])
        assert busy.post(described, sealed) == 204
        started.terminate()
        assert started.stdout is not None
        assert started.stdout.read() == b""
        assert started.wait(60) == -signal.SIGTERM
