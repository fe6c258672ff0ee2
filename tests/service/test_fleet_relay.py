"""A relay between devices and an ingest: who is let in, how often, in what order, and when told."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from tests.service.fleet_servers import Running, Servers, bearer
from tests.service.fleets import reports
from tests.service.test_fleet_ingest import after, shown
from tests.service.test_fleet_uploads import held, waiters
from tests.unit.fleet.devices import secret, sent
from tests.unit.fleet.lines import OWNER, PURPOSE, said

from headcount.fleet import Device, Policy, relay_mix
from headcount.fleet.answering import kept
from headcount.fleet.device_http import Http
from headcount.fleet.relay_mix import MOST_REPORTS
from headcount.fleet.senders import add_senders
from headcount.fleet.store import FleetStore
from headcount.fleet.task import Task
from headcount.trials.seam import swapped

pytestmark = pytest.mark.postgres
POLICY = Policy(OWNER, max_epsilon=5, max_rate=0.5)
ANSWERS = ["mail"] * 95 + ["maps"] * 2 + [None] * 3
SENT, AGAIN, OVER = "sent", "sealed, and will be sent again", "the round is over"


def device(servers: Servers, address: str, token: str, number: int, answer: str | None) -> Device:
    """A device with a folder of its own and a secret that the test knows."""
    folder = servers.fleet.folder / f"device-{number}"
    if not folder.exists():
        folder.mkdir(mode=0o700)
        (folder / "secret").write_bytes(secret(number))
    found = Device(Http(address, headers=bearer(token)), folder, POLICY)
    found.answers("top_app")(lambda: answer)
    found.consent(PURPOSE)
    return found


def fleet_of(
    servers: Servers, relay: Running, tokens: dict[str, str], answers: list[Any]
) -> list[Device]:
    return [
        device(servers, relay.address, tokens[f"device-{i}"], i, answer)
        for i, answer in enumerate(answers, 1)
    ]


def at_once(devices: list[Device]) -> Counter[str]:
    """Run each, many at the same time; what they say of the round."""
    with ThreadPoolExecutor(25) as pool:
        return Counter(
            one for found in pool.map(lambda d: said(d.run_once()), devices) for one in found
        )


def names(n: int) -> list[str]:
    return [f"device-{i}" for i in range(1, n + 1)]


def sampled(task: Task, answers: list[Any]) -> dict[str, int]:
    """What must be shown: the sampled devices of each answer, from the threshold on."""
    true_counts = Counter(
        answer
        for i, answer in enumerate(answers, 1)
        if answer is not None and kept(task, 0, secret(i))[0]
    )
    rate, least = float(task.terms.rate), task.terms.threshold
    assert true_counts["mail"] >= least, "nothing to compare"
    return {one: round(n / rate) for one, n in sorted(true_counts.items()) if n >= least}


def stored(servers: Servers) -> list[bytes]:
    """All reports that are kept, as often as they are."""
    return [row[i : i + 320] for row in servers.rows() for i in range(0, len(row), 320)]


def test_what_devices_say_is_counted_and_equals_the_sampled_truth(servers: Servers) -> None:
    """Through a relay and an ingest that are killed, and run again, before they say a word."""
    door, task, _ = servers.open(epsilon=4)
    ingest = servers.ingest()
    relay, tokens = servers.relay(ingest.port, names(len(ANSWERS)))
    devices = fleet_of(servers, relay, tokens, ANSWERS)
    assert at_once(devices[:30]) == {SENT: 30}
    # The ingest has them, and the relay is not told.
    ingest.kill()
    ingest.start(after(FleetStore, "take", signal.SIGKILL))
    with ThreadPoolExecutor(1) as pool:
        told = pool.submit(at_once, devices[30:60])
        ingest.ended()
        ingest.start()
        # Those who polled while it was away did not hear of the round.
        assert SENT in told.result()
    at_once(devices[30:60])
    # The relay is told, and the devices are not.
    relay.kill()
    relay.start(after(Http, "post", signal.SIGKILL))
    assert AGAIN in at_once(devices[60:90])
    relay.ended()
    relay.start()
    assert at_once(devices[60:]) == {SENT: 40}
    assert at_once(devices) == {}
    n_reports = Counter(report[:16] for report in stored(servers))
    assert len(n_reports) == len(ANSWERS)
    assert max(n_reports.values()) > 1, "nothing was sent twice"
    assert len(servers.rows()) < len(ANSWERS) / 2, "nothing was gathered"
    assert shown(door, task) == sampled(task, ANSWERS)
    servers.fleet.is_in_order(task, 1)
    late = device(servers, relay.address, tokens["device-1"], 500, "mail")
    # A list of rounds may be a moment old; who believes it is told.
    assert {one.said for one in late.run_once()} <= {OVER}
    assert servers.printed() == b""


def test_a_device_sends_its_share_of_a_round_and_no_more(servers: Servers) -> None:
    """The same report as often as it likes, kept once; another one is refused."""
    _, task, described = servers.open(question={"max_bytes": 64, "answers": 2})
    ingest = servers.ingest()
    relay, tokens = servers.relay(ingest.port, ["a", "b"])
    first, second = sent(task, described, 1, "mail", "maps")
    third, others = sent(task, described, 2, "mail")[0], sent(task, described, 3, "mail")
    a, b = bearer(tokens["a"]), bearer(tokens["b"])
    with ThreadPoolExecutor(6) as pool:
        same = pool.map(lambda _: relay.post(described, first, **a), range(6))
        assert set(same) == {204}
    assert [relay.post(described, one, **a) for one in (second, first, second)] == [204] * 3
    assert relay.post(described, third, **a) == 429
    assert [relay.post(described, one, **b) for one in (*others, third)] == [204, 204, 429]
    assert Counter(stored(servers)) == Counter([first, second, *others])
    # In another round it has another share, as soon as that is open.
    door = servers.fleet.door()
    fresh = door.open_round(task.id, 1)
    assert relay.post(fresh, third, **a) == 204
    # Whoever has two tokens is one device.
    (again,) = add_senders(servers.tokens, ["a"])
    other = bearer(again)
    servers.clients.wait_until(lambda: relay.post(described, first, **other) == 204, 30)
    assert relay.post(described, others[0], **other) == 429


def test_who_is_not_known_and_what_is_not_one_report_is_refused(servers: Servers) -> None:
    _, task, described = servers.open()
    ingest = servers.ingest()
    relay, tokens = servers.relay(ingest.port, ["a", "b"])
    one, two = reports(task, described, ["mail"] * 2)
    a = bearer(tokens["a"])
    for headers in ({}, bearer("a"), bearer(tokens["a"][:-1]), {"Authorization": tokens["a"]}):
        assert relay.post(described, one, **headers) == 401
        assert relay.ask("GET", "/rounds", None, **headers)[0] == 401
    assert relay.post(described, one + two, **a) == 413
    assert relay.post(described, one[:-1], **a) == 400
    assert relay.ask("POST", f"/rounds/{bytes(32).hex()}/reports", one, **a)[0] == 409
    assert servers.rows() == []
    # What was refused took nobody's share.
    assert relay.post(described, two, **a) == 204
    # One who is struck off, without a start.
    lines = servers.tokens.read_text().splitlines(keepends=True)
    draft = servers.tokens.with_name("written")
    draft.write_text("".join(line for line in lines if not line.endswith(" a\n")))
    draft.chmod(0o600)
    draft.rename(servers.tokens)
    servers.clients.wait_until(lambda: relay.post(described, two, **a) == 401, 30)
    assert relay.post(described, one, **bearer(tokens["b"])) == 204
    # Without a file nobody is known, and nobody is told that they are none.
    servers.tokens.unlink()
    b = bearer(tokens["b"])
    servers.clients.wait_until(lambda: relay.post(described, one, **b) == 503, 30)
    assert servers.printed() == b""


def test_a_post_is_of_many_devices_in_an_order_of_chance(servers: Servers) -> None:
    _, task, described = servers.open()
    ingest = servers.ingest()
    n = 60
    with swapped(relay_mix, "MOST_REPORTS", n):
        relay, tokens = servers.relay(ingest.port, names(n), gather=30.0)
    sealed = reports(task, described, ["mail"] * n)

    def post(i: int) -> int:
        # Each a moment after the one before.
        time.sleep(0.01 * i)
        return relay.post(described, sealed[i], **bearer(tokens[f"device-{i + 1}"]))

    with ThreadPoolExecutor(n) as pool:
        assert set(pool.map(post, range(n))) == {204}
    assert len(servers.rows()) == 1, "nothing was gathered"
    (row,) = servers.rows()
    order = [sealed.index(row[i : i + 320]) for i in range(0, len(row), 320)]
    assert sorted(order) == list(range(n))
    # How far each is from its place: 1,200 by chance, and six sd below that is once in 10^9.
    assert sum(abs(place - i) for i, place in enumerate(order)) > 600


def test_nobody_is_told_before_it_is_on_disk(servers: Servers) -> None:
    _, task, described = servers.open()
    ingest = servers.ingest()
    relay, tokens = servers.relay(ingest.port, names(3))
    sealed = reports(task, described, ["mail"] * 3)
    told: list[int] = []

    def post(i: int) -> None:
        told.append(relay.post(described, sealed[i], **bearer(tokens[f"device-{i + 1}"])))

    asking = [threading.Thread(target=post, args=(i,)) for i in range(3)]
    with held(servers.fleet, "LOCK TABLE fleet.posted IN SHARE MODE"):
        for one in asking:
            one.start()
        servers.clients.wait_until(lambda: waiters(servers.fleet) >= 1, 30)
        time.sleep(0.3)
        assert told == []
    for one in asking:
        one.join()
    assert told == [204] * 3


def test_without_an_ingest_nothing_is_acknowledged_and_nothing_is_lost(servers: Servers) -> None:
    _, task, described = servers.open()
    ingest = servers.ingest()
    with swapped(relay_mix, "TRY_SECONDS", 5.0):
        relay, tokens = servers.relay(ingest.port, ["a", "b"])
    a, b = bearer(tokens["a"]), bearer(tokens["b"])
    one, two = reports(task, described, ["mail"] * 2)
    assert relay.ask("GET", "/readyz")[0] == 204
    ingest.kill()
    servers.clients.wait_until(lambda: relay.ask("GET", "/readyz")[0] == 503, 30)
    assert relay.ask("GET", "/rounds", None, **a)[0] == 503
    assert relay.ask("GET", "/healthz")[0] == 204
    assert relay.post(described, one, **a) == 503
    ingest.start()
    assert relay.post(described, one, **a) == 204
    # One that comes back while a post is on its way is given it.
    ingest.kill()
    with ThreadPoolExecutor(1) as pool:
        told = pool.submit(relay.post, described, two, **b)
        time.sleep(0.5)
        assert not told.done()
        ingest.start()
        assert told.result() == 204
    assert sorted(stored(servers)) == sorted([one, two])


def test_a_round_that_closes_on_the_way_is_over(servers: Servers) -> None:
    door, task, described = servers.open()
    ingest = servers.ingest()
    relay, tokens = servers.relay(ingest.port, ["a"], gather=2.0)
    (one,) = reports(task, described, ["mail"])
    a = bearer(tokens["a"])
    assert relay.ask("GET", "/rounds", None, **a)[0] == 200
    with ThreadPoolExecutor(1) as pool:
        told = pool.submit(relay.post, described, one, **a)
        door.close(task.id, 0)
        assert told.result() == 409
    assert servers.rows() == []


def test_one_that_is_told_to_end_sends_what_it_gathered_and_answers(servers: Servers) -> None:
    _, task, described = servers.open()
    ingest = servers.ingest()
    relay, tokens = servers.relay(ingest.port, names(5), gather=9.0)
    sealed = reports(task, described, ["mail"] * 5)
    begun = time.monotonic()
    with ThreadPoolExecutor(5) as pool:
        told = [
            pool.submit(relay.post, described, one, **bearer(token))
            for one, token in zip(sealed, tokens.values(), strict=True)
        ]
        time.sleep(1)
        assert not any(one.done() for one in told)
        os.kill(relay.pid, signal.SIGTERM)
        assert {one.result() for one in told} == {204}
    assert relay.ended() == -signal.SIGTERM
    assert time.monotonic() - begun < 8, "it waited for more"
    assert Counter(stored(servers)) == Counter(sealed)


@contextmanager
def overheard(port: int) -> Iterator[tuple[int, list[bytes]]]:
    """A wire to a port, with all that devices say on it, a connection at a time."""
    said_here: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def carry() -> None:
            while True:
                try:
                    asking, _ = listening.accept()
                except OSError:
                    return
                with asking, socket.create_connection(("127.0.0.1", port)) as answering:
                    back = threading.Thread(target=pipe, args=(answering, asking, None))
                    back.start()
                    heard = bytearray()
                    pipe(asking, answering, heard)
                    said_here.append(bytes(heard))
                    back.join()

        carrying = threading.Thread(target=carry)
        carrying.start()
        yield int(listening.getsockname()[1]), said_here
        listening.shutdown(socket.SHUT_RDWR)
    carrying.join()


def pipe(source: socket.socket, to: socket.socket, heard: bytearray | None) -> None:
    try:
        while more := source.recv(65536):
            if heard is not None:
                heard += more
            to.sendall(more)
        to.shutdown(socket.SHUT_WR)
    except OSError:
        return


def test_a_device_that_was_sampled_and_one_that_was_not_look_alike(servers: Servers) -> None:
    """All that is on the wire, byte for byte, but for 320 that nobody there can read."""
    _, task, _ = servers.open(epsilon=4)
    ingest = servers.ingest()
    with overheard(ingest.port) as (behind, passed_on):
        relay, tokens = servers.relay(behind, ["a", "b", "c"])
        look_alike(servers, task, relay, tokens)
    # And so does what is kept of them, and what is passed on.
    assert {len(row) for row in servers.rows()} == {320}
    assert len(servers.rows()) == 3
    posted = [one for one in passed_on if one.startswith(b"POST ")]
    assert len(posted) == 3
    assert len({one[:-320] for one in posted}) == 1


def look_alike(servers: Servers, task: Task, relay: Running, tokens: dict[str, str]) -> None:
    coins = {kept(task, 0, secret(i))[0]: i for i in range(200, 300)}
    heard: list[list[bytes]] = []
    for name, number, answer in (
        ("a", coins[True], "mail"),
        ("b", coins[False], "mail"),
        ("c", coins[True] + 1_000, None),
    ):
        with overheard(relay.port) as (port, on_the_wire):
            address = f"http://127.0.0.1:{port}"
            one = device(servers, address, tokens[name], number, answer)
            assert said(one.run_once()) == [SENT]
        place = f":{port}".encode()
        texts = [one.replace(tokens[name].encode(), b"TOKEN") for one in on_the_wire]
        heard.append([one.replace(place, b":PORT") for one in texts])
    first, *rest = heard
    assert [len(one) for one in first] == [len(first[0]), len(first[1])]
    for other in rest:
        assert other[0] == first[0]
        assert other[1][:-320] == first[1][:-320]
        assert len(other[1]) == len(first[1])


def test_a_post_has_no_more_than_so_many_reports(servers: Servers) -> None:
    assert 100 <= MOST_REPORTS <= 500
    _, task, described = servers.open()
    ingest = servers.ingest()
    sealed = reports(task, described, ["mail"] * 10)
    with swapped(relay_mix, "MOST_REPORTS", 5):
        relay, tokens = servers.relay(ingest.port, names(10), gather=30.0)
    with ThreadPoolExecutor(10) as pool:
        told = pool.map(
            lambda i: relay.post(described, sealed[i], **bearer(tokens[f"device-{i + 1}"])),
            range(10),
        )
        assert set(told) == {204}
    assert sorted(len(row) // 320 for row in servers.rows()) == [5, 5]
    assert Counter(stored(servers)) == Counter(sealed)
