"""YAML as a task file has it: plain values, and no key twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headcount.errors import MissingExtraError, UsageError
from headcount.screens import quoted

LARGEST = 1 << 16


def mapping_of(path: str | Path) -> Any:
    """What a YAML file holds."""
    try:
        import yaml
    except ImportError:
        raise MissingExtraError("fleet", "A task file in YAML") from None

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
        raise UsageError(
            f"The task file {quoted(path)} cannot be read. Nothing was charged."
        ) from None
    if len(text) > LARGEST:
        raise UsageError(
            f"The task file {quoted(path)} has more than {LARGEST:,} bytes. Nothing was charged."
        )
    try:
        return yaml.load(text.decode(), Loader)  # noqa: S506  it is a safe one
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        raise UsageError(
            f"The task file {quoted(path)} is not YAML, or has a key twice. Nothing was charged."
        ) from None
