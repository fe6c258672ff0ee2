"""What a process gives up before it holds keys: the network, dumps of its memory, swap.

Whoever is root on the machine can still read its memory. Only hardware made for it removes that.
"""

from __future__ import annotations

import ctypes
import os
import resource
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from headcount.errors import UsageError

NEW_NETWORK, NEW_USER = 0x40000000, 0x10000000
SET_DUMPABLE, GET_DUMPABLE = 4, 3
CURRENT_AND_FUTURE = 3


@dataclass(frozen=True, slots=True)
class Given:
    """What was given up."""

    network: bool
    dumps: bool
    swap: bool


def give_up() -> Given:
    """Give up what the core does not need; refuse to go on with a network or with dumps."""
    libc = ctypes.CDLL(None, use_errno=True)
    _leave_network(libc)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    libc.prctl(SET_DUMPABLE, 0, 0, 0, 0)
    no_dumps = libc.prctl(GET_DUMPABLE, 0, 0, 0, 0) == 0
    given = Given(_has_no_network(), no_dumps, keep_from_swap())
    if not (given.network and given.dumps):
        raise UsageError(
            "This system lets no process give up its network: the core does not start. Start it "
            "as root, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1)."
        )
    return given


def _leave_network(libc: ctypes.CDLL) -> None:
    """As root, or else as a user of a namespace of one's own; some systems allow neither."""
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(NEW_NETWORK) == 0 or libc.unshare(NEW_USER | NEW_NETWORK) != 0:
        return
    # The same user as before, or files would seem to be nobody's.
    for file, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with suppress(OSError):
            Path("/proc/self", file).write_text(text)


def _has_no_network() -> bool:
    """Whether there is no interface but a loopback, and that one down."""
    names = [name for _, name in socket.if_nameindex()]
    if names and names != ["lo"]:
        return False
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", 0))
            probe.listen()
            with socket.socket() as other:
                other.settimeout(1)
                other.connect(probe.getsockname())
        except OSError:
            return True
    return False


def keep_from_swap() -> bool:
    """Keep all memory out of swap, where a limit does not make later allocations fail.

    A process that is forked must say so again.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if soft != resource.RLIM_INFINITY and os.geteuid() != 0:
        return False
    return bool(ctypes.CDLL(None).mlockall(CURRENT_AND_FUTURE) == 0)
