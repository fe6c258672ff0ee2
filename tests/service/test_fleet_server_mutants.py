"""What protects reports on their way in over HTTP, each taken away alone: its test must notice.

Servers are forked from the test, and so have the edit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.service import test_fleet_ingest, test_fleet_relay
from tests.service.fleet_servers import Servers
from tests.service.test_fleet_mutants import told_at_once

from headcount.errors import HeadcountError
from headcount.fleet import asgi, connection, intake, relay_mix, upload
from headcount.fleet.asgi import Asked
from headcount.fleet.connection import Connection
from headcount.fleet.fresh import Fresh
from headcount.fleet.ingest import Ingest
from headcount.fleet.intake import Intake
from headcount.fleet.refusals import BusyError, problem
from headcount.fleet.relay import Relay
from headcount.fleet.relay_mix import Mix
from headcount.fleet.relay_once import Once
from headcount.trials.seam import swapped

pytestmark = [pytest.mark.postgres, pytest.mark.slow]
Edit = Iterable[tuple[Any, str, Any]]
Scenario = Callable[[Servers, Path], None]


def quoting(error: Exception) -> tuple[int, bytes]:
    status, said = problem(error)
    return status, json.dumps({**json.loads(said), "detail": str(error)}).encode()


async def however_slow(self: Asked, most: int, _: float) -> bytes:
    return await BODY(self, most, 3_600)


async def as_often_as_it_likes(
    self: Once, of: bytes, device: str, report_id: bytes, most: int, sending: Any
) -> bool:
    return bool(await sending())


async def whichever_comes(
    self: Once, of: bytes, device: str, report_id: bytes, most: int, sending: Any
) -> bool:
    return await SEND_ONCE(self, of, device, b"", 1, sending)


async def under_any_name(
    self: Once, of: bytes, device: str, report_id: bytes, most: int, sending: Any
) -> bool:
    return await SEND_ONCE(self, of, "", report_id, most, sending)


async def without_waiting(self: Mix, descriptor: bytes, report: bytes) -> bool:
    import asyncio

    self._kept = asyncio.ensure_future(MIXED(self, descriptor, report))  # type: ignore[attr-defined]
    return True


async def tried_once(self: Mix, descriptor: bytes, body: bytes) -> bool:
    try:
        return self._post(descriptor, body)
    except OSError:
        raise BusyError from None


async def said_anyhow(self: Mix, descriptor: bytes, body: bytes) -> bool:
    try:
        return await TRIED(self, descriptor, body)
    except BusyError:
        return True


async def at_once(seconds: float, until: Any) -> None:
    return None


async def with_a_name(self: Relay, sender: str, of: bytes, body: bytes) -> bool:
    way: Any = self._ingest
    way._headers = {**way._headers, "X-Device": sender}
    return await TAKE(self, sender, of, body)


BODY, SEND_ONCE, MIXED, TRIED, TAKE = (
    Asked.body,
    Once.send,
    Mix.send,
    Mix._until_taken,
    Relay.take,
)


def plain(test: Callable[[Servers], None]) -> Scenario:
    return lambda servers, _: test(servers)


refused = plain(
    test_fleet_ingest.test_what_is_not_a_post_is_refused_in_words_that_were_written_before
)
slow = plain(test_fleet_ingest.test_one_who_is_slow_is_let_go)
share = plain(test_fleet_relay.test_a_device_sends_its_share_of_a_round_and_no_more)
mixed = plain(test_fleet_relay.test_a_post_is_of_many_devices_in_an_order_of_chance)
away = plain(test_fleet_relay.test_without_an_ingest_nothing_is_acknowledged_and_nothing_is_lost)

MUTANTS: dict[str, tuple[Edit, Scenario]] = {
    "acknowledged before it is written": (
        [(Intake, "_write", told_at_once)],
        plain(test_fleet_ingest.test_nobody_is_answered_before_it_is_written),
    ),
    "posts of any length": (
        [(upload, "check_post", lambda _: None), (intake, "check_post", lambda _: None)],
        refused,
    ),
    "posts as long as anybody likes": (
        [(Ingest, "most", 1 << 30), (upload, "BODY_SECONDS", 0.5)],
        refused,
    ),
    "a refusal quotes what went wrong": ([(asgi, "problem", quoting)], refused),
    "bodies however slow": ([(Asked, "body", however_slow)], slow),
    "heads however slow": ([(Connection, "_wait", lambda self: None)], slow),
    "heads however long": ([(connection, "MOST_HEAD", 1 << 30)], slow),
    "an old list says that a round is over": (
        [(Fresh, "now", Fresh.recent)],
        plain(test_fleet_ingest.test_a_round_takes_reports_as_soon_as_it_is_open),
    ),
    "anybody may ask": (
        [(upload, "_sender", lambda *_: "")],
        test_fleet_ingest.test_only_relays_that_are_known_may_ask,
    ),
    "acknowledged before it is posted": (
        [(Mix, "send", without_waiting)],
        plain(test_fleet_relay.test_nobody_is_told_before_it_is_on_disk),
    ),
    "acknowledged when it is given up": (
        [(Mix, "_until_taken", said_anyhow), (relay_mix, "TRY_SECONDS", 1.0)],
        away,
    ),
    "a post is tried once": ([(Mix, "_until_taken", tried_once)], away),
    "as many reports as a device likes": ([(Once, "send", as_often_as_it_likes)], share),
    "one upload, whatever it is": ([(Once, "send", whichever_comes)], share),
    "one share for all devices": ([(Once, "send", under_any_name)], share),
    "in the order of arrival": ([(relay_mix, "shuffled", list)], mixed),
    "each report by itself": ([(relay_mix, "_at_most", at_once)], mixed),
    "names are passed on": (
        [(Relay, "take", with_a_name)],
        plain(test_fleet_relay.test_a_device_that_was_sampled_and_one_that_was_not_look_alike),
    ),
    "told to end, it waits for more": (
        [(Mix, "hurry", lambda self: None)],
        plain(test_fleet_relay.test_one_that_is_told_to_end_sends_what_it_gathered_and_answers),
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_noticed(servers: Servers, tmp_path: Path, mutant: str) -> None:
    edits, scenario = MUTANTS[mutant]
    with ExitStack() as stack:
        for target, name, value in edits:
            stack.enter_context(swapped(target, name, value))
        noticed: BaseException | None = None
        try:
            scenario(servers, tmp_path)
        except (AssertionError, HeadcountError, OSError, pytest.fail.Exception) as error:
            noticed = error
    assert noticed is not None, "nobody noticed"
    print(f"{mutant}: {noticed!r:.150}")
