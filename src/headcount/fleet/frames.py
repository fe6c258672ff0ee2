"""Frames over a UNIX socket: a length of four bytes, and so many bytes."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

LENGTH = struct.Struct(">I")
LARGEST = 1 << 26
END = b""
"""A frame of no bytes ends a stream of them."""


class BrokenError(Exception):
    """Whoever was spoken with went away, or does not speak so."""


def send(to: socket.socket, frame: bytes) -> None:
    """Send one frame."""
    if len(frame) > LARGEST:
        raise BrokenError
    try:
        to.sendall(LENGTH.pack(len(frame)) + frame)
    except OSError:
        raise BrokenError from None


def receive(of: socket.socket) -> bytes:
    """The next frame."""
    (length,) = LENGTH.unpack(_exactly(of, LENGTH.size))
    if length > LARGEST:
        raise BrokenError
    return _exactly(of, length)


def until_end(of: socket.socket) -> Iterator[bytes]:
    """Frames up to the one that ends them."""
    while frame := receive(of):
        yield frame


def _exactly(of: socket.socket, n: int) -> bytes:
    parts = []
    while n:
        try:
            part = of.recv(min(n, 1 << 20))
        except OSError:
            raise BrokenError from None
        if not part:
            raise BrokenError
        parts.append(part)
        n -= len(part)
    return b"".join(parts)
