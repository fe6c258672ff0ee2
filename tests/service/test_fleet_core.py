"""The core in a process of its own: killed, spoken to wrongly, looked into, and cut off."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import socket
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.service.fleets import RunningCore
from tests.unit.fleet.devices import round_of, sent, task

from headcount.errors import UsageError
from headcount.fleet import frames
from headcount.fleet.core import count
from headcount.fleet.core_client import Core
from headcount.fleet.core_process import FAILED
from headcount.fleet.keybox import KeyBox
from headcount.fleet.sandbox import give_up
from headcount.fleet.wire import Descriptor

TASK = task()
CANARY = "canary-0123456789"
SAID = ["mail"] * 600 + ["maps"] * 500 + [CANARY] * 3 + [None] * 97


def opened(core: RunningCore) -> tuple[Descriptor, list[bytes]]:
    """A round, and a post of every device."""
    with Core(core.place) as asked:
        public_key = asked.make(TASK, 0)
    described = round_of(TASK)
    descriptor = Descriptor(TASK.id, 0, described.opens, described.closes, public_key)
    return descriptor, [sent(TASK, descriptor, d, said)[0] for d, said in enumerate(SAID)]


def test_a_round_is_counted_once_and_then_its_key_is_gone(core: RunningCore) -> None:
    descriptor, posts = opened(core)
    with Core(core.place) as asked:
        shown = asked.count(TASK, descriptor, posts)
        key = KeyBox(core.folder / "keys").open(TASK.id, 0)
        assert shown == count(TASK, descriptor, key, posts)
        assert [group for group, _ in shown.counts] == ["mail", "maps"]
        # Again from the same, as after a lost reply; from fewer, as for a difference, it is not.
        assert asked.count(TASK, descriptor, posts) == shown
        with pytest.raises(UsageError, match="counted before, from other reports"):
            asked.count(TASK, descriptor, posts[1:])
        asked.destroy(TASK, 0)
        with pytest.raises(UsageError, match="is destroyed"):
            asked.count(TASK, descriptor, posts)
        with pytest.raises(UsageError, match="is destroyed"):
            asked.make(TASK, 0)
        with pytest.raises(UsageError, match="never opened"):
            asked.count(TASK, round_of(TASK, 1), [])


def test_nothing_of_an_answer_is_printed_or_kept(core: RunningCore) -> None:
    descriptor, posts = opened(core)
    with Core(core.place) as asked:
        asked.count(TASK, descriptor, [*posts, *(bytes(320) for _ in range(5))])
        with pytest.raises(UsageError):
            asked.count(task(owner="another"), descriptor, posts)
    for path in core.folder.rglob("*"):
        if path.is_file():
            assert CANARY.encode() not in path.read_bytes(), path
    assert (core.folder / "printed").read_bytes() == b""


def test_it_has_no_network_and_no_dumps(core: RunningCore) -> None:
    with Core(core.place) as asked:
        held = asked.given_up()
    assert held["network"]
    assert held["dumps"]
    pid = core.process.pid
    assert os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")
    limits = Path(f"/proc/{pid}/limits").read_text().splitlines()
    assert next(line for line in limits if line.startswith("Max core file")).split()[4:6] == [
        "0",
        "0",
    ]
    assert oct(core.place.stat().st_mode & 0o777) == "0o600"


def tries_to_reach(port: int, user: int, to: int) -> None:
    if user:
        os.setgid(user)
        os.setuid(user)
    try:
        give_up()
    except UsageError:
        os.write(to, b"refused to start")
        return
    try:
        with socket.socket() as reaching:
            reaching.settimeout(5)
            reaching.connect(("127.0.0.1", port))
    except OSError:
        dumps = resource.getrlimit(resource.RLIMIT_CORE)
        os.write(to, f"cut off, {dumps}, user {os.geteuid()}".encode())
    else:
        os.write(to, b"reached")


@pytest.mark.parametrize("user", [0, 65534])
def test_whoever_gave_up_the_network_reaches_nothing(clients: ModuleType, user: int) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can be somebody else")
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        ours, theirs = os.pipe()
        child = clients.forked(tries_to_reach, listening.getsockname()[1], user, theirs)
        os.close(theirs)
        os.waitpid(child, 0)
        told = os.read(ours, 100).decode()
        os.close(ours)
    expected = f"cut off, (0, 0), user {user}"
    # A system may forbid namespaces to users; the core does not start there.
    assert told == expected or (user and told == "refused to start")


def test_a_core_that_was_killed_counts_the_same_when_it_is_back(core: RunningCore) -> None:
    descriptor, posts = opened(core)
    with Core(core.place) as asked:
        shown = asked.count(TASK, descriptor, posts)
    core.kill()
    core.start()
    with Core(core.place) as asked:
        assert asked.count(TASK, descriptor, posts) == shown
        with pytest.raises(UsageError, match="from other reports"):
            asked.count(TASK, descriptor, posts[:-1])


def test_one_who_says_nothing_is_let_go_and_the_next_is_heard(core: RunningCore) -> None:
    """A driver that was frozen in the middle of a count keeps the core from no other."""
    descriptor, posts = opened(core)
    core.kill()
    core.patience = 0.5
    core.start()
    with begun(core, descriptor, posts[:100]), Core(core.place) as asked:
        asked._socket.settimeout(20)
        assert asked.count(TASK, descriptor, posts).counts


def begun(core: RunningCore, descriptor: Descriptor, posts: list[bytes]) -> socket.socket:
    """A count that is told everything but its end."""
    asking = socket.socket(socket.AF_UNIX)
    asking.connect(str(core.place))
    for frame in (json.dumps({"word": "count"}).encode(), TASK.spelled, descriptor.spelled):
        frames.send(asking, frame)
    frames.send(asking, b"".join(posts))
    return asking


def test_a_count_that_is_cut_short_or_loses_a_worker_is_none(
    core: RunningCore, clients: ModuleType
) -> None:
    descriptor, posts = opened(core)
    with begun(core, descriptor, posts[:1100]):
        clients.wait_until(lambda: bool(core.children()))
    with begun(core, descriptor, posts) as asking:
        clients.wait_until(lambda: len(core.children()) == 2)
        for child in core.children():
            os.kill(child, signal.SIGKILL)
        frames.send(asking, frames.END)
        assert frames.receive(asking) == b"\x00" + FAILED.encode()
    # Neither noted anything: the round is counted from all of its reports.
    with Core(core.place) as asked:
        assert asked.count(TASK, descriptor, posts).counts


def test_whatever_is_said_to_it_it_goes_on(core: RunningCore) -> None:
    dice = random.Random(5)
    words: list[Any] = [{"word": "count"}, {"word": "make"}, {"word": "make", "task": "zz"}]
    words += [{"word": "make", "task": "../..", "round": 0}, {"word": "no"}, [], 1, None]
    words += [{"word": "destroy", "task": "00" * 32, "round": -1}, {"word": ["make"]}]
    for _ in range(30):
        asking = socket.socket(socket.AF_UNIX)
        asking.connect(str(core.place))
        with asking:
            for _ in range(dice.randint(0, 4)):
                said = json.dumps(dice.choice(words)).encode()
                frame = dice.choice([said, dice.randbytes(dice.randint(0, 400)), TASK.spelled])
                if dice.random() < 0.2:
                    asking.sendall(dice.randbytes(dice.randint(1, 9)))
                    break
                frames.send(asking, frame)
    assert core.process.poll() is None
    descriptor, posts = opened(core)
    with Core(core.place) as asked:
        assert asked.count(TASK, descriptor, posts).counts
    assert (core.folder / "printed").read_bytes() == b""
