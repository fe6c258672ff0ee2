"""One spelling for each task, so that its hash names it: RFC 8785, for what a task may hold."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from headcount.errors import UsageError

NAMED = b"headcount/1 task\x00"


def canonical(value: Any) -> bytes:
    """The one spelling of a value of texts, whole numbers, truth values, lists and objects."""
    _check(value)
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def id_of(spelled: bytes) -> bytes:
    """The 32 bytes that name a task."""
    return hashlib.sha256(NAMED + spelled).digest()


def read_canonical(spelled: bytes) -> Any:
    """The value, refused unless this is its one spelling."""
    try:
        value = json.loads(spelled)
        same = canonical(value) == spelled
    except (ValueError, RecursionError):
        same = False
    if not same:
        raise UsageError("These bytes are not a task in its one spelling. Nothing was charged.")
    return value


def _check(value: Any) -> None:
    # Numbers with a point are spelled differently from language to language, and so are keys
    # outside ASCII sorted.
    if isinstance(value, dict):
        for key, one in value.items():
            if not (isinstance(key, str) and key.isascii()):
                raise UsageError("The names in a task are of ASCII. Nothing was charged.")
            _check(one)
    elif isinstance(value, list):
        for one in value:
            _check(one)
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise UsageError("A text in a task is not UTF-8. Nothing was charged.") from None
    elif not isinstance(value, bool | int) or abs(value) >= 1 << 53:
        raise UsageError(
            "A task holds texts, whole numbers below 2^53, yes and no. Nothing was charged."
        )
