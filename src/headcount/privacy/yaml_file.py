"""A file in YAML that people write: plain values, no key twice, and no key that nobody knows."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headcount.errors import UsageError
from headcount.privacy.argument import NOTHING, Check, shown
from headcount.screens import quoted

LARGEST = 1 << 16


def mapping_of(path: str | Path, called: str) -> Any:
    """What a YAML file holds; ``called``: what messages call it, such as "The task file"."""
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Refuses a key that is there twice, of which YAML would keep the last."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            keys = [key.value for key, _ in node.value]
            if len(set(map(str, keys))) != len(keys):
                raise yaml.YAMLError("a key twice")
            found: dict[Any, Any] = super().construct_mapping(node, deep=deep)
            return found

    try:
        with Path(path).open("rb") as file:
            text = file.read(LARGEST + 1)
    except OSError:
        raise UsageError(f"{called} {quoted(path)} cannot be read. {NOTHING}") from None
    if len(text) > LARGEST:
        raise UsageError(f"{called} {quoted(path)} has more than {LARGEST:,} bytes. {NOTHING}")
    try:
        return yaml.load(text.decode(), Loader)  # noqa: S506  it is a safe one
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        raise UsageError(
            f"{called} {quoted(path)} is not YAML, has a key twice, or a day that there is not. "
            f"A value that begins with a brace stands in quotes. {NOTHING}"
        ) from None


def read_mapping(
    given: Any, where: str, checks: Mapping[str, Check], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """All keys of a mapping in one form; a key that is not known is refused with the nearest.

    where:     what messages call the mapping
    defaults:  of keys that may be left out, given to their checks as if they were written
    """
    if not isinstance(given, Mapping):
        raise UsageError(f"{where} must have keys and values, not {shown(given)}. {NOTHING}")
    for key in given:
        if key not in checks:
            near = difflib.get_close_matches(str(key), checks, 1, 0.0)
            raise UsageError(
                f"{shown(key)} in {where} is not known. Did you mean {near[0]!r}? {NOTHING}"
            )
    for key in checks:
        if key not in given and key not in defaults:
            raise UsageError(f"{where} has no {key!r}, which it must. {NOTHING}")
    found = {**defaults, **given}
    return {key: check(found[key], key) for key, check in checks.items()}
