"""How a test puts a table where an engine can reach it: one class an engine, found by its file.

``loaders/<engine>.py`` has a ``Loader`` of its own. What takes the ``loader`` fixture runs on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from headcount.tables import UserTable, open_table


class Loader:
    """Puts an Arrow table where one engine can reach it, and opens it there."""

    name: ClassVar[str]
    """As the engine calls itself."""
    marks: ClassVar[tuple[Any, ...]] = ()
    server: ClassVar[str | None] = None
    """The fixture that starts what the engine runs on."""
    n_releases: ClassVar[int] = 10
    """How many releases at once are enough in CI."""
    gaps: ClassVar[Mapping[str, str]] = {}
    """What it cannot do, and why. Each must fail: one that passes has closed and is taken out."""

    def __init__(self, folder: Path, server: Any) -> None:
        self.folder, self.server_at = folder, server
        self.loaded: dict[str, Any] = {}

    def source(self, table: pa.Table | Callable[[], pa.Table], title: str) -> Any:
        """What ``hc.open`` takes for this table, which is loaded once."""
        if title not in self.loaded:
            self.loaded[title] = self.load(table() if callable(table) else table, title)
        return self.loaded[title]

    def open(
        self, table: pa.Table, title: str, *, user: str, where: str | None = None
    ) -> UserTable:
        opened = open_table(self.source(table, title), user=user, where=where)
        assert opened.engine.name == self.name, "the test would run on another engine"
        return opened

    def load(self, table: pa.Table, title: str) -> Any:
        raise NotImplementedError


def loaders() -> dict[str, type[Loader]]:
    """All there are, by name."""
    here = Path(__file__)
    names = sorted(path.stem for path in here.parent.glob("*.py") if path != here)
    modules = (import_module(f"tests.engines.loaders.{name}") for name in names)
    found: list[type[Loader]] = [module.ENGINE for module in modules]
    return {one.name: one for one in found}
