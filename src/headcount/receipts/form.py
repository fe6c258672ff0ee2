"""What a receipt is made of, read strictly: nothing missing, nothing more, nothing said twice.

Numbers with a point are spelled as texts, since programs round and write them differently. What is
signed is one spelling of all but the signature: keys in order, no blanks, ASCII alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from headcount.ledger.journal import FIELDS
from headcount.screens import visible

FORM, FORM_OF_WINDOWS = "headcount receipt 1", "headcount receipt 2"
"""The second is of an account with windows."""
LARGEST = 1 << 22
"""The most bytes of a receipt; one has a few thousand."""
MOST_WHOLE = 1 << 63
DECIMAL = re.compile(r"(0|[1-9]\d{0,29})(\.\d{1,18})?")
HASH = re.compile(r"[0-9a-f]{64}")
NUMBERS = ("sequence", "rho", "delta")


class DamagedError(Exception):
    """Why a text is no receipt, in words for people."""


def canonical(body: Mapping[str, Any]) -> bytes:
    """The one spelling of a receipt that is signed, without its signature."""
    unsigned = {name: value for name, value in body.items() if name != "signature"}
    text = json.dumps(unsigned, sort_keys=True, separators=(",", ":"))
    return f"{unsigned.get('form')}\n{text}".encode("ascii")


def parsed(text: bytes) -> dict[str, Any]:
    """The receipt in a text, or why there is none in it."""
    if len(text) > LARGEST:
        raise DamagedError(f"it has more than {LARGEST:,} bytes, and no receipt is that long")
    try:
        body = json.loads(
            text.decode(),
            object_pairs_hook=_once,
            parse_float=_no_number,
            parse_constant=_no_number,
        )
    except DamagedError:
        raise
    except UnicodeDecodeError:
        raise DamagedError("it is no text in UTF-8") from None
    except (ValueError, RecursionError):
        raise DamagedError(
            "it is no whole JSON: it was cut off, or written over, or is another file"
        ) from None
    spec = SPECS.get(body["form"]) if isinstance(body, dict) and _has_form(body) else None
    if spec is None:
        raise DamagedError(
            f"it does not say that its form is {FORM!r} or {FORM_OF_WINDOWS!r}: it "
            "is another file, or a newer version of headcount wrote it"
        )
    faults = list(_misfits(body, spec, ""))
    if faults:
        raise DamagedError("; ".join(faults[:5]))
    return body


def _has_form(body: Mapping[str, Any]) -> bool:
    return isinstance(body.get("form"), str)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DamagedError(f"it says {visible(twice[:60])} twice in one place")
    return found


def _no_number(text: str) -> NoReturn:
    raise DamagedError(f"it holds the number {text[:40]}, and all numbers in a receipt are whole")


Fits = Callable[[Any], bool]


def _of(kind: type, fits: Callable[[Any], bool] = bool) -> Fits:
    return lambda value: type(value) is kind and fits(value)


def _sound(text: str) -> bool:
    """Whether a text can be written at all: half of a letter's code cannot."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _texts(value: Any) -> bool:
    return type(value) is dict and all(
        type(one) is str and _sound(one) and _sound(name) for name, one in value.items()
    )


def _columns(value: Any) -> bool:
    return type(value) is list and all(
        type(one) is list
        and len(one) == 2
        and all(type(part) is str and _sound(part) for part in one)
        for one in value
    )


TEXT = ("a text", _of(str, _sound))
WHOLE = ("a whole number", _of(int, lambda value: 0 <= value < MOST_WHOLE))
HEX = ("64 hexadecimal digits", _of(str, lambda value: HASH.fullmatch(value) is not None))
NUMBER = (
    "a decimal number as a text",
    _of(str, lambda value: DECIMAL.fullmatch(value) is not None),
)
RECORDS = (
    "a list of events",
    _of(list, lambda value: all(type(one) is dict and "kind" in one for one in value)),
)
ENTRY = {name: WHOLE if name in NUMBERS else TEXT for name in FIELDS} | {"hash": HEX}
ROWS = {
    "columns": ("a list of names, each with what the column holds", _columns),
    "n": WHOLE,
    "digest": HEX,
    "digest_of_sorted": HEX,
}
SPEC: dict[str, Any] = {
    "form": TEXT,
    "release": {
        "verb": TEXT,
        "about": ("an object of texts", _texts),
        "events": RECORDS,
        "unit": TEXT,
        "neighbours": TEXT,
    },
    "cost": {"rho": NUMBER, "delta": NUMBER, "epsilon": NUMBER, "at_delta": TEXT},
    "account": {
        "name": TEXT,
        "neighbours": TEXT,
        "delta": TEXT,
        "limit": {"rho": NUMBER, "delta": NUMBER, "epsilon": NUMBER},
        "spent": {"rho": NUMBER, "delta": NUMBER, "epsilon": NUMBER},
    },
    "chain": {
        "ledger": TEXT,
        "opened": ENTRY,
        "entry": ENTRY,
        "head": {"sequence": WHOLE, "hash": HEX},
    },
    "rows": ROWS,
    "withheld": (ROWS,),
    "software": {"drew": TEXT, "signed": TEXT, "from": TEXT, "files": TEXT},
    "signature": {"key": TEXT, "value": TEXT},
}
"""What each field must be; in a tuple by itself, what it must be unless it is null."""
STATED = {"rho": NUMBER, "delta": NUMBER, "epsilon": NUMBER}
SPECS: dict[str, dict[str, Any]] = {
    FORM: SPEC,
    FORM_OF_WINDOWS: SPEC
    | {
        "chain": SPEC["chain"] | {"windows": ENTRY},
        "windows": {
            "first": TEXT,
            "last": TEXT,
            "times": WHOLE,
            "limit": STATED,
            "presence": TEXT,
        },
    },
}
"""By the form that a receipt says it has."""


def _misfits(value: Any, spec: Any, path: str) -> Iterator[str]:
    """What is missing, unknown, or of another kind than it must be."""
    if isinstance(spec, tuple) and len(spec) == 1:
        if value is not None:
            yield from _misfits(value, spec[0], path)
    elif isinstance(spec, tuple):
        needed, fits = spec
        if not fits(value):
            yield f"{path} must be {needed}"
    elif type(value) is not dict:
        yield f"{path} must be an object"
    else:
        inside = f"{path}." if path else ""
        yield from (f"{inside}{name} is missing" for name in spec if name not in value)
        for name in value:
            if name not in spec:
                yield f"{inside}{visible(name[:60])} is a field that no receipt has"
            else:
                yield from _misfits(value[name], spec[name], f"{inside}{name}")
